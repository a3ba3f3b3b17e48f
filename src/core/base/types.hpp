// Names shared by every stage of the core.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace petiole {

using RowId = std::uint32_t;
using ClassId = std::uint16_t;
using NodeId = std::int32_t;

// Two gains closer than this are a tie; gains are per unit of node weight.
inline constexpr double kTie = 1e-10;
// Slack in comparisons of weights, because fractional weights are sums of rounded products.
inline constexpr double kWeightSlack = 1e-9;
// C4.5 needs this much split information to use a gain ratio.
inline constexpr double kMinSplitInfo = 1e-3;
// A row whose share has been divided below this by missing values is no longer divided.
inline constexpr double kMinShare = 1e-3;

// The user's data: numeric columns hold values, categorical columns hold category codes, NaN is missing.
struct Matrix {
  const void* data = nullptr;
  bool is_float32 = false;
  std::int64_t n_rows = 0;
  std::int64_t n_columns = 0;
  std::int64_t row_stride = 0;  // in elements
  std::int64_t column_stride = 0;

  double at(std::int64_t row, std::int64_t column) const {
    const std::int64_t offset = row * row_stride + column * column_stride;
    return is_float32 ? static_cast<double>(static_cast<const float*>(data)[offset])
                      : static_cast<const double*>(data)[offset];
  }

  // Calls f with a typed pointer to the first element.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return is_float32 ? f(static_cast<const float*>(data)) : f(static_cast<const double*>(data));
  }
};

// Thrown out of a long loop when the caller's interrupt poll returns true.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

}  // namespace petiole
