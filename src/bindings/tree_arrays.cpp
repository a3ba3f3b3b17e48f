// Trees and training data between Python and C++.
#include "bindings.hpp"

namespace petiole::bindings {

namespace {

void put_projections(Tree&& tree, nb::dict& arrays) {
  std::vector<std::int32_t> feature;
  std::vector<double> weight;
  for (const ProjectionTerm& term : tree.projection) {
    feature.push_back(term.feature);
    weight.push_back(term.weight);
  }
  arrays["projection_start"] = to_numpy(std::move(tree.projection_start));
  arrays["projection_feature"] = to_numpy(std::move(feature));
  arrays["projection_weight"] = to_numpy(std::move(weight));
}

void take_projections(const nb::dict& arrays, Tree& tree) {
  const auto feature = nb::cast<Vector<std::int32_t>>(arrays["projection_feature"]);
  const auto weight = nb::cast<Vector<double>>(arrays["projection_weight"]);
  if (feature.shape(0) == 0) return;
  tree.projection_start = as_vector(nb::cast<Vector<std::int32_t>>(arrays["projection_start"]));
  for (std::size_t t = 0; t < feature.shape(0); ++t) tree.projection.push_back({feature.data()[t], weight.data()[t]});
}

}  // namespace

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
  if (!tree.projection.empty()) put_projections(std::move(tree), arrays);
  arrays["inbag_class_counts"] = to_numpy(std::move(tree.counts)).attr("reshape")(n_nodes, tree.n_classes);
  return arrays;
}

Tree from_arrays(const nb::dict& arrays) {
  const auto ints = [&](const char* name) { return as_vector(nb::cast<Vector<std::int32_t>>(arrays[name])); };
  const auto counts = nb::cast<Table>(arrays["inbag_class_counts"]);
  Tree tree;
  if (arrays.contains("projection_start")) take_projections(arrays, tree);
  tree.n_classes = static_cast<int>(counts.shape(1));
  tree.feature = ints("feature");
  tree.threshold = as_vector(nb::cast<Vector<double>>(arrays["threshold"]));
  tree.child_start = ints("child_start");
  tree.child_nodes = ints("child_nodes");
  tree.missing_branch = ints("missing_branch");
  tree.category_start = ints("category_start");
  tree.category_branch = ints("category_branch");
  tree.counts.assign(counts.data(), counts.data() + counts.size());
  if (arrays.contains("spread_weights")) tree.spread_weights = as_vector(nb::cast<Vector<double>>(arrays["spread_weights"]));
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
