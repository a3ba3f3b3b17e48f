// Sending rows down all trees of a forest: rows in blocks, trees in the outer loop inside a block, several rows in flight.
#pragma once

#include <algorithm>
#include <numeric>

#include "forest/forest.hpp"
#include "forest/leaf_tables.hpp"
#include "tree/narrow_steps.hpp"

namespace petiole {

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
  struct OneTree {
    explicit OneTree(const Tree& tree);
    Router general;
    std::vector<NarrowStep> steps;  // empty: walk by `general`
    std::vector<LeafId> leaf;
  };
  struct Scratch {
    Block block;
    std::vector<float> values;                      // the block's rows rounded down, one after the other
    std::vector<std::uint8_t> rounded, incomplete;  // by row
    std::vector<RowId> complete;                    // rows without missing values
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
