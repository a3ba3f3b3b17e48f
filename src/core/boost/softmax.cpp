#include "boost/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace petiole::boosting {
namespace {

void differentiate_two(const Scores& scores, const Targets& targets, std::span<const RowId> rows, const FixedPoint& units,
                       std::vector<Sum>& sums) {
  const double* const score = scores.of(0);
  for (const RowId row : rows) {
    const double p = 1 / (1 + std::exp(-score[row])), weight = targets.weight(row);
    sums[row] = units.of(weight * (p - targets.labels[row]), weight * p * (1 - p), weight);
  }
}

}  // namespace

void differentiate(const Scores& scores, const Targets& targets, std::span<const RowId> rows, const FixedPoint& units,
                   std::vector<std::vector<Sum>>& sums) {
  if (sums.size() == 1) return differentiate_two(scores, targets, rows, units, sums[0]);
  const std::size_t n = sums.size();
  std::vector<double> p(n);
  for (const RowId row : rows) {
    double largest = -std::numeric_limits<double>::infinity(), total = 0;
    for (std::size_t k = 0; k < n; ++k) largest = std::max(largest, p[k] = scores.of(static_cast<int>(k))[row]);
    for (double& value : p) total += value = std::exp(value - largest);
    const double weight = targets.weight(row);
    for (std::size_t k = 0; k < n; ++k) {
      const double share = p[k] / total;
      sums[k][row] = units.of(weight * (share - (targets.labels[row] == k)), weight * share * (1 - share), weight);
    }
  }
}

double log_loss_bits(const Scores& scores, const Targets& targets, std::span<const RowId> rows) {
  double loss = 0;
  for (const RowId row : rows) {
    const int label = targets.labels[row];
    if (scores.width() == 1) {
      const double margin = label == 1 ? scores.of(0)[row] : -scores.of(0)[row];
      loss += targets.weight(row) * (margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin);
      continue;
    }
    double largest = -std::numeric_limits<double>::infinity(), total = 0;
    for (int k = 0; k < scores.width(); ++k) largest = std::max(largest, scores.of(k)[row]);
    for (int k = 0; k < scores.width(); ++k) total += std::exp(scores.of(k)[row] - largest);
    loss += targets.weight(row) * (std::log(total) + largest - scores.of(label)[row]);
  }
  return loss / std::numbers::ln2;
}

}  // namespace petiole::boosting
