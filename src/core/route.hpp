// Routing: which nodes a query reaches, and with what weight. Apart from what the nodes say.
#pragma once

#include "parallel.hpp"
#include "tree.hpp"
#include "types.hpp"

namespace petiole {

// Nodes and weights for each of many rows: those of row i are [start[i], start[i+1]).
struct NodeWeights {
  std::vector<std::int64_t> start{0};
  std::vector<NodeId> node;
  std::vector<double> weight;
};

// A tree laid out for walking: sixteen bytes a node, children adjacent.
class Router {
 public:
  // node_weights: the in-bag weight of every node; missing values are spread in proportion to it.
  Router(const Tree& tree, const std::vector<double>& node_weights);

  // The leaf of each row; where a missing value would be spread, the heaviest branch is followed.
  void apply(const Matrix& queries, ThreadPool& pool, std::int64_t* leaves) const;

  // out[i] = sum over leaves of weight * table[leaf]; table has n_columns numbers for each node of the tree.
  void average(const Matrix& queries, const double* table, std::int64_t n_columns, ThreadPool& pool, double* out) const;

  // The leaves each row reaches, or with `whole_path` all nodes it passes.
  NodeWeights traverse(const Matrix& queries, bool whole_path) const;

  // Adds each row's weight to the class of its label at all nodes it passes; counts is n_nodes x n_classes.
  void count(const Matrix& queries, const ClassId* labels, const double* weights, std::int64_t n_classes,
             double* counts) const;

  std::size_t n_nodes() const { return original_.size(); }
  int n_features_needed() const { return n_features_needed_; }

 private:
  struct Step {  // a leaf steps to itself
    double threshold;
    std::int32_t feature;
    std::int32_t first_child;
  };
  struct Detail {
    std::int32_t n_children;  // 0: leaf
    std::int32_t missing_branch;
    std::int32_t category_start;
    std::int32_t n_categories;  // 0: numeric
  };

  std::int32_t branch(std::int32_t node, double value) const;
  template <class T>
  std::int32_t walk_one(const T* row, std::int64_t column_stride) const;
  template <class T>
  void walk_block(const T* rows, const Matrix& queries, int n, std::int32_t* nodes) const;
  // Calls visit(node, weight) for the nodes that the row reaches: leaves, or with whole_path all.
  template <class T, class F>
  void spread(const T* row, std::int64_t column_stride, bool whole_path, F&& visit) const;
  std::int32_t heaviest_child(std::int32_t node) const;

  std::vector<Step> steps_;
  std::vector<Detail> details_;
  std::vector<NodeId> original_;     // id in the tree
  std::vector<double> share_;        // of the parent's missing values
  std::vector<std::int32_t> category_branch_;
  bool only_thresholds_ = true;
  int n_features_needed_ = 0;
};

}  // namespace petiole
