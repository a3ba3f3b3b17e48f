// Products of rows with small matrices. A row's result is the same, bit for bit, regardless of the other rows and of
// the position of the arrays in memory, which matrix libraries do not guarantee: its sums run over the features in
// their order.
#pragma once

#include <cstddef>

#include "base/parallel.hpp"

namespace petiole {

// Rows of numbers, one after the other.
struct DenseRows {
  const double* values = nullptr;
  std::size_t n_rows = 0, n_columns = 0;
};

// out (n_rows x n_outputs) = intercepts + rows * coefficients, which are n_columns x n_outputs.
void affine(DenseRows rows, const double* coefficients, const double* intercepts, std::size_t n_outputs, ThreadPool& pool,
            double* out);

// out (n_rows x n_landmarks) = exp(-gamma * squared distance of the row to the landmark). The landmarks are given column by
// column: n_columns x n_landmarks.
void gaussian_kernels(DenseRows rows, const double* landmarks, std::size_t n_landmarks, double gamma, ThreadPool& pool,
                      double* out);

}  // namespace petiole
