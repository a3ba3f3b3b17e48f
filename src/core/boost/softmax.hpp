// The log-loss of many classes, its derivatives by the scores, and probabilities.
//
// Two classes share one score, the log-odds of the second; more have a score each.
#pragma once

#include <span>

#include "base/types.hpp"
#include "boost/sums.hpp"

namespace petiole::boosting {

// The scores of all rows, one class after the other.
class Scores {
 public:
  Scores(std::size_t n_rows, int n_classes) : n_rows_(n_rows), values_(n_rows * static_cast<std::size_t>(width(n_classes))) {}

  static int width(int n_classes) { return n_classes == 2 ? 1 : n_classes; }

  int width() const { return n_rows_ == 0 ? 0 : static_cast<int>(values_.size() / n_rows_); }
  double* of(int score) { return values_.data() + static_cast<std::size_t>(score) * n_rows_; }
  const double* of(int score) const { return values_.data() + static_cast<std::size_t>(score) * n_rows_; }

 private:
  std::size_t n_rows_;
  std::vector<double> values_;
};

// The rows of a data set in the loss: labels and weights.
struct Targets {
  const std::vector<ClassId>& labels;
  const std::vector<double>& weights;  // empty: all 1

  double weight(RowId row) const { return weights.empty() ? 1.0 : weights[row]; }
};

// Fills sums[k][row] for some rows: the first and second derivative of the weighted loss by score k, and the weight.
void differentiate(const Scores& scores, const Targets& targets, std::span<const RowId> rows, const FixedPoint& units,
                   std::vector<std::vector<Sum>>& sums);

// The weighted sum of the log-losses of some rows, in bits.
double log_loss_bits(const Scores& scores, const Targets& targets, std::span<const RowId> rows);

}  // namespace petiole::boosting
