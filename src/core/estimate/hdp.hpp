// Hierarchical Dirichlet process smoothing: a collapsed Gibbs sampler over table counts.
#pragma once

#include "base/interrupt.hpp"
#include "estimate/estimate.hpp"

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

}  // namespace petiole
