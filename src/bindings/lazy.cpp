// Lazy option trees.
#include <nanobind/stl/optional.h>

#include <chrono>

#include "bindings.hpp"
#include "lazy/graph_arrays.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

// Runs work(interrupt, progress) without the interpreter lock, as run_interruptible does; about once a second it also
// calls `report`, unless that is None, with the number of finished trees and of all.
template <class F>
auto run_reporting(const nb::object& report, F&& work) {
  using Clock = std::chrono::steady_clock;
  Progress progress;
  bool raised = false;
  auto last = Clock::now();
  const nb::handle told = report;
  Interrupt interrupt([&] {
    nb::gil_scoped_acquire gil;
    raised = PyErr_CheckSignals() != 0;
    if (raised || told.is_none() || Clock::now() - last < std::chrono::seconds(1)) return raised;
    last = Clock::now();
    PyObject* result = PyObject_CallFunction(told.ptr(), "KK", static_cast<unsigned long long>(progress.done),
                                             static_cast<unsigned long long>(progress.total));
    Py_XDECREF(result);
    raised = result == nullptr;
    return raised;
  });
  try {
    nb::gil_scoped_release release;
    return work(interrupt, progress);
  } catch (const Interrupted&) {
    throw nb::python_error();  // with the exception of the signal handler or the report
  }
}

LazyOptionTrees* make_trees(const FloatMatrix& matrix, const Vector<std::int32_t>& labels,
                            const std::optional<Vector<double>>& weights, const Vector<std::int32_t>& n_categories,
                            const LazyBagOptions& bags, int n_classes, int n_threads) {
  Dataset dataset = as_dataset(matrix, labels, weights, n_classes);
  const auto categories = as_vector(n_categories);
  CodingOptions coding;
  coding.keep_distinct = true;
  return run_interruptible([&](Interrupt& interrupt) {
    ThreadPool pool(n_threads);
    code_columns(dataset, categories, coding, pool, interrupt);
    return new LazyOptionTrees(std::move(dataset), bags);
  });
}

Matrix checked(const LazyOptionTrees& trees, const FloatMatrix& queries) {
  if (queries.shape(1) != trees.n_features()) throw nb::value_error("queries: must have the columns of the training rows");
  return as_matrix(queries);
}

Array<double> predict(const LazyOptionTrees& trees, const FloatMatrix& queries, const LazyTreeOptions& options,
                      const std::optional<Vector<std::uint32_t>>& rows, int n_threads, const nb::object& report) {
  const Matrix matrix = checked(trees, queries);
  std::span<const RowId> training_rows;
  if (rows) training_rows = {rows->data(), rows->shape(0)};
  const auto exists = [&](RowId row) { return row < trees.data().dataset.n_rows(); };
  const bool all_exist = std::all_of(training_rows.begin(), training_rows.end(), exists);
  if (rows && (training_rows.size() != queries.shape(0) || !all_exist))
    throw nb::value_error("rows: must name the training row of each query");
  auto answers = run_reporting(report, [&](Interrupt& interrupt, Progress& progress) {
    ThreadPool pool(n_threads);
    return rows ? trees.out_of_bag(matrix, training_rows, options, pool, interrupt, progress)
                : trees.predict(matrix, options, pool, interrupt, progress);
  });
  return to_table(std::move(answers), queries.shape(0), static_cast<std::size_t>(trees.n_classes()));
}

nb::dict explain(const LazyOptionTrees& trees, const FloatMatrix& query, const LazyTreeOptions& options, int bag) {
  const Matrix matrix = checked(trees, query);
  if (matrix.n_rows != 1) throw nb::value_error("query: must be one row");
  if (bag < 0 || bag >= trees.n_bags()) throw nb::index_error("there is no such sample");
  const LazyGraph graph =
      run_interruptible([&](Interrupt& interrupt) { return trees.explain(matrix, options, bag, interrupt); });
  LazyGraphArrays flat = to_arrays(graph, trees.data());
  nb::dict arrays;
  arrays["class_counts"] =
      to_table(std::move(flat.class_counts), graph.nodes.size(), static_cast<std::size_t>(trees.n_classes()));
  arrays["share"] = to_numpy(std::move(flat.share));
  arrays["first_option"] = to_numpy(std::move(flat.first_option));
  arrays["feature"] = to_numpy(std::move(flat.feature));
  arrays["sign"] = to_numpy(std::move(flat.sign));
  arrays["value"] = to_numpy(std::move(flat.value));
  arrays["gain"] = to_numpy(std::move(flat.gain));
  arrays["child"] = to_numpy(std::move(flat.child));
  return arrays;
}

}  // namespace

void bind_lazy(nb::module_& m) {
  nb::enum_<CousinRule>(m, "CousinRule")
      .value("none", CousinRule::none)
      .value("siblings", CousinRule::siblings)
      .value("strict", CousinRule::strict);
  nb::class_<LazyTreeOptions>(m, "LazyTreeOptions")
      .def(nb::init<>())
      .def_rw("max_tests", &LazyTreeOptions::max_tests)
      .def_rw("min_gain", &LazyTreeOptions::min_gain)
      .def_rw("min_samples_leaf", &LazyTreeOptions::min_samples_leaf)
      .def_rw("cousin_rule", &LazyTreeOptions::cousin_rule)
      .def_rw("gain_prior", &LazyTreeOptions::gain_prior)
      .def_rw("path_prior", &LazyTreeOptions::path_prior)
      .def_rw("max_nodes", &LazyTreeOptions::max_nodes)
      .def_rw("share_from", &LazyTreeOptions::share_from)
      .def_rw("row_budget", &LazyTreeOptions::row_budget);
  nb::class_<LazyBagOptions>(m, "LazyBagOptions")
      .def(nb::init<>())
      .def_rw("bootstrap", &LazyBagOptions::bootstrap)
      .def_rw("n_bags", &LazyBagOptions::n_bags)
      .def_rw("seed", &LazyBagOptions::seed);
  nb::class_<LazyOptionTrees>(m, "LazyOptionTrees", "Coded training rows that answer queries by lazy option trees.")
      .def_static("of", &make_trees, "matrix"_a, "labels"_a, "weights"_a.none(), "n_categories"_a, "bags"_a, "n_classes"_a,
                  "n_threads"_a, nb::rv_policy::take_ownership)
      .def("predict", &predict, "queries"_a, "options"_a, "rows"_a.none(), "n_threads"_a, "report"_a.none(),
           "Class probabilities of the queries; if they are training rows, by the samples that they are not in.")
      .def("explain", &explain, "query"_a, "options"_a, "bag"_a,
           "The nodes and options of one query in one sample, by name.");
}

}  // namespace petiole::bindings
