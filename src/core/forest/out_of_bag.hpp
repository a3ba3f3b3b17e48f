// Predictions of a forest for training rows, each row only by trees that were grown without it.
#pragma once

#include <algorithm>

#include "votes/ballot.hpp"

namespace petiole {

struct TrainingRows {
  const ClassId* labels = nullptr;
  const double* weights = nullptr;  // null: every row weighs 1

  double weight(std::size_t row) const { return weights == nullptr ? 1.0 : weights[row]; }
};

// A leaf with at most this weight is skipped: its shares could overflow.
inline constexpr double kNothing = 1e-290;

// The rest of a weight when a row is taken out of it; a tiny rest relative to the weight is rounding and counts as 0.
inline double left_of(double weight, double taken) {
  constexpr double kTrace = 1e-14;
  const double left = weight - taken;
  return left > kTrace * weight ? left : 0.0;
}

// The rows to predict: those listed, or all.
struct Asked {
  const RowId* rows = nullptr;  // null: all
  std::size_t n = 0;

  std::size_t row(std::size_t i) const { return rows == nullptr ? i : rows[i]; }

  // Whether all of them are among the first n_rows.
  bool are_below(std::size_t n_rows) const {
    return rows == nullptr ? n <= n_rows : std::all_of(rows, rows + n, [=](RowId row) { return row < n_rows; });
  }
};

// Votes of the trees that have not seen a row: winners (-1: there is no such tree) and, n_rows x n_classes, votes.
void out_of_bag_votes(const Members& members, const Ballot& ballot, ThreadPool& pool, std::int32_t* winners, double* votes);

// For each row to predict, the mean of the tables' rows over the trees that have not seen it; NaN where there is none.
void out_of_bag_average(const Members& members, const LeafTables& tables, Asked asked, ThreadPool& pool, double* out);

// The same with the frequencies counts / sum, where counts hold out-of-bag rows `oob_weight` times (and what an estimator
// adds) and the row itself is taken out of them. Leaves that have nothing left are skipped; NaN where all are.
void out_of_bag_frequencies(const Members& members, const LeafTables& counts, double oob_weight, TrainingRows rows,
                            Asked asked, ThreadPool& pool, double* out);

}  // namespace petiole
