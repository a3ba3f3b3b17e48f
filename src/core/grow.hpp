// Growing: while a node can be split, split it.
#pragma once

#include "dataset.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "parallel.hpp"
#include "tree.hpp"

namespace petiole {

Tree grow(const Dataset& dataset, const GrowOptions& options, ThreadPool& pool, Interrupt& interrupt);

}  // namespace petiole
