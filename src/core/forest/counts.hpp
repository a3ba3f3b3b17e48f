// Class counts at the leaves of every tree, of any batch of rows. Counts of batches add up, so that a forest's leaves can
// rest on rows that were never in one place.
#pragma once

#include "forest/out_of_bag.hpp"

namespace petiole {

struct ForestCounts {
  struct OfTree {
    LeafCounts in_bag, out_of_bag;
  };
  int n_classes = 0;
  std::vector<OfTree> trees;

  // scale times these plus the others.
  ForestCounts plus(const ForestCounts& more, double scale, ThreadPool& pool) const;

  // Without in-bag counts.
  ForestCounts out_of_bag_alone() const;
};

// Whether counts can belong to the same trees. Trees without counts agree with all.
bool are_alike(const ForestCounts& one, const ForestCounts& two);

// Counts the rows where they are: in bag where the tree's sample has copies of them. A row in the sample counts once if
// `distinct`, else as often as it has copies.
ForestCounts count_members(const Members& members, TrainingRows rows, int n_classes, bool distinct, ThreadPool& pool);

// The counts that a forest holds.
ForestCounts counts_of(const Forest& forest);

// The same trees with other counts, where there are some for a tree; missing values are spread as before. With a prior,
// leaves vote again by their in-bag counts; an empty one keeps the old votes.
Forest with_counts(const Forest& forest, const ForestCounts& counts, const std::vector<double>& prior, ThreadPool& pool);

}  // namespace petiole
