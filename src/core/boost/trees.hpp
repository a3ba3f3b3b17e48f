// Boosted trees as arrays: structure and what each leaf adds to a score.
#pragma once

#include "base/types.hpp"

namespace petiole::boosting {

// All nodes of all trees, one tree after the other, parents before children. Node numbers count from the tree's root.
struct BoostedTrees {
  std::vector<std::int32_t> node_start{0};  // of each tree, and the end
  std::vector<std::int32_t> feature;        // -1: leaf
  std::vector<std::int32_t> left;           // the right child comes next
  std::vector<double> threshold;            // larger values go right; NaN at categorical splits and leaves
  std::vector<std::uint8_t> missing_right;
  std::vector<std::int32_t> category_start{0};  // of each node's table in category_right, and the end
  std::vector<std::uint8_t> category_right;     // whether a category goes right
  std::vector<double> value;                    // of leaves
  std::vector<double> gain;                     // of splits
  std::vector<double> weight;                   // of the rows that a node was grown on

  std::size_t n_trees() const { return node_start.size() - 1; }

  // Forgets all trees but the first ones.
  void truncate(std::size_t n) {
    const auto n_nodes = static_cast<std::size_t>(node_start[n]);
    node_start.resize(n + 1);
    category_start.resize(n_nodes + 1);
    category_right.resize(static_cast<std::size_t>(category_start.back()));
    for (auto* whole : {&feature, &left}) whole->resize(n_nodes);
    for (auto* number : {&threshold, &value, &gain, &weight}) number->resize(n_nodes);
    missing_right.resize(n_nodes);
  }

  void add_node() {
    feature.push_back(-1);
    left.push_back(-1);
    threshold.push_back(std::numeric_limits<double>::quiet_NaN());
    missing_right.push_back(0);
    value.push_back(0);
    gain.push_back(0);
    weight.push_back(0);
  }
};

}  // namespace petiole::boosting
