// Pruning one tree.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "tree/prune.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

nb::dict prune_tree_by_error(const nb::dict& arrays, const FloatMatrix& matrix, const Vector<std::int32_t>& labels,
                             std::optional<Vector<double>> weights, double confidence, double z) {
  const Tree tree = from_arrays(arrays);
  PruningData data;
  data.matrix = as_matrix(matrix);
  data.labels.assign(labels.data(), labels.data() + labels.shape(0));
  if (weights) data.weights = as_vector(*weights);
  return to_arrays(
      run_interruptible([&](Interrupt& interrupt) { return prune_by_error(tree, data, confidence, z, interrupt); }));
}

}  // namespace

void bind_prune(nb::module_& m) {
  m.def("added_errors", &added_errors, "n"_a, "e"_a, "confidence"_a, "z"_a,
        "What C4.5 adds to the e errors seen at a leaf of weight n.");
  m.def(
      "collapse", [](const nb::dict& arrays) { return to_arrays(collapse(from_arrays(arrays))); }, "arrays"_a,
      "Replaces subtrees that make no fewer training errors than a leaf would.");
  m.def("prune_by_error", &prune_tree_by_error, "arrays"_a, "matrix"_a, "labels"_a, "weights"_a.none(), "confidence"_a, "z"_a,
        "Collapses the tree, then prunes it by expected errors with subtree raising.");
}

}  // namespace petiole::bindings
