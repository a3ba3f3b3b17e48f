// Routing: which nodes a query reaches, and with what weight. The probabilities of nodes are no part of it.
#pragma once

#include <array>

#include "base/parallel.hpp"
#include "base/types.hpp"
#include "tree/reach.hpp"
#include "tree/tree.hpp"

namespace petiole {

// Nodes and weights for each of many rows: those of row i are [start[i], start[i+1]).
struct NodeWeights {
  std::vector<std::int64_t> start{0};
  std::vector<NodeId> node;
  std::vector<double> weight;
};

constexpr int kBlock = 16;  // rows walked side by side, to hide the latency of memory

// A tree laid out for walking: sixteen bytes a node, children adjacent.
class Router {
 public:
  explicit Router(const Tree& tree);

  // The leaf of each row; where a missing value would be spread, the heaviest branch is followed.
  void apply(const Matrix& queries, ThreadPool& pool, std::int32_t* leaves) const;
  // The same for rows begin..end-1, with that of row i at leaves[i * stride].
  void apply(const Matrix& queries, std::int64_t begin, std::int64_t end, std::int32_t* leaves, std::size_t stride) const;

  // out[i] = sum over leaves of weight * table[leaf]; table has n_columns numbers for each node of the tree.
  void average(const Matrix& queries, const double* table, std::int64_t n_columns, ThreadPool& pool, double* out) const;

  // The leaves each row reaches, or with `whole_path` all nodes it passes.
  NodeWeights traverse(const Matrix& queries, bool whole_path) const;

  // Adds each row's weight to the class of its label at all nodes it passes; counts is n_nodes x n_classes.
  void count(const Matrix& queries, const ClassId* labels, const double* weights, std::int64_t n_classes,
             double* counts) const;

  // The leaves of the given rows go to where those rows are in `reach`, which has room for all. `complete`: it is known that
  // no value of theirs is missing.
  void reach(const Matrix& queries, const RowId* rows, std::size_t n, bool complete, TreeReach& reach) const;

  // The leaves of one row go to position `at` of `reach`.
  template <class T>
  void reach_spread(const T* row, std::int64_t column_stride, std::size_t at, TreeReach& reach) const;

  std::size_t n_nodes() const { return original_.size(); }
  LeafId n_leaves() const { return n_leaves_; }
  int n_features_needed() const { return n_features_needed_; }

  struct Step {  // a leaf steps to itself
    double threshold;
    std::int32_t feature;
    std::int32_t first_child;
  };
  const std::vector<Step>& steps() const { return steps_; }
  LeafId leaf_index(std::int32_t step) const {
    return leaf_index_[static_cast<std::size_t>(original_[static_cast<std::size_t>(step)])];
  }
  // Whether rows without missing values can be walked by steps alone: first_child + (value > threshold).
  bool only_thresholds() const { return only_thresholds_ && pairs_.empty(); }

 private:
  struct Detail {
    std::int32_t n_children;  // 0: leaf
    std::int32_t missing_branch;
    std::int32_t category_start;
    std::int32_t n_categories;  // 0: numeric
    std::int32_t projection_start;
    std::int32_t n_terms;  // 0: not oblique
  };

  // A step of a tree with oblique splits: the value is first_weight * x[first] + second_weight * x[second].
  struct PairStep {
    double threshold;
    double first_weight, second_weight;
    std::int32_t first, second, first_child;
  };

  void lay_pairs();
  std::int32_t branch(std::int32_t node, double value) const;
  // What the node tests of a row.
  template <class T>
  double tested_value(std::int32_t node, const T* row, std::int64_t column_stride) const;
  template <class T>
  std::int32_t walk_one(const T* row, std::int64_t column_stride) const;
  template <class T>
  void walk_block(const std::array<const T*, kBlock>& row, std::int64_t stride, std::int32_t* nodes) const;
  // The same through sums of two. Returns a mask of the rows for which a sum is not a number, and which are to be walked alone.
  template <class T>
  std::uint32_t walk_pairs(const std::array<const T*, kBlock>& row, std::int64_t stride, std::int32_t* nodes) const;
  // Walks kBlock rows side by side if the tree can be walked so. Returns a mask of those for which that is no answer,
  // provided that no value is missing.
  template <class T>
  std::uint32_t walk_together(const std::array<const T*, kBlock>& row, std::int64_t stride, std::int32_t* nodes) const;
  // Calls visit(node, weight) for the nodes that the row reaches: leaves, or with whole_path all.
  template <class T, class F>
  void spread(const T* row, std::int64_t column_stride, bool whole_path, F&& visit) const;
  std::int32_t heaviest_child(std::int32_t node) const;

  std::vector<Step> steps_;
  std::vector<Detail> details_;
  std::vector<NodeId> original_;    // id in the tree
  std::vector<LeafId> leaf_index_;  // by id in the tree; -1: inner node
  std::vector<double> share_;       // of the parent's missing values
  std::vector<std::int32_t> category_branch_;
  std::vector<ProjectionTerm> projection_;
  LeafId n_leaves_ = 0;
  bool only_thresholds_ = true;  // or sums of two
  std::vector<PairStep> pairs_;  // of trees with sums, if there is nothing else
  int n_features_needed_ = 0;
};

}  // namespace petiole
