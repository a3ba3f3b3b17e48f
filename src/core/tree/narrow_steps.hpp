// A tree of thresholds in eight bytes a node, through which rows of single-precision values are walked side by side.
#pragma once

#include <array>
#include <cmath>

#include "tree/route.hpp"

namespace petiole {

// A threshold rounded down to single precision sends every single-precision value to the same side as the exact one.
inline float round_down(double value) {
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) > value ? std::nextafter(nearest, -std::numeric_limits<float>::infinity()) : nearest;
}

struct NarrowStep {  // a leaf steps to itself
  float threshold;
  std::uint32_t feature : 12, first_child : 20;

  static bool fits(std::size_t n_nodes, std::int64_t n_features) { return n_nodes <= (1u << 20) && n_features <= (1 << 12); }

  NarrowStep(double exact, std::int32_t of, std::int32_t to)
      : threshold(round_down(exact)), feature(static_cast<std::uint32_t>(of)), first_child(static_cast<std::uint32_t>(to)) {}
};

// Rows on their way down one tree. They go kBlock side by side, a few steps at a time, and then those that have reached their
// leaves drop out: otherwise all would wait for the one that has the longest way.
class RowWalk {
 public:
  static constexpr std::size_t kMostRows = 128;

  // Row i of those that walk next, from 0 on.
  void set_row(std::size_t i, const float* row) { row_[i] = row; }

  // Takes n rows from the root to their leaves. Value j of a row is row[j * stride].
  template <bool kExact, class Stride>
  void walk(const NarrowStep* steps, std::size_t n, Stride stride) {
    for (std::size_t i = n; i < round_up(n); ++i) row_[i] = row_[n - 1];
    for (std::size_t i = 0; i < round_up(n); ++i) {
      node_[i] = 0;
      index_[i] = static_cast<std::uint32_t>(i);
      if constexpr (!kExact) equal_[i] = 0;
    }
    while (n > 0) {
      for (std::size_t first = 0; first < n; first += kBlock)
        for (int step = 0; step < kStepsAtOnce; ++step)
          for (std::size_t i = first; i < first + kBlock; ++i) take_step<kExact>(steps, stride, i);
      n = without_arrived<kExact>(steps, n);
    }
  }

  // Where row i has got to, and whether a value of it was equal to a threshold on the way.
  std::uint32_t leaf(std::size_t i) const { return leaf_[i]; }
  bool was_equal(std::size_t i) const { return was_equal_[i] != 0; }

 private:
  static constexpr int kStepsAtOnce = 4;
  static std::size_t round_up(std::size_t n) { return (n + kBlock - 1) / kBlock * kBlock; }

  template <bool kExact, class Stride>
  void take_step(const NarrowStep* steps, Stride stride, std::size_t i) {
    const NarrowStep step = steps[node_[i]];
    const float value = row_[i][static_cast<std::int64_t>(step.feature) * stride];
    if constexpr (!kExact) equal_[i] |= value == step.threshold;
    node_[i] = step.first_child + (value > step.threshold);
  }

  // Notes where all rows are and moves those that are still on their way together: no branch on which these are.
  template <bool kExact>
  std::size_t without_arrived(const NarrowStep* steps, std::size_t n) {
    std::size_t n_left = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t node = node_[i], index = index_[i];
      const float* row = row_[i];
      leaf_[index] = node;
      row_[n_left] = row;
      node_[n_left] = node;
      index_[n_left] = index;
      if constexpr (!kExact) {
        was_equal_[index] = equal_[i];
        equal_[n_left] = equal_[i];
      }
      n_left += steps[node].first_child != node;
    }
    return n_left;
  }

  // Of the rows that are on their way.
  std::array<const float*, kMostRows> row_;
  std::array<std::uint32_t, kMostRows> node_, index_, equal_;
  // By index.
  std::array<std::uint32_t, kMostRows> leaf_, was_equal_;
};

using Contiguous = std::integral_constant<std::int64_t, 1>;

}  // namespace petiole
