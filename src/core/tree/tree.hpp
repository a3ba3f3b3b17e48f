// A grown tree: structure as arrays, and the class counts of every node. It never holds probabilities.
#pragma once

#include <span>

#include "tree/projection.hpp"

namespace petiole {

struct Tree {
  int n_classes = 0;
  std::vector<std::int32_t> feature;         // -1: leaf
  std::vector<double> threshold;             // NaN unless the split is numeric
  std::vector<std::int32_t> child_start{0};  // children of node i: child_nodes[child_start[i] .. child_start[i+1])
  std::vector<NodeId> child_nodes;
  std::vector<std::int32_t> missing_branch;     // -1: missing values are spread over the children
  std::vector<std::int32_t> category_start{0};  // a categorical split's table: category_branch[category_start[i] + code]
  std::vector<std::int32_t> category_branch;    // -1: this category is treated as missing
  // An oblique split's projection: projection[projection_start[i] .. projection_start[i+1]). Both are empty if no split has one.
  std::vector<std::int32_t> projection_start;
  std::vector<ProjectionTerm> projection;
  std::vector<double> counts;          // n_nodes x n_classes, sums of weights
  std::vector<double> spread_weights;  // per node: in what proportion children share missing values; empty: as counts do

  std::size_t n_nodes() const { return feature.size(); }

  // That of a node; empty unless its split is oblique.
  std::span<const ProjectionTerm> projection_of(std::size_t node) const {
    if (projection_start.empty()) return {};
    const auto begin = static_cast<std::size_t>(projection_start[node]);
    return {projection.data() + begin, static_cast<std::size_t>(projection_start[node + 1]) - begin};
  }
};

// How a node is split.
struct SplitRule {
  std::int32_t feature = -1;
  double threshold = std::numeric_limits<double>::quiet_NaN();
  std::int32_t missing_branch = -1;
  std::vector<std::int32_t> category_branch;  // empty unless the split is categorical
  std::vector<ProjectionTerm> projection;     // empty unless the split is oblique; `feature` is that of the first term
};

// A tree while it is being built: nodes in the order in which they are made, with the children of a node one after the other.
class TreeBuilder {
 public:
  // Forgets what there was, and makes a root.
  void start(int n_classes, bool keeps_counts) {
    n_classes_ = n_classes;
    width_ = keeps_counts ? static_cast<std::size_t>(n_classes) : 0;
    nodes_.clear();
    category_branch_.clear();
    projection_.clear();
    counts_.clear();
    add_nodes(1);
  }

  // Returns the first of the children.
  NodeId split(NodeId parent, const SplitRule& rule, int n_children) {
    const auto first = static_cast<NodeId>(nodes_.size());
    nodes_[static_cast<std::size_t>(parent)] = {rule.threshold,
                                                rule.feature,
                                                rule.missing_branch,
                                                first,
                                                n_children,
                                                static_cast<std::int32_t>(category_branch_.size()),
                                                static_cast<std::int32_t>(rule.category_branch.size())};
    category_branch_.insert(category_branch_.end(), rule.category_branch.begin(), rule.category_branch.end());
    for (const ProjectionTerm& term : rule.projection) projection_.push_back({parent, term});
    add_nodes(n_children);
    return first;
  }

  bool keeps_counts() const { return width_ > 0; }
  // A number for each class, if counts are kept.
  double* counts(NodeId node) { return counts_.data() + static_cast<std::size_t>(node) * width_; }

