// Impurity as mass: n * I(n_1/n, ..., n_K/n), so that the mass of a split is the sum of its branches' masses and
// gain * node weight = mass before - mass after.
//
// Counts (whole numbers) and weights (real numbers) have their own versions. For counts the entropy is kept in fixed
// point: sums of table entries are then exact, hence independent of the order of rows, classes and threads.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "base/types.hpp"

namespace petiole {

enum class Criterion { entropy, gini, kearns_mansour, gain_ratio };

// Most weights are small whole numbers even where some are not, and looking up is several times quicker than a logarithm.
inline constexpr std::size_t kSmallLogs = 1024;
inline const std::array<double, kSmallLogs> kSmallNLog2N = [] {
  std::array<double, kSmallLogs> table{};
  for (std::size_t n = 1; n < kSmallLogs; ++n) table[n] = static_cast<double>(n) * std::log2(static_cast<double>(n));
  return table;
}();

inline double n_log2_n(double n) {
  if (!(n > 0)) return 0.0;
  if (n < kSmallLogs) {
    const auto whole = static_cast<std::size_t>(n);
    if (static_cast<double>(whole) == n) return kSmallNLog2N[whole];
  }
  return n * std::log2(n);
}

// n log2 n in fixed point for n = 0..size-1.
class LogTable {
 public:
  explicit LogTable(std::uint32_t largest) {
    // Two bits of headroom over the largest sum that can occur.
    const double most = std::max(1.0, n_log2_n(static_cast<double>(largest) + 1));
    const int shift = 60 - static_cast<int>(std::ceil(std::log2(most)));
    unit_ = std::ldexp(1.0, -shift);
    values_.resize(static_cast<std::size_t>(largest) + 1);
    for (std::size_t n = 0; n < values_.size(); ++n)
      values_[n] = std::llround(std::ldexp(n_log2_n(static_cast<double>(n)), shift));
  }

  const std::int64_t* data() const { return values_.data(); }
  std::uint32_t largest() const { return static_cast<std::uint32_t>(values_.size() - 1); }
  double unit() const { return unit_; }

 private:
  std::vector<std::int64_t> values_;
  double unit_ = 1;
};

// Each criterion defines how to get a mass from two class counts, from those of two sides, or from n and a sum of one term per class; criteria that
// are no such sum have kAdditive = false and need all class counts.

struct CountEntropy {
  using Weight = std::uint32_t;
  using Mass = std::int64_t;
  using Sum = std::int64_t;
  static constexpr bool kAdditive = true;
  const std::int64_t* table;
  double unit;

  Mass of_two(Weight a, Weight b) const { return table[a + b] - table[a] - table[b]; }
  Mass of_sides(Weight a, Weight b, Weight c, Weight d) const { return of_two(a, b) + of_two(c, d); }
  Sum term(Weight c) const { return table[c]; }
  Mass of_sum(Weight n, Sum sum) const { return table[n] - sum; }
  double real(Mass mass) const { return static_cast<double>(mass) * unit; }
  Mass slack(double n) const { return static_cast<Mass>(kTie * n / unit); }
};

struct CountGini {
  // Signed numbers become doubles faster; counts are far below 2^31.
  static double real_of(std::uint32_t count) { return static_cast<std::int32_t>(count); }

  using Weight = std::uint32_t;
  using Mass = double;
  using Sum = std::int64_t;
  static constexpr bool kAdditive = true;

  Mass of_two(Weight a, Weight b) const {
    const double x = real_of(a), y = real_of(b);
    return 2 * x * y / std::max(x + y, 1.0);
  }
  // Neither side is empty. One division for both, and nothing that keeps the compiler from doing several cuts at once.
  Mass of_sides(Weight a, Weight b, Weight c, Weight d) const {
    const double w = real_of(a), x = real_of(b), y = real_of(c), z = real_of(d);
    const double left = w + x, right = y + z;
    return 2 * (w * x * right + y * z * left) / (left * right);
  }
  Sum term(Weight c) const { return static_cast<Sum>(c) * c; }
  Mass of_sum(Weight n, Sum sum) const { return n > 0 ? n - static_cast<double>(sum) / n : 0.0; }
  double real(Mass mass) const { return mass; }
  Mass slack(double n) const { return kTie * n; }
};

struct RealEntropy {
  using Weight = double;
  using Mass = double;
  using Sum = double;
  static constexpr bool kAdditive = true;

  Mass of_two(Weight a, Weight b) const { return n_log2_n(a + b) - n_log2_n(a) - n_log2_n(b); }
  Mass of_sides(Weight a, Weight b, Weight c, Weight d) const { return of_two(a, b) + of_two(c, d); }
  Sum term(Weight c) const { return n_log2_n(c); }
  Mass of_sum(Weight n, Sum sum) const { return n_log2_n(n) - sum; }
  double real(Mass mass) const { return mass; }
  Mass slack(double n) const { return kTie * n; }
};

struct RealGini {
  using Weight = double;
  using Mass = double;
  using Sum = double;
  static constexpr bool kAdditive = true;

  Mass of_two(Weight a, Weight b) const { return a + b > 0 ? 2 * a * b / (a + b) : 0.0; }
  Mass of_sides(Weight a, Weight b, Weight c, Weight d) const { return of_two(a, b) + of_two(c, d); }
  Sum term(Weight c) const { return c * c; }
  Mass of_sum(Weight n, Sum sum) const { return n > 0 ? n - sum / n : 0.0; }
  double real(Mass mass) const { return mass; }
  Mass slack(double n) const { return kTie * n; }
};

// Kearns & Mansour: sum over classes of sqrt(p (1 - p)); 2 sqrt(p (1 - p)) for two classes.
template <class W>
struct KearnsMansour {
  using Weight = W;
  using Mass = double;
  using Sum = double;
  static constexpr bool kAdditive = false;
  static constexpr double kRounding = 1e-10;

  Mass of_two(Weight a, Weight b) const { return 2 * of_class(a, a + b); }
  Mass of_sides(Weight a, Weight b, Weight c, Weight d) const { return of_two(a, b) + of_two(c, d); }
  Mass of_class(Weight c, Weight n) const {
    const double in = static_cast<double>(c), out = static_cast<double>(n) - in;
    // A share this small is what subtractions left over, and the root would make it large.
    const double nothing = kRounding * static_cast<double>(n);
    return in > nothing && out > nothing ? std::sqrt(in * out) : 0.0;
  }
  double real(Mass mass) const { return mass; }
  Mass slack(double n) const { return kTie * n; }
};

// The mass of a vector of class counts.
template <class C>
typename C::Mass mass_of(const C& criterion, const typename C::Weight* counts, int n_classes) {
  typename C::Weight n = 0;
  for (int k = 0; k < n_classes; ++k) n += counts[k];
  if constexpr (C::kAdditive) {
    typename C::Sum sum = 0;
    for (int k = 0; k < n_classes; ++k) sum += criterion.term(counts[k]);
    return criterion.of_sum(n, sum);
  } else {
    typename C::Mass mass = 0;
    for (int k = 0; k < n_classes; ++k) mass += criterion.of_class(counts[k], n);
    return mass;
  }
}

}  // namespace petiole
