// Growing: while a node can be split, split it.
#pragma once

#include <span>

#include "dataset.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "parallel.hpp"
#include "tree.hpp"

namespace petiole {

// How often each row is in the tree's sample, 0 for not at all; empty: every row once.
using Multiplicity = std::span<const std::uint32_t>;

Tree grow(const Dataset& dataset, Multiplicity multiplicity, const GrowOptions& options, ThreadPool& pool,
          Interrupt& interrupt);

// One tree per sample, each with a seed derived from (seed, index of the tree); trees are grown in parallel.
std::vector<Tree> grow_forest(const Dataset& dataset, const std::vector<Multiplicity>& samples,
                              const GrowOptions& options, ThreadPool& pool, Interrupt& interrupt);

}  // namespace petiole
