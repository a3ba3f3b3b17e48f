// Trees and training data across the border.
#include "bindings.hpp"

namespace petiole::bindings {

nb::dict to_arrays(Tree&& tree) {
  const std::size_t n_nodes = tree.n_nodes();
  nb::dict arrays;
  arrays["feature"] = to_numpy(std::move(tree.feature));
  arrays["threshold"] = to_numpy(std::move(tree.threshold));
  arrays["child_start"] = to_numpy(std::move(tree.child_start));
  arrays["child_nodes"] = to_numpy(std::move(tree.child_nodes));
  arrays["missing_branch"] = to_numpy(std::move(tree.missing_branch));
  arrays["category_start"] = to_numpy(std::move(tree.category_start));
  arrays["category_branch"] = to_numpy(std::move(tree.category_branch));
  arrays["inbag_class_counts"] = to_numpy(std::move(tree.counts)).attr("reshape")(n_nodes, tree.n_classes);
  return arrays;
}

Tree from_arrays(const nb::dict& arrays) {
  const auto ints = [&](const char* name) { return as_vector(nb::cast<Vector<std::int32_t>>(arrays[name])); };
  const auto counts = nb::cast<Table>(arrays["inbag_class_counts"]);
  Tree tree;
  tree.n_classes = static_cast<int>(counts.shape(1));
  tree.feature = ints("feature");
  tree.threshold = as_vector(nb::cast<Vector<double>>(arrays["threshold"]));
  tree.child_start = ints("child_start");
  tree.child_nodes = ints("child_nodes");
  tree.missing_branch = ints("missing_branch");
  tree.category_start = ints("category_start");
  tree.category_branch = ints("category_branch");
  tree.counts.assign(counts.data(), counts.data() + counts.size());
  if (arrays.contains("spread_weights"))
    tree.spread_weights = as_vector(nb::cast<Vector<double>>(arrays["spread_weights"]));
  return tree;
}

Dataset as_dataset(const FloatMatrix& matrix, const Vector<std::int32_t>& labels,
                   const std::optional<Vector<double>>& weights, int n_classes) {
  Dataset dataset;
  dataset.matrix = as_matrix(matrix);
  dataset.n_classes = n_classes;
  dataset.labels.assign(labels.data(), labels.data() + labels.shape(0));
  if (weights) dataset.weights = as_vector(*weights);
  return dataset;
}

}  // namespace petiole::bindings
