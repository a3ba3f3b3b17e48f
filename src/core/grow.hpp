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

// Grows trees on one dataset, one after the other; its buffers live on from tree to tree.
class TreeGrower {
 public:
  TreeGrower(const Dataset& dataset, const GrowOptions& options, ThreadPool& pool);
  ~TreeGrower();

  // leaf_of_row, if given, gets the leaf of every row in the sample and -1 for the others, and the tree has no counts,
  // since these follow from it. It means nothing where rows were divided because of missing values.
  Tree grow(Multiplicity multiplicity, std::uint64_t seed, Interrupt& interrupt,
            std::vector<NodeId>* leaf_of_row = nullptr);

  // Grows what is below a node of a larger tree: the rows are those of the node, `key` is its key, and `dataset_weight` is
  // that of all rows.
  Tree grow_below(std::uint64_t key, double dataset_weight, Interrupt& interrupt);

 private:
  struct Growers;
  const Dataset& dataset_;
  const GrowOptions& options_;
  std::unique_ptr<Growers> growers_;
};

}  // namespace petiole
