// The logarithmic opinion pool: p_k is proportional to exp(b_k) times the product over components of p_ck ^ w_ck.
#pragma once

#include "forest/out_of_bag.hpp"

namespace petiole {

// Logarithms of the components' probabilities, n_rows x n_components x n_classes.
struct LogComponents {
  const float* logs = nullptr;
  std::size_t n_rows = 0, n_components = 0, n_classes = 0;
};

// The weighted log-loss of the rows in nats; adds its slopes to those by the weights (n_components x n_classes) and by the
// intercepts (n_classes). The sums do not depend on the number of threads.
double pool_loss(const LogComponents& components, TrainingRows rows, const double* weights, const double* intercepts,
                 ThreadPool& pool, double* weight_slopes, double* intercept_slopes);

}  // namespace petiole
