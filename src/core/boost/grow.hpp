// Growing one tree, best leaf first: while there is a leaf to split, split the one whose split has the largest gain.
#pragma once

#include "boost/split.hpp"
#include "boost/trees.hpp"
#include "grow/interactions.hpp"

namespace petiole::boosting {

// A tree whose splits are known by codes, too.
struct GrownTree {
  struct Node {
    Split split;
    std::int32_t left = -1;  // -1: leaf
    double value = 0, weight = 0;
    double curvature = 0;             // of the loss, at leaves
    std::vector<std::uint8_t> right;  // the side of each code; the last is for missing values
  };
  std::vector<Node> nodes;

  void append_to(BoostedTrees& trees, const BoostColumns& columns) const;
  // Moves the values of leaves as little as need be for them to be monotone: the squares of the moves, weighted by curvature,
  // are what that costs.
  void make_monotone(const BoostColumns& columns, const std::vector<std::int8_t>& signs);
};

// Rows on their way down a tree: each node has a range of them.
class RowWindows {
 public:
  void start(std::vector<RowId>&& rows);
  std::span<const RowId> rows(std::size_t node) const {
    return {rows_.data() + windows_[node].begin, rows_.data() + windows_[node].end};
  }
  // Moves the rows of a node that go right behind the others, both in their order, and gives the children their ranges.
  void divide(std::size_t node, const BoostColumns& columns, int column, const std::vector<std::uint8_t>& right);
  std::vector<RowId>&& take() { return std::move(rows_); }

 private:
  struct Window {
    std::size_t begin, end;
  };
  std::vector<RowId> rows_, spare_;
  std::vector<Window> windows_;  // of each node
};

class TreeGrower {
 public:
  TreeGrower(const BoostColumns& columns, const BoostOptions& options, const FixedPoint& units)
      : columns_(columns),
        options_(options),
        search_(columns, options, units),
        interactions_(options.groups, static_cast<std::size_t>(columns.n_columns())) {}

  // Grows a tree on the rows of `training`, whose sums are those of all rows of the data; `followers` are divided in
  // the same way.
  GrownTree grow(const std::vector<Sum>& sums, RowWindows& training, RowWindows& followers, std::uint64_t key,
                 ThreadPool& pool);

 private:
  struct Leaf {
    std::size_t node;
    int depth;
    Sum total;
    Split split;
    Histogram histogram;  // empty unless it can be split
    Interactions::Path path = 0;
  };

  void draw_columns(std::uint64_t key);
  bool may_split(const Sum& total, int depth) const;
  Histogram count(std::span<const RowId> rows, const std::vector<Sum>& sums, ThreadPool& pool);
  void find_split(Leaf& leaf, ThreadPool& pool) const;
  std::size_t best_leaf() const;
  void split_leaf(Leaf&& leaf, const std::vector<Sum>& sums, RowWindows& training, RowWindows& followers, GrownTree& tree,
                  ThreadPool& pool);
  void add_leaf(Leaf&& leaf, ThreadPool& pool);

  const BoostColumns& columns_;
  const BoostOptions& options_;
  SplitSearch search_;
  Interactions interactions_;
  std::vector<std::uint8_t> wanted_;  // the columns drawn for this tree
  std::vector<int> drawn_;            // their numbers
  std::vector<Leaf> open_;            // leaves with a split, in the order in which they were made
  std::vector<Sum> gathered_;
  std::vector<Histogram> spare_;  // to be used again
};

}  // namespace petiole::boosting
