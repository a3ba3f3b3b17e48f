// Hierarchical Dirichlet process smoothing: a collapsed Gibbs sampler over table counts.
#pragma once

#include "estimate.hpp"
#include "interrupt.hpp"

namespace petiole {

// Which nodes share a concentration: all, those of a depth, siblings, none.
enum class Tying { single, level, parent, none };

struct HdpOptions {
  int n_iter = 1000;
  int burn_in = 100;
  Tying tying = Tying::single;
  double prior_shape = 2;         // gamma prior of every concentration
  double prior_rate = 0;          // 0: the number of classes
  double concentration = 0;       // above 0: fixed, not sampled
  double root_concentration = 2;  // always fixed
  std::uint64_t seed = 0;
};

struct HdpResult {
  std::vector<double> table;
  double mean_concentration = 0;  // over nodes below the root and iterations after the burn-in
};

HdpResult hdp(const NodeCounts& tree, const HdpOptions& options, Interrupt& interrupt);

// Unsigned Stirling numbers of the first kind S(n, t), as ratios of neighbours: the sampler needs no more, and so neither
// logarithms nor factorials. For t up to a bound, computed once and extended on demand.
class StirlingRatios {
 public:
  // S(n, t+1) / S(n, t) for n, t >= 1.
  double next_table(std::uint32_t n, std::uint32_t t) const { return ratio_[std::size_t{n} * width_ + t]; }
  // S(n+1, t) / S(n, t) = n + S(n, t-1) / S(n, t).
  double next_customer(std::uint32_t n, std::uint32_t t) const {
    return n + (t > 1 ? 1 / ratio_[std::size_t{n} * width_ + t - 1] : 0.0);
  }
  // log S(n, t), for checks.
  double log_number(std::uint32_t n, std::uint32_t t) const;

  // Makes all n <= largest available.
  void prepare(std::uint32_t largest);
  std::uint32_t largest() const { return largest_; }
  std::uint32_t most_tables() const { return static_cast<std::uint32_t>(width_ - 1); }

 private:
  std::uint32_t largest_ = 0;
  std::size_t width_ = 0;
  std::vector<double> ratio_;
};

}  // namespace petiole
