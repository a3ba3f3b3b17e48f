// Which leaves rows reach. Leaves are numbered within their tree, in order of node id.
#pragma once

#include "base/types.hpp"

namespace petiole {

using LeafId = std::int32_t;

// The leaves that rows reach in one tree: one each, unless missing values spread a row over several.
class TreeReach {
 public:
  // Room for n rows, none of them spread.
  void reset(std::size_t n_rows) {
    leaf_.resize(n_rows);
    part_start_.assign(1, 0);
    part_leaf_.clear();
    part_share_.clear();
  }

  std::size_t n_rows() const { return leaf_.size(); }
  LeafId* leaves() { return leaf_.data(); }
  const LeafId* leaves() const { return leaf_.data(); }
  bool is_spread(std::size_t row) const { return leaf_[row] < 0; }
  bool any_spread() const { return part_start_.size() > 1; }

  // Adds a part of a row that is spread; end_row says whose parts these were. A single part is no spread.
  void add_part(LeafId leaf, double share) {
    part_leaf_.push_back(leaf);
    part_share_.push_back(share);
  }
  void end_row(std::size_t row) {
    const auto begin = static_cast<std::size_t>(part_start_.back());
    if (part_leaf_.size() == begin + 1) {
      leaf_[row] = part_leaf_.back();
      part_leaf_.pop_back();
      part_share_.pop_back();
      return;
    }
    leaf_[row] = ~static_cast<LeafId>(part_start_.size() - 1);
    part_start_.push_back(static_cast<std::int64_t>(part_leaf_.size()));
  }

  // Calls f(leaf, share) for the leaves of a row; the shares sum to 1.
  template <class F>
  void visit(std::size_t row, F&& f) const {
    const LeafId leaf = leaf_[row];
    if (leaf >= 0) return f(leaf, 1.0);
    const auto list = static_cast<std::size_t>(~leaf);
    for (auto i = static_cast<std::size_t>(part_start_[list]); i < static_cast<std::size_t>(part_start_[list + 1]); ++i)
      f(part_leaf_[i], part_share_[i]);
  }

 private:
  std::vector<LeafId> leaf_;  // negative: ~index of a list of parts
  std::vector<std::int64_t> part_start_{0};
  std::vector<LeafId> part_leaf_;
  std::vector<double> part_share_;
};

// Where the training rows are in each tree, and how often they are in its sample.
struct Members {
  struct OfTree {
    TreeReach reach;
    std::vector<std::uint16_t> copies;  // 0: out of bag; empty: all rows once
    LeafId n_leaves = 0;

    std::uint16_t copies_of(std::size_t row) const { return copies.empty() ? 1 : copies[row]; }
  };
  std::vector<OfTree> trees;
  std::size_t n_rows = 0;

  // Rows whose leaves are known. leaves: n_rows x n_trees; copies: the same, or null: out of bag everywhere. n_leaves: of
  // each tree. Throws std::invalid_argument if there is no such leaf.
  static Members at_leaves(const LeafId* leaves, const std::uint16_t* copies, std::size_t n_rows,
                           const std::vector<LeafId>& n_leaves);

  // The sample that was drawn for a tree: how often each row is in it. More copies than fit count as the most that do.
  void set_copies(std::size_t tree, const std::uint32_t* copies);

  // Takes the trees of other members of the same rows, which are empty afterwards.
  void append(Members& more);
};

// The leaves of rows in one tree one after the other: those of row i are [start[i], start[i+1]).
struct LeafShares {
  std::vector<std::int64_t> start{0};
  std::vector<LeafId> leaf;
  std::vector<double> share;
};
LeafShares leaf_shares(const TreeReach& reach);

}  // namespace petiole
