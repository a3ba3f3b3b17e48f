// Growing: while a node can be split, split it.
#pragma once

#include <span>

#include "base/interrupt.hpp"
#include "base/parallel.hpp"
#include "data/dataset.hpp"
#include "grow/options.hpp"
#include "grow/partition.hpp"
#include "tree/tree.hpp"

namespace petiole {

// How often each row is in the tree's sample, 0 for not at all; empty: every row once.
using Multiplicity = std::span<const std::uint32_t>;

// The rows of a tree's sample by leaf: those of group g are the entries from start[g] to start[g + 1] - 1, in increasing order.
struct Placement {
  std::vector<NodeId> leaf;             // of each group; every leaf has one
  std::vector<std::uint32_t> start{0};  // and the end of the last
  bool is_whole = true;                 // which entries there are:
  Entries<std::uint32_t> whole;
  Entries<double> real;

  // The rows of the dataset, and their weights with all copies.
  template <class W>
  auto& entries() {
    if constexpr (std::is_same_v<W, double>)
      return real;
    else
      return whole;
  }

  template <class W>
  void clear() {
    leaf.clear();
    start.assign(1, 0);
    is_whole = !std::is_same_v<W, double>;
    entries<W>().clear();
  }
  template <class W>
  void end_leaf(NodeId node) {
    leaf.push_back(node);
    start.push_back(static_cast<std::uint32_t>(entries<W>().size()));
  }
};

// Grows trees on one dataset, one after the other; its buffers live on from tree to tree.
class TreeGrower {
 public:
  TreeGrower(const Dataset& dataset, const GrowOptions& options, ThreadPool& pool);
  ~TreeGrower();

  // `placement`, if given, gets the rows of the sample, and the tree has no counts, since these follow from it.
  Tree grow(Multiplicity multiplicity, std::uint64_t seed, Interrupt& interrupt, Placement* placement = nullptr);

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
