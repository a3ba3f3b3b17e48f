// The gain of lazy option trees: log2(K) - H(q) for the K classes at a node, where q_k is proportional to the share of
// the node's rows of class k that are in the child (Margineantu & Dietterich 2002, section 1.3).
//
// Gains decide which tests are taken, so equal gains must be equal: they are computed from whole numbers, by a function
// that does not depend on the order of classes or on a common factor of the shares, and are compared in whole units of
// 1e-12. What is cheap and almost right (`estimate`) only decides which tests are worth the exact function.
#pragma once

#include <bit>
#include <cmath>
#include <span>

#include "base/types.hpp"

namespace petiole {

using Units = std::int64_t;  // a sum of weights as a multiple of the data's smallest unit; 1 for rows without weights

inline constexpr double kGainUnits = 1e12;
// How far an estimated gain may be from the exact one: more than it ever is, less than a difference that means something.
inline constexpr double kGainSlack = 1e-9;
// With two classes gains are ranked by a ratio. Where the gain is worth a unit, ratios this far apart have other gains.
inline constexpr double kRatioSlack = 1e-5;

inline std::int64_t gain_units(double gain) { return std::llround(gain * kGainUnits); }

// The gain for two classes by the smaller over the larger of the two shares.
inline double gain_of_two(double ratio) {
  if (ratio <= 0) return 1.0;
  return 1.0 - std::log2(1.0 + ratio) + ratio * std::log2(ratio) / (1.0 + ratio);
}

// Adds numbers from -1 to 1 exactly, so that their order does not matter.
class OrderFreeSum {
 public:
  explicit OrderFreeSum(std::size_t n_terms) : shift_(61 - static_cast<int>(std::bit_width(n_terms))) {}
  void add(double value) { sum_ += std::llround(std::ldexp(value, shift_)); }
  double value() const { return std::ldexp(static_cast<double>(sum_), -shift_); }

 private:
  int shift_;
  std::int64_t sum_ = 0;
};

// The exact gain of a node's children. `prior` is added to every share.
class ExactGain {
 public:
  ExactGain() = default;
  ExactGain(std::span<const Units> counts, double prior)
      : counts_(counts), prior_(prior), most_(std::log2(static_cast<double>(counts.size()))) {}

  bool of_two() const { return counts_.size() == 2; }
  bool has_prior() const { return prior_ > 0; }
  double most() const { return most_; }
  double prior() const { return prior_; }
  double share(std::size_t k, Units count) const { return static_cast<double>(count) / static_cast<double>(counts_[k]); }

  // With two classes: the smaller over the larger share. The products are exact below 2^53, so equal ratios are equal.
  double ratio(Units a, Units b) const {
    double x, y;
    if (prior_ > 0) {
      x = share(0, a) + prior_, y = share(1, b) + prior_;
    } else {
      x = static_cast<double>(a) * static_cast<double>(counts_[1]);
      y = static_cast<double>(b) * static_cast<double>(counts_[0]);
    }
    return x < y ? x / y : y / x;
  }

  // The gain by the sum of shares and the sum of their terms s log2 s, priors included.
  double from_sums(double sum, double term_sum) const { return most_ - std::log2(sum) + term_sum / sum; }

  std::int64_t units(std::span<const Units> child) const {
    if (of_two()) return gain_units(gain_of_two(ratio(child[0], child[1])));
    std::size_t top = 0;
    for (std::size_t k = 1; k < child.size(); ++k)
      if (share(k, child[k]) > share(top, child[top])) top = k;
    OrderFreeSum sum(child.size()), term_sum(child.size());
    for (std::size_t k = 0; k < child.size(); ++k) {
      const double relative = relative_share(k, child[k], top, child[top]);
      if (relative <= 0) continue;
      sum.add(relative);
      term_sum.add(relative * std::log2(relative));
    }
    return gain_units(from_sums(sum.value(), term_sum.value()));
  }

 protected:
  std::span<const Units> counts_;
  double prior_ = 0, most_ = 0;

 private:
  double relative_share(std::size_t k, Units count, std::size_t top, Units top_count) const {
    if (prior_ > 0) return (share(k, count) + prior_) / (share(top, top_count) + prior_);
    return (static_cast<double>(count) * static_cast<double>(counts_[top])) /
           (static_cast<double>(counts_[k]) * static_cast<double>(top_count));
  }
};

// The same with a table of terms, for the many children that are only estimated.
class NodeGain : public ExactGain {
 public:
  void reset(std::span<const Units> counts, double prior, std::span<const double> log2_table) {
    ExactGain::operator=(ExactGain(counts, prior));
    if (!of_two()) fill_terms(log2_table);
  }

  // s log2 s of class k's share s in a child with this count.
  double term(std::size_t k, Units count) const {
    return tabled_ ? terms_[term_start_[k] + static_cast<std::size_t>(count)] : computed_term(k, count);
  }

 private:
  double computed_term(std::size_t k, Units count) const {
    const double s = share(k, count) + prior_;
    return s > 0 ? s * std::log2(s) : 0.0;
  }

  // A table takes an entry per unit of weight; with heavy rows that is too many.
  void fill_terms(std::span<const double> log2_table) {
    Units total = 0;
    for (const Units count : counts_) total += count;
    tabled_ = static_cast<std::size_t>(total) < log2_table.size();
    if (!tabled_) return;
    terms_.clear();
    term_start_.clear();
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      term_start_.push_back(terms_.size());
      const double log_of_all = log2_table[static_cast<std::size_t>(counts_[k])];
      for (Units count = 0; count <= counts_[k]; ++count)
        terms_.push_back(prior_ > 0 ? computed_term(k, count)
                                    : share(k, count) * (log2_table[static_cast<std::size_t>(count)] - log_of_all));
    }
  }

  bool tabled_ = false;
  std::vector<double> terms_;
  std::vector<std::size_t> term_start_;
};

}  // namespace petiole