  // The tree in depth-first order with each node's children consecutive. `new_id`, if given, gets the new id of each node.
  Tree finish(std::vector<NodeId>* new_id = nullptr) const {
    std::vector<NodeId> first_child;
    const std::vector<NodeId> order = depth_first(first_child);
    const std::size_t n = nodes_.size();
    Tree tree;
    tree.n_classes = n_classes_;
    tree.feature.resize(n);
    tree.threshold.resize(n);
    tree.missing_branch.resize(n);
    tree.child_start.resize(n + 1);
    tree.category_start.resize(n + 1);
    tree.child_nodes.resize(n + 1);
    tree.category_branch.reserve(category_branch_.size());
    tree.counts.reserve(counts_.size());
    for (std::size_t i = 0; i < n; ++i) {
      const Node& node = nodes_[static_cast<std::size_t>(order[i])];
      tree.feature[i] = node.feature;
      tree.threshold[i] = node.threshold;
      tree.missing_branch[i] = node.missing_branch;
      NodeId* children = tree.child_nodes.data() + tree.child_start[i];
      // Whether a node is a leaf cannot be foreseen: two children are always written, and kept or overwritten.
      children[0] = first_child[i];
      children[1] = first_child[i] + 1;
      for (std::int32_t c = 2; c < node.n_children; ++c) children[c] = first_child[i] + c;
      tree.child_start[i + 1] = tree.child_start[i] + node.n_children;
      const auto categories = category_branch_.begin() + node.category_start;
      tree.category_branch.insert(tree.category_branch.end(), categories, categories + node.n_categories);
      tree.category_start[i + 1] = static_cast<std::int32_t>(tree.category_branch.size());
      const auto counts = counts_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(order[i]) * width_);
      tree.counts.insert(tree.counts.end(), counts, counts + static_cast<std::ptrdiff_t>(width_));
    }
    tree.child_nodes.resize(n - 1);
    if (!projection_.empty()) put_projections(order, tree);
    if (new_id != nullptr) {
      new_id->resize(n);
      for (std::size_t i = 0; i < n; ++i) (*new_id)[static_cast<std::size_t>(order[i])] = static_cast<NodeId>(i);
    }
    return tree;
  }

 private:
  struct Node {
    double threshold = std::numeric_limits<double>::quiet_NaN();
    std::int32_t feature = -1, missing_branch = -1;
    NodeId first_child = -1;
    std::int32_t n_children = 0;
    std::int32_t category_start = 0, n_categories = 0;
  };
  // Terms are apart from nodes, of which few trees have any. Those of a node follow each other.
  struct NodeTerm {
    NodeId node;
    ProjectionTerm term;
  };

  void put_projections(const std::vector<NodeId>& order, Tree& tree) const {
    std::vector<std::size_t> first(nodes_.size(), projection_.size());
    for (std::size_t t = projection_.size(); t-- > 0;) first[static_cast<std::size_t>(projection_[t].node)] = t;
    tree.projection_start.assign(1, 0);
    for (const NodeId id : order) {
      for (std::size_t t = first[static_cast<std::size_t>(id)]; t < projection_.size() && projection_[t].node == id; ++t)
        tree.projection.push_back(projection_[t].term);
      tree.projection_start.push_back(static_cast<std::int32_t>(tree.projection.size()));
    }
  }

  void add_nodes(int n) {
    nodes_.resize(nodes_.size() + static_cast<std::size_t>(n));
    counts_.resize(nodes_.size() * width_, 0.0);
  }

  // The nodes in their new order; first_child gets the new id of the first child of each inner one.
  std::vector<NodeId> depth_first(std::vector<NodeId>& first_child) const {
    std::vector<NodeId> order(nodes_.size(), 0), pending{0};
    first_child.resize(nodes_.size());
    NodeId n_placed = 1;
    while (!pending.empty()) {
      const auto here = static_cast<std::size_t>(pending.back());
      pending.pop_back();
      const Node& node = nodes_[static_cast<std::size_t>(order[here])];
      first_child[here] = n_placed;
      for (std::int32_t c = node.n_children; c-- > 0;) {
        const NodeId child = node.first_child + c;
        order[static_cast<std::size_t>(n_placed + c)] = child;
        if (nodes_[static_cast<std::size_t>(child)].n_children > 0) pending.push_back(n_placed + c);
      }
      n_placed += node.n_children;
    }
    return order;
  }

  int n_classes_ = 0;
  std::size_t width_ = 0;  // of the table of counts
  std::vector<Node> nodes_;
  std::vector<std::int32_t> category_branch_;
  std::vector<NodeTerm> projection_;
  std::vector<double> counts_;
};

}  // namespace petiole
