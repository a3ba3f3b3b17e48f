// Growing one tree.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "grow/grow.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

nb::dict grow_tree(const FloatMatrix& matrix, const Vector<std::int32_t>& labels, std::optional<Vector<double>> weights,
                   const Vector<std::int32_t>& n_categories, const CodingOptions& coding, const GrowOptions& options,
                   int n_classes, int n_threads) {
  Dataset dataset = as_dataset(matrix, labels, weights, n_classes);
  const auto categories = as_vector(n_categories);
  Tree tree = run_interruptible([&](Interrupt& interrupt) {
    ThreadPool pool(n_threads);
    code_columns(dataset, categories, coding, pool, interrupt);
    return TreeGrower(dataset, options, pool).grow({}, options.seed, interrupt);
  });
  return to_arrays(std::move(tree));
}

}  // namespace

void bind_grow(nb::module_& m) {
  nb::enum_<Criterion>(m, "Criterion")
      .value("entropy", Criterion::entropy)
      .value("gini", Criterion::gini)
      .value("kearns_mansour", Criterion::kearns_mansour)
      .value("gain_ratio", Criterion::gain_ratio);
  nb::enum_<Splits>(m, "Splits")
      .value("best", Splits::best)
      .value("oblique", Splits::oblique)
      .value("random", Splits::random);
  nb::enum_<NominalSplits>(m, "NominalSplits")
      .value("multiway", NominalSplits::multiway)
      .value("binary", NominalSplits::binary);
  nb::enum_<Missing>(m, "Missing").value("fractional", Missing::fractional).value("separate", Missing::separate);
  nb::class_<CodingOptions>(m, "CodingOptions")
      .def(nb::init<>())
      .def_rw("max_bins", &CodingOptions::max_bins)
      .def_rw("keep_distinct", &CodingOptions::keep_distinct);
  nb::class_<GrowOptions>(m, "GrowOptions")
      .def(nb::init<>())
      .def_rw("criterion", &GrowOptions::criterion)
      .def_rw("splits", &GrowOptions::splits)
      .def_rw("nominal_splits", &GrowOptions::nominal_splits)
      .def_rw("missing", &GrowOptions::missing)
      .def_rw("max_depth", &GrowOptions::max_depth)
      .def_rw("min_samples_leaf", &GrowOptions::min_samples_leaf)
      .def_rw("max_features", &GrowOptions::max_features)
      .def_rw("redraw", &GrowOptions::redraw)
      .def_rw("min_gain", &GrowOptions::min_gain)
      .def_rw("class_scale", &GrowOptions::class_scale)
      .def_rw("thresholds_from_data", &GrowOptions::thresholds_from_data)
      .def_rw("random_ties", &GrowOptions::random_ties)
      .def_rw("signs", &GrowOptions::signs)
      .def_rw("ordered_class", &GrowOptions::ordered_class)
      .def_rw("groups", &GrowOptions::groups)
      .def_rw("seed", &GrowOptions::seed);
  m.def("grow_tree", &grow_tree, "matrix"_a, "labels"_a, "weights"_a.none(), "n_categories"_a, "coding"_a, "options"_a,
        "n_classes"_a, "n_threads"_a, "Codes the columns, grows one tree and returns its arrays by name.");
}

}  // namespace petiole::bindings
