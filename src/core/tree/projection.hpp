// A projection: a weighted sum of a few columns, which an oblique split compares with a threshold.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace petiole {

struct ProjectionTerm {
  std::int32_t feature = -1;
  double weight = 0;
};

// The sum over a row whose value j is row[j * stride]. It is NaN, and so missing, if a value is.
template <class T>
double projected(const ProjectionTerm* terms, std::size_t n, const T* row, std::int64_t stride) {
  double sum = 0;
  for (std::size_t t = 0; t < n; ++t) sum += terms[t].weight * static_cast<double>(row[terms[t].feature * stride]);
  return sum;
}

inline double projected(const std::vector<ProjectionTerm>& terms, const Matrix& matrix, std::int64_t row) {
  return matrix.visit([&](const auto* data) {
    return projected(terms.data(), terms.size(), data + row * matrix.row_stride, matrix.column_stride);
  });
}

}  // namespace petiole
