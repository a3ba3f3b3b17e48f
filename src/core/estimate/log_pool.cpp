#include "estimate/log_pool.hpp"

#include <algorithm>
#include <cmath>

namespace petiole {
namespace {

constexpr std::size_t kRowsPerItem = 1024;

// The loss and the gradient of some rows.
struct Partial {
  double loss = 0;
  std::vector<double> slopes;  // by weights, then by intercepts
};

void add_rows(const LogComponents& of, TrainingRows rows, const double* weights, const double* intercepts, std::size_t begin,
              std::size_t end, Partial& partial) {
  const std::size_t width = of.n_classes, n_weights = of.n_components * width;
  partial.slopes.assign(n_weights + width, 0.0);
  std::vector<double> p(width);
  for (std::size_t row = begin; row < end; ++row) {
    const float* logs = of.logs + row * n_weights;
    std::copy_n(intercepts, width, p.begin());
    for (std::size_t i = 0, k = 0; i < n_weights; ++i) {
      p[k] += weights[i] * static_cast<double>(logs[i]);
      k = k + 1 == width ? 0 : k + 1;
    }
    const double most = *std::max_element(p.begin(), p.end());
    const std::size_t y = rows.labels[row];
    const double own = p[y] - most;
    double sum = 0;
    for (double& value : p) sum += value = std::exp(value - most);
    const double weight = rows.weight(row);
    partial.loss += weight * (std::log(sum) - own);
    for (double& value : p) value *= weight / sum;
    p[y] -= weight;
    for (std::size_t i = 0, k = 0; i < n_weights; ++i) {
      partial.slopes[i] += p[k] * static_cast<double>(logs[i]);
      k = k + 1 == width ? 0 : k + 1;
    }
    for (std::size_t k = 0; k < width; ++k) partial.slopes[n_weights + k] += p[k];
  }
}

}  // namespace

double pool_loss(const LogComponents& components, TrainingRows rows, const double* weights, const double* intercepts,
                 ThreadPool& pool, double* weight_slopes, double* intercept_slopes) {
  std::vector<Partial> partials((components.n_rows + kRowsPerItem - 1) / kRowsPerItem);
  pool.run(static_cast<int>(partials.size()), [&](int, int item) {
    const std::size_t begin = static_cast<std::size_t>(item) * kRowsPerItem;
    add_rows(components, rows, weights, intercepts, begin, std::min(components.n_rows, begin + kRowsPerItem),
             partials[static_cast<std::size_t>(item)]);
  });
  const std::size_t n_weights = components.n_components * components.n_classes;
  double loss = 0;
  for (const Partial& partial : partials) {
    loss += partial.loss;
    for (std::size_t i = 0; i < n_weights; ++i) weight_slopes[i] += partial.slopes[i];
    for (std::size_t k = 0; k < components.n_classes; ++k) intercept_slopes[k] += partial.slopes[n_weights + k];
  }
  return loss;
}

}  // namespace petiole
