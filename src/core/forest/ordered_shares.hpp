// The shares of one class at the leaves of a forest, made monotone.
#pragma once

#include "base/interrupt.hpp"
#include "forest/leaf_tables.hpp"
#include "forest/out_of_bag.hpp"
#include "tree/order.hpp"

namespace petiole {

// For which class, and along which columns, shares must be monotone.
struct ClassOrder {
  std::vector<std::int8_t> signs;
  int target = 1;
};

// Two columns for each leaf, the shares of all other classes together and of the target. Before they are made monotone they
// are those of the rows at the leaf, or at its nearest ancestor with rows and at least `rows.least` of them.
LeafTables ordered_shares(const Forest& forest, CountedRows rows, const ClassOrder& order, ThreadPool& pool);

// A fold for each training row.
struct Folds {
  const std::uint8_t* of_row = nullptr;
  std::size_t n = 1;
};

// For each row asked the share of the target by the trees that have not seen it, NaN where there is none. The out-of-bag rows
// of its fold, with itself, are not counted: whether leaves are pooled depends on every row in them, so that the row could not
// simply be taken out afterwards.
void ordered_out_of_bag(const Forest& forest, const Members& members, TrainingRows training, ClassId target_label,
                        Folds folds, CountedRows rows, const ClassOrder& order, Asked asked, ThreadPool& pool,
                        Interrupt& interrupt, double* out);

// Shares that are there already, those of the target at each leaf in order of node id, made monotone.
std::vector<double> ordered_shares(const Tree& tree, Signs signs, std::span<const double> shares,
                                   std::span<const double> weights);

}  // namespace petiole
