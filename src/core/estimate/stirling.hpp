// Unsigned Stirling numbers of the first kind S(n, t), the number of ways to seat n customers at t round tables, as ratios
// of neighbours: a sampler of table counts needs no more, and so neither logarithms nor factorials.
#pragma once

#include <cstddef>
#include <vector>

namespace petiole {

// Any n and t, in bounded memory: the ratios are exact for small n and t, and beyond that interpolated between a few exact rows
// (an error below 1e-9 of the ratio) or approximated (below 1e-6). Counts are whole numbers held as doubles, so that none
// is too large.
class StirlingRatios {
 public:
  // S(n, t+1) / S(n, t) for 1 <= t < n.
  double next_table(double n, double t) const {
    if (t >= kColumns) return with_many_tables(n, t);
    const auto column = static_cast<std::size_t>(t);
    return n < kExactRows ? exact_[static_cast<std::size_t>(n) * kColumns + column] : between_rows(n, column);
  }
  // The same for each t of a list. Throws std::invalid_argument unless 1 <= t < n.
  std::vector<double> next_tables(double n, const std::vector<double>& tables) const;
  // S(n+1, t) / S(n, t) = n + S(n, t-1) / S(n, t) for 1 <= t <= n.
  double next_customer(double n, double t) const { return n + (t > 1 ? 1 / next_table(n, t - 1) : 0.0); }
  // log S(n, t), for checks.
  double log_number(double n, double t) const;

  // Makes all numbers of customers up to n available.
  void prepare(double n) {
    if (n > ready_) extend(n);
  }

  static constexpr double kMostCustomers = 0x1.0p53;  // beyond, doubles do not tell n from n + 1

 private:
  static constexpr std::size_t kColumns = 512;       // t below this
  static constexpr std::size_t kExactRows = 8192;    // n below this: one row for each n
  static constexpr std::size_t kFirstSpaced = 4096;  // n of the first spaced row
  static constexpr std::size_t kPerOctave = 4;       // spaced rows while n doubles

  void extend(double n);
  void add_exact_row();
  void add_spaced_row();
  double between_rows(double n, std::size_t t) const;
  static double with_many_tables(double n, double t);

  double ready_ = 0;
  std::vector<double> exact_;   // row n has the ratios of n customers
  std::vector<double> spaced_;  // row g has those of kFirstSpaced * 2^(g / kPerOctave) customers
};

}  // namespace petiole
