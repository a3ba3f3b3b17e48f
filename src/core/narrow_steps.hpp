// A tree of thresholds in eight bytes a node, through which rows of single-precision values are walked side by side.
#pragma once

#include <array>
#include <cmath>

#include "route.hpp"

namespace petiole {

// A threshold rounded down to single precision says of every single-precision value what the exact one says.
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

// Up to kBlock rows on their way.
struct Lanes {
  std::array<const float*, kBlock> row;
  std::array<std::uint32_t, kBlock> node;
  std::array<std::uint32_t, kBlock> doubtful;  // a value was equal to a threshold

  // Takes all rows from the root to their leaves. Value j of a row is row[j * stride].
  template <bool kExact, class Stride>
  void walk(const NarrowStep* steps, Stride stride) {
    node.fill(0);
    if constexpr (!kExact) doubtful.fill(0);
    for (std::uint32_t changed = 1; changed != 0;) {
      changed = 0;
      for (std::size_t i = 0; i < kBlock; ++i) {
        const NarrowStep step = steps[node[i]];
        const float value = row[i][static_cast<std::int64_t>(step.feature) * stride];
        const std::uint32_t next = step.first_child + (value > step.threshold);
        if constexpr (!kExact) doubtful[i] |= value == step.threshold;
        changed |= next ^ node[i];
        node[i] = next;
      }
    }
  }
};

using Contiguous = std::integral_constant<std::int64_t, 1>;

}  // namespace petiole
