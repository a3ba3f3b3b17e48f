// Sending rows down all trees of a forest: rows in blocks, trees in the outer loop inside a block, several rows in flight.
#pragma once

#include <algorithm>
#include <numeric>

#include "forest.hpp"
#include "route.hpp"

namespace petiole {

// One table per tree with n_columns numbers for each leaf, in one piece.
class LeafTables {
 public:
  LeafTables(std::size_t n_columns, const std::vector<std::size_t>& n_leaves) : n_columns_(n_columns) {
    for (const std::size_t n : n_leaves) start_.push_back(start_.back() + n * n_columns);
    values_.resize(start_.back(), 0.0);
  }

  // Leaves may hold the counts of a common ancestor; unless told so, each has its own.
  void set_counted(std::vector<std::vector<CountedLeaves>> counted) { counted_ = std::move(counted); }
  bool has_own_counts() const { return counted_.empty(); }
  // Whether the counts of one leaf include those of another.
  bool holds(std::size_t tree, LeafId leaf, LeafId other) const {
    const auto& of_tree = counted_[tree];
    return of_tree[static_cast<std::size_t>(leaf)].holds(of_tree[static_cast<std::size_t>(other)]);
  }

  std::size_t n_columns() const { return n_columns_; }
  std::size_t n_trees() const { return start_.size() - 1; }
  std::size_t n_leaves(std::size_t tree) const { return (start_[tree + 1] - start_[tree]) / n_columns_; }
  // Adds a row of numbers per tree, n_trees x n_columns, to all leaves of the tree.
  void add(const double* rows) {
    for (std::size_t t = 0; t < n_trees(); ++t)
      for (std::size_t i = start_[t]; i < start_[t + 1]; ++i) values_[i] += rows[t * n_columns_ + (i - start_[t]) % n_columns_];
  }

  // Divides every row by its sum; a row of zeros stays as it is.
  void normalise() {
    over_rows([this](std::size_t, double* row) {
      const double sum = std::accumulate(row, row + n_columns_, 0.0);
      for (std::size_t k = 0; k < n_columns_ && sum > 0; ++k) row[k] /= sum;
    });
  }

  std::vector<std::size_t> trees_with_empty_rows() {
    std::vector<std::size_t> found;
    over_rows([&](std::size_t tree, double* row) {
      const bool empty = std::all_of(row, row + n_columns_, [](double value) { return value == 0; });
      if (empty && (found.empty() || found.back() != tree)) found.push_back(tree);
    });
    return found;
  }

  // One column: the sums of rows.
  LeafTables row_sums() const {
    LeafTables sums(1, sizes());
    for (std::size_t i = 0; i < sums.values_.size(); ++i) {
      const double* row = values_.data() + i * n_columns_;
      sums.values_[i] = std::accumulate(row, row + n_columns_, 0.0);
    }
    return sums;
  }

  // The columns of several tables with the same leaves, one after the other.
  static LeafTables side_by_side(const std::vector<const LeafTables*>& parts) {
    std::size_t width = 0;
    for (const LeafTables* part : parts) width += part->n_columns_;
    LeafTables all(width, parts.at(0)->sizes());
    std::size_t column = 0;
    for (const LeafTables* part : parts) {
      const std::size_t n_rows = part->values_.size() / part->n_columns_;
      if (n_rows * width != all.values_.size()) throw std::invalid_argument("the tables have other leaves");
      for (std::size_t i = 0; i < n_rows; ++i)
        std::copy_n(part->values_.data() + i * part->n_columns_, part->n_columns_, all.values_.data() + i * width + column);
      column += part->n_columns_;
    }
    return all;
  }

  double* of_tree(std::size_t tree) { return values_.data() + start_[tree]; }
  const double* of_tree(std::size_t tree) const { return values_.data() + start_[tree]; }
  const double* row(std::size_t tree, LeafId leaf) const {
    return of_tree(tree) + static_cast<std::size_t>(leaf) * n_columns_;
  }

 private:
  std::vector<std::size_t> sizes() const {
    std::vector<std::size_t> n;
    for (std::size_t t = 0; t < n_trees(); ++t) n.push_back(n_leaves(t));
    return n;
  }

