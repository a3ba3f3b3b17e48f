// All that a pool's components need from a leaf in one record, so that a query visits each leaf once.
//
// A record lists (slot, code): the number with this code is added to this slot of the query's sums. The slots are the
// columns of the tables; then, for each vote, the classes of the rows that the leaf keeps for it; then whether it keeps any
// for a vote; then its own vote. The frequencies of few rows take few values, so numbers are kept as 16-bit codes of a
// dictionary. A record is then a fraction of the size of the tables, and the sums are those of the tables to the last bit.
#pragma once

#include <optional>

#include "votes/tables.hpp"

namespace petiole {

class PooledLeaves {
 public:
  // Nothing if there are more slots or different numbers than have codes. The vote tables have been mixed.
  static std::optional<PooledLeaves> of(const VoteTables& votes, const LeafTables& tables, const Ballot& ballot);

  std::size_t n_trees() const { return trees_.size(); }
  std::size_t n_leaves(std::size_t tree) const { return trees_[tree].n_leaves; }
  std::size_t n_classes() const { return n_classes_; }
  std::size_t n_columns() const { return n_columns_; }

  // For each query the mean of the rows that its leaves keep for the votes, which count by their number (NaN where there is
  // none), and the means of the tables: what VoteTables::look_up finds if all trees vote and rows are shared.
  void look_up(const ForestRouter& router, const Matrix& queries, const Ballot& ballot, ThreadPool& pool, double* out,
               double* averages) const;

 private:
  struct Entry {
    std::uint16_t slot, code;
  };
  struct OfTree {
    std::size_t n_leaves = 0;
    std::vector<std::uint16_t> codes;  // of all slots, leaf after leaf; empty: there are lists instead
    std::vector<std::uint32_t> start;  // of each leaf's list, and the end
    std::vector<Entry> entries;        // the vote of a leaf is its last
  };
  class Dictionary;
  class Writer;

  PooledLeaves(std::size_t n_classes, std::size_t n_columns) : n_classes_(n_classes), n_columns_(n_columns) {}

  std::size_t said(std::size_t vote) const { return n_columns_ + vote * n_classes_; }
  std::size_t share(std::size_t vote) const { return n_columns_ + n_classes_ * n_classes_ + vote; }
  std::size_t own_vote(std::size_t vote) const { return share(n_classes_) + vote; }
  std::size_t n_slots() const { return own_vote(n_classes_); }

  void add_leaves(const OfTree& tree, const LeafId* leaves, std::size_t n, double* sums) const;
  void add_spread(const OfTree& tree, LeafId leaf, double share, double* sums) const;
  void finish(const double* sums, double* out, double* averages) const;

  std::size_t n_classes_, n_columns_;
  std::vector<OfTree> trees_;
  std::vector<double> numbers_;  // by code
};

}  // namespace petiole
