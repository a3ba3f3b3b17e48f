#include "linear/dense.hpp"

#include <algorithm>
#include <cmath>

namespace petiole {

namespace {

constexpr std::size_t kRowsAtOnce = 64;

// Runs row(values, out) for every row, blocks of rows in parallel.
template <class Row>
void for_each_row(DenseRows rows, std::size_t n_outputs, ThreadPool& pool, double* out, const Row& row) {
  const std::size_t n_blocks = (rows.n_rows + kRowsAtOnce - 1) / kRowsAtOnce;
  pool.run(static_cast<int>(n_blocks), [&](int, int block) {
    const std::size_t begin = kRowsAtOnce * static_cast<std::size_t>(block);
    const std::size_t end = std::min(begin + kRowsAtOnce, rows.n_rows);
    for (std::size_t i = begin; i < end; ++i) row(rows.values + i * rows.n_columns, out + i * n_outputs);
  });
}

}  // namespace

void affine(DenseRows rows, const double* coefficients, const double* intercepts, std::size_t n_outputs, ThreadPool& pool,
            double* out) {
  for_each_row(rows, n_outputs, pool, out, [&](const double* values, double* scores) {
    std::copy_n(intercepts, n_outputs, scores);
    for (std::size_t j = 0; j < rows.n_columns; ++j) {
      const double value = values[j];
      const double* of_feature = coefficients + j * n_outputs;
      for (std::size_t k = 0; k < n_outputs; ++k) scores[k] += value * of_feature[k];
    }
  });
}

void gaussian_kernels(DenseRows rows, const double* landmarks, std::size_t n_landmarks, double gamma, ThreadPool& pool,
                      double* out) {
  for_each_row(rows, n_landmarks, pool, out, [&](const double* values, double* kernels) {
    std::fill_n(kernels, n_landmarks, 0.0);
    for (std::size_t j = 0; j < rows.n_columns; ++j) {
      const double value = values[j];
      const double* column = landmarks + j * n_landmarks;
      for (std::size_t l = 0; l < n_landmarks; ++l) kernels[l] += (value - column[l]) * (value - column[l]);
    }
    for (std::size_t l = 0; l < n_landmarks; ++l) kernels[l] = std::exp(-gamma * kernels[l]);
  });
}

}  // namespace petiole
