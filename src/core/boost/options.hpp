// The settings of boosting.
#pragma once

#include <cstdint>
#include <vector>

namespace petiole::boosting {

struct BoostOptions {
  int n_rounds = 100;       // at most
  int patience = 10;        // rounds without a smaller held-out loss after which boosting stops
  int max_leaf_nodes = 31;  // 0: no limit
  int max_depth = 0;        // 0: no limit
  double learning_rate = 0.1;
  double l2 = 0;                 // added to the sum of Hessians of every leaf
  double min_samples_leaf = 20;  // in rows, that is, in sums of weights
  double min_hessian = 1e-3;     // of every leaf
  double category_smoothing =
      10;                // average rows that are added to each category to order them, and to each side of their split
  double subsample = 1;  // the share of rows that a round's trees are grown on
  int max_features = 0;  // drawn for each tree; 0: all
  std::uint64_t seed = 0;
  std::vector<std::int8_t> signs;                 // per column 1 (-1) if scores must not fall (rise) along it; empty: nothing
  std::vector<std::vector<std::int32_t>> groups;  // a path tests columns of one of these; empty: of all
};

}  // namespace petiole::boosting