  template <class F>
  void over_rows(F&& f) {
    for (std::size_t t = 0; t < n_trees(); ++t)
      for (std::size_t i = start_[t]; i < start_[t + 1]; i += n_columns_) f(t, values_.data() + i);
  }

  std::size_t n_columns_;
  std::vector<std::size_t> start_{0};
  std::vector<double> values_;
  std::vector<std::vector<CountedLeaves>> counted_;
};

// Adds to each row's numbers those of the leaves that it reaches in one tree.
void add_rows(const TreeReach& reach, std::size_t n_rows, const LeafTables& tables, std::size_t tree, double* out);

class ForestRouter {
 public:
  // Trees are unpacked in parallel.
  ForestRouter(const Forest& forest, ThreadPool& pool);

  std::size_t n_trees() const { return trees_.size(); }
  std::size_t n_leaves(std::size_t tree) const { return static_cast<std::size_t>(trees_[tree].general.n_leaves()); }
  int n_features_needed() const { return n_features_needed_; }

  // The leaves of a block of rows in every tree.
  struct Block {
    std::int64_t begin = 0;  // first row
    std::size_t n = 0;
    std::vector<TreeReach> trees;
  };

  // Calls body(thread, block) for blocks of at most block_rows rows, in parallel.
  template <class F>
  void over_blocks(const Matrix& queries, std::size_t block_rows, ThreadPool& pool, F&& body) const {
    const auto rows = static_cast<std::int64_t>(block_rows);
    const auto n_blocks = static_cast<int>((queries.n_rows + rows - 1) / rows);
    std::vector<Scratch> scratch(static_cast<std::size_t>(pool.n_threads()));
    pool.run(n_blocks, [&](int thread, int item) {
      Scratch& mine = scratch[static_cast<std::size_t>(thread)];
      mine.block.begin = item * rows;
      mine.block.n = static_cast<std::size_t>(std::min(rows, queries.n_rows - mine.block.begin));
      walk(queries, mine);
      body(static_cast<std::size_t>(thread), static_cast<const Block&>(mine.block));
    });
  }

  // For each row the mean over trees of the tables' rows at its leaves; with `squares` also the mean of their squares.
  // Trees in whose sample a row is are left out where `members` is given: row i of the queries is then training row i, and
  // n_used[i] gets the number of trees that were not; a row with none of them gets zeros.
  void average(const Matrix& queries, const LeafTables& tables, const Members* members, ThreadPool& pool, double* out,
               double* squares, std::int32_t* n_used) const;

  // The node id of each row's leaf in each tree, n_rows x n_trees; a row that is spread follows the heaviest branches.
  void apply(const Matrix& queries, ThreadPool& pool, std::int32_t* out) const;

  // Where rows are, as members that are in no sample.
  Members members(const Matrix& queries, ThreadPool& pool) const;

 private:
  // Eight bytes a node for trees of thresholds, when numbers fit: a threshold rounded down to single precision says of
  // every single-precision value what the exact one says.
  struct Step {
    float threshold;
    std::uint32_t feature : 12, first_child : 20;
  };
  struct OneTree {
    explicit OneTree(const Tree& tree);
    Router general;
    std::vector<Step> steps;  // empty: walk by `general`
    std::vector<LeafId> leaf;
  };
  struct Scratch {
    Block block;
    std::vector<float> values;  // the block's rows rounded down, one after the other
    std::vector<std::uint8_t> rounded, incomplete;  // by row
    std::vector<std::size_t> lanes;
  };

  void walk(const Matrix& queries, Scratch& scratch) const;
  template <class T>
  void load(const T* data, const Matrix& queries, Scratch& scratch) const;
  template <bool kExact>
  void walk_rows(const OneTree& tree, Scratch& scratch, TreeReach& reach) const;
  template <class T>
  void walk_trees(const T* row, const Matrix& queries, std::size_t at, Scratch& scratch) const;

  std::vector<OneTree> trees_;
  int n_features_needed_ = 0;
};

}  // namespace petiole
