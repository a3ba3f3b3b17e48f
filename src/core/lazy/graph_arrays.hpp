// The graph of a query as flat arrays, in the words of the training data: features, values and weights.
#pragma once

#include "lazy/options.hpp"

namespace petiole {

struct LazyGraphArrays {
  std::vector<double> class_counts;         // n_nodes x n_classes, weights of training rows
  std::vector<double> share;                // per node
  std::vector<std::int32_t> first_option;   // per node, and the end of the last
  std::vector<std::int32_t> feature, sign;  // per option, like the following
  std::vector<double> value, gain;
  std::vector<std::int32_t> child;
};

LazyGraphArrays to_arrays(const LazyGraph& graph, const LazyData& data);

}  // namespace petiole
