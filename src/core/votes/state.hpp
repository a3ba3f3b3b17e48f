// Vote tables as flat arrays: the way they are saved. Numbers per tree, per leaf, per row and per entry follow each
// other.
#pragma once

#include "votes/tables.hpp"

namespace petiole {

struct VoteState {
  int n_classes = 0;
  std::vector<std::uint32_t> n_leaves;  // per tree
  std::vector<std::uint32_t> rows_per_leaf;
  std::vector<std::uint32_t> row_vote, entries_per_row;
  std::vector<std::uint32_t> entry_class;
  std::vector<double> in_bag, out_of_bag;  // per entry
};

VoteState to_state(const VoteTables& tables);

// Not mixed yet. Throws std::invalid_argument unless the arrays fit together.
VoteTables from_state(const VoteState& state);

// The tables of several forests' trees, mixed.
VoteTables joined_tables(const std::vector<const VoteTables*>& parts, double oob_weight);

}  // namespace petiole
