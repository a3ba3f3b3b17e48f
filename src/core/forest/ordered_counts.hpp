// Counts of one class and of all others at the leaves of a forest whose shares are monotone.
#pragma once

#include "forest/leaf_tables.hpp"
#include "tree/order.hpp"

namespace petiole {

// For which class, and along which columns, shares must be monotone.
struct ClassOrder {
  std::vector<std::int8_t> signs;
  int target = 1;
};

// Two columns for each leaf, the weight of the other classes and of the target, or of two classes in their order: those of all
// leaves that are pooled with it, so that a row can be taken out of what it is looked up in. A node whose children do not all have `rows.least` of weight, as
// far as they have rows at all, counts as one leaf; a leaf without rows takes the shares of an ancestor.
LeafTables ordered_counts(const Forest& forest, CountedRows rows, const ClassOrder& order, ThreadPool& pool);

// The same for shares that are there already: those of the target at each leaf, in order of node id, made monotone.
std::vector<double> ordered_shares(const Tree& tree, Signs signs, std::span<const double> shares,
                                   std::span<const double> weights);

}  // namespace petiole
