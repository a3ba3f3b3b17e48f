// A grown tree: structure as arrays, and the class counts of every node. It never holds probabilities.
#pragma once

#include "types.hpp"

namespace petiole {

struct Tree {
  int n_classes = 0;
  std::vector<std::int32_t> feature;         // -1: leaf
  std::vector<double> threshold;             // NaN unless the split is numeric
  std::vector<std::int32_t> child_start{0};  // children of node i: child_nodes[child_start[i] .. child_start[i+1])
  std::vector<NodeId> child_nodes;
  std::vector<std::int32_t> missing_branch;     // -1: missing values are spread over the children
  std::vector<std::int32_t> category_start{0};  // a nominal split's table: category_branch[category_start[i] + code]
  std::vector<std::int32_t> category_branch;    // -1: this category is treated as missing
  std::vector<double> counts;                   // n_nodes x n_classes, sums of weights
  std::vector<double> spread_weights;  // per node: in what proportion children share missing values; empty: as counts do

  std::size_t n_nodes() const { return feature.size(); }
};

// A node while a tree is being built or pruned: the same facts, owned by the node itself.
struct SplitRule {
  std::int32_t feature = -1;
  double threshold = std::numeric_limits<double>::quiet_NaN();
  std::int32_t missing_branch = -1;
  std::vector<std::int32_t> category_branch;  // empty unless the split is nominal
};

struct BuildNode {
  SplitRule split;
  NodeId first_child = -1;  // children are consecutive
  std::int32_t n_children = 0;
};

// Lays out nodes in depth-first order with each node's children consecutive, whatever order they were made in.
// `counts` is a table of n_classes numbers per build node, or empty; `new_id`, if given, gets the new id of each of them.
inline Tree lay_out(const std::vector<BuildNode>& nodes, const std::vector<double>& counts, int n_classes,
                    std::vector<NodeId>* new_id = nullptr) {
  Tree tree;
  tree.n_classes = n_classes;
  const auto width = static_cast<std::size_t>(n_classes);
  std::vector<NodeId> order{0};  // order[new id] = build id
  std::vector<NodeId> pending{0};
  std::vector<NodeId> new_first(nodes.size(), -1);
  order.reserve(nodes.size());
  tree.feature.reserve(nodes.size());
  tree.threshold.reserve(nodes.size());
  tree.missing_branch.reserve(nodes.size());
  tree.child_nodes.reserve(nodes.size());
  tree.child_start.reserve(nodes.size() + 1);
  tree.category_start.reserve(nodes.size() + 1);
  tree.counts.reserve(counts.size());
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    const BuildNode& node = nodes[static_cast<std::size_t>(id)];
    new_first[static_cast<std::size_t>(id)] = static_cast<NodeId>(order.size());
    for (int c = 0; c < node.n_children; ++c) order.push_back(node.first_child + c);
    for (int c = node.n_children; c-- > 0;) pending.push_back(node.first_child + c);
  }
  for (const NodeId id : order) {
    const BuildNode& node = nodes[static_cast<std::size_t>(id)];
    tree.feature.push_back(node.split.feature);
    tree.threshold.push_back(node.split.threshold);
    tree.missing_branch.push_back(node.split.missing_branch);
    for (int c = 0; c < node.n_children; ++c)
      tree.child_nodes.push_back(new_first[static_cast<std::size_t>(id)] + c);
    tree.child_start.push_back(static_cast<std::int32_t>(tree.child_nodes.size()));
    tree.category_branch.insert(tree.category_branch.end(), node.split.category_branch.begin(),
                                node.split.category_branch.end());
    tree.category_start.push_back(static_cast<std::int32_t>(tree.category_branch.size()));
    if (counts.empty()) continue;
    const auto begin = counts.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(id) * width);
    tree.counts.insert(tree.counts.end(), begin, begin + n_classes);
  }
  if (new_id != nullptr) {
    new_id->assign(nodes.size(), -1);
    for (std::size_t i = 0; i < order.size(); ++i) (*new_id)[static_cast<std::size_t>(order[i])] = static_cast<NodeId>(i);
  }
  return tree;
}

}  // namespace petiole
