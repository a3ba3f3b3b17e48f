// Leaf estimators that need a node's ancestors: from class counts at every node to class probabilities at every node.
#pragma once

#include <span>

#include "base/types.hpp"

namespace petiole {

// The parts of a tree that an estimator uses. Tables have n_classes numbers per node.
struct NodeCounts {
  std::span<const NodeId> parent;    // -1: the root, which is node 0
  std::span<const NodeId> top_down;  // all nodes, parents before children
  std::span<const std::uint8_t> is_leaf;
  std::span<const double> counts;
  std::size_t n_classes = 0;

  std::size_t n_nodes() const { return parent.size(); }
  const double* of(NodeId node) const { return counts.data() + static_cast<std::size_t>(node) * n_classes; }
  std::vector<double> weights() const;
  // n_k / n at every node; a node without rows takes its parent's frequencies, an empty root the uniform ones.
  std::vector<double> frequencies() const;
};

enum class Height { branch, subtree };

// m-branch smoothing (Ferri, Flach & Hernandez-Orallo 2003): down each branch from 1/K, theta = (n_k + m
// theta_parent)/(n + m) with m = M (1 + (1 - 1/h) sqrt(N)), where h is counted up from the node itself or from the
// deepest leaf below.
std::vector<double> m_branch(const NodeCounts& tree, double M, Height height);

// Hierarchical gradient smoothing (Zhang, Petitjean & Buntine 2020, eq. 5): theta = (n_k + sum over ancestors of
// alpha_p n_pk/n_p) / (n + sum alpha_p), one alpha per node, used at internal nodes only.
std::vector<double> hgs(const NodeCounts& tree, std::span<const double> alpha);

// Each node's row of `table`, or that of the last node on its path before one lighter than v.
std::vector<double> curtail(const NodeCounts& tree, std::span<const double> table, double v);

enum class Loss { log, squared };

// A loss of HGS and its gradient by alpha, one alpha per node. The probability of a row is that of its leaf, theta =
// (rest + sum over ancestors of alpha_p f_pk) / (others + sum of alpha_p); the two losses differ in rest, others and f.
class HgsLoss {
 public:
  // The mean loss of the training rows (eqs. 6 to 8), each left out of its leaf and of its leaf's ancestors.
  static HgsLoss leave_one_out(const NodeCounts& tree, Loss loss);
  // The summed loss of rows the tree was not grown on; held_out has their class counts at every node.
  static HgsLoss held_out(const NodeCounts& tree, std::span<const double> held_out, Loss loss);

  double operator()(std::span<const double> alpha, std::span<double> gradient);
  std::size_t n_nodes() const { return tree_->n_nodes(); }

 private:
  HgsLoss(const NodeCounts& tree, Loss loss);

  struct Term {  // the rows of one class at one leaf
    NodeId parent;
    std::uint32_t k;
    double n, rest, others;
  };

  const NodeCounts* tree_;
  Loss loss_;
  double divisor_ = 1;
  std::vector<Term> terms_;
  std::vector<NodeId> internal_;     // parents before children
  std::vector<double> frequencies_;  // f: at every node, per class
  // At every internal node, itself included: mixed frequencies and alphas of the path, and what the leaves below hand up to
  // the gradient.
  std::vector<double> mixed_, alphas_, sums_, totals_;
};

}  // namespace petiole
