// C4.5's pruning after growth: collapsing, and error-based pruning with subtree raising.
#pragma once

#include "base/interrupt.hpp"
#include "base/types.hpp"
#include "tree/tree.hpp"

namespace petiole {

// What C4.5 adds to the e errors seen at a leaf of weight n to get the errors to expect: the upper end of a one-sided
// confidence interval, z being the normal quantile of 1 - confidence.
double added_errors(double n, double e, double confidence, double z);

// The training data a tree is pruned with.
struct PruningData {
  Matrix matrix;
  std::vector<ClassId> labels;
  std::vector<double> weights;  // empty: every row weighs 1
};

// Turns every node into a leaf whose subtree makes no fewer training errors.
Tree collapse(const Tree& tree);

// Collapses, then replaces subtrees by leaves or by their heaviest branch where fewer errors are to be expected.
Tree prune_by_error(const Tree& tree, const PruningData& data, double confidence, double z, Interrupt& interrupt);

}  // namespace petiole
