// A node that is still to be grown.
#pragma once

#include "grow/interactions.hpp"
#include "grow/twig.hpp"

namespace petiole {

template <class W>
struct Task {
  NodeId node = 0;
  int depth = 0;
  std::uint64_t key = 0;
  Window<W> window;
  std::vector<W> class_counts{};  // as those of a child
  bool divides_rows = false;      // it comes from a twig, which cannot do that
  Interactions::Path path = 0;
};

// A node of a twig.
struct TwigTask {
  NodeId node = 0;
  int depth = 0;
  std::uint64_t key = 0;
  Slots slots = 0;
  Interactions::Path path = 0;
};

// Where growth begins: the key of the first node, and the weight of the dataset that it belongs to (0: of the sample).
struct Start {
  std::uint64_t key = 0;
  double dataset_weight = 0;
};

}  // namespace petiole
