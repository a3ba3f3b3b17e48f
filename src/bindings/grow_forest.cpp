// Growing a forest, and counting the rows of trees that exist.
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "forest/forest.hpp"
#include "rows.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

using Grown = Tuple<Forest, std::optional<Members>>;

Grown as_tuple(GrownForest&& grown, bool keep_members) {
  nb::object members = keep_members ? nb::cast(std::move(grown.members)) : nb::none();
  return nb::make_tuple(nb::cast(std::move(grown.forest)), members);
}

Grown grow(const FloatMatrix& matrix, const Labels& labels, const Weights& weights, const Vector<std::int32_t>& n_categories,
           int n_trees, const CodingOptions& coding, const GrowOptions& options, const ForestOptions& forest, int n_classes,
           int n_threads) {
  Dataset dataset = as_dataset(matrix, labels, weights, n_classes);
  const auto categories = as_vector(n_categories);
  return as_tuple(run_interruptible([&](Interrupt& interrupt) {
                    ThreadPool pool(n_threads);
                    code_columns(dataset, categories, coding, pool, interrupt);
                    return grow_forest(dataset, n_trees, options, forest, pool, interrupt);
                  }),
                  forest.keep_members);
}

Grown count(const FloatMatrix& matrix, const Labels& labels, const Weights& weights, const std::vector<nb::dict>& arrays,
            std::uint64_t seed, const ForestOptions& forest, int n_classes, int n_threads) {
  const Dataset dataset = as_dataset(matrix, labels, weights, n_classes);
  std::vector<Tree> trees;
  for (const nb::dict& tree : arrays) trees.push_back(from_arrays(tree));
  return as_tuple(run_interruptible([&](Interrupt& interrupt) {
                    ThreadPool pool(n_threads);
                    return count_forest(dataset, trees, seed, forest, pool, interrupt);
                  }),
                  forest.keep_members);
}

Array<std::uint32_t> draw_sample(Bootstrap bootstrap, const Labels& labels, int n_classes, std::uint64_t seed,
                                 std::uint64_t index) {
  std::vector<std::uint32_t> copies;
  Sampler(bootstrap, as_classes(labels), n_classes).draw(sample_key(seed, index), copies);
  return to_numpy(std::move(copies));
}

}  // namespace

void bind_forest_options(nb::module_& m) {
  nb::enum_<Bootstrap>(m, "Bootstrap")
      .value("none", Bootstrap::none)
      .value("plain", Bootstrap::plain)
      .value("stratified", Bootstrap::stratified);
  nb::class_<ForestOptions>(m, "ForestOptions")
      .def(nb::init<>())
      .def_rw("bootstrap", &ForestOptions::bootstrap)
      .def_rw("distinct", &ForestOptions::distinct)
      .def_rw("keep_members", &ForestOptions::keep_members)
      .def_rw("first_tree", &ForestOptions::first_tree);
}

void bind_grow_forest(nb::module_& m) {
  m.def("grow_forest", &grow, "matrix"_a, "labels"_a, "weights"_a.none(), "n_categories"_a, "n_trees"_a, "coding"_a,
        "options"_a, "forest"_a, "n_classes"_a, "n_threads"_a,
        "Codes the columns once and grows the trees; returns (Forest, Members or None).");
  m.def("count_forest", &count, "matrix"_a, "labels"_a, "weights"_a.none(), "trees"_a, "seed"_a, "forest"_a, "n_classes"_a,
        "n_threads"_a, "Members and counts of trees that exist; returns (Forest, Members or None).");
  m.def("draw_sample", &draw_sample, "bootstrap"_a, "labels"_a, "n_classes"_a, "seed"_a, "index"_a,
        "How often each row is in the sample of a tree; empty: all rows once.");
}

}  // namespace petiole::bindings
