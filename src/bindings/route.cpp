// Sending rows down one tree.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "bindings.hpp"
#include "tree/route.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

void check_width(const Router& router, const Matrix& matrix) {
  if (matrix.n_columns < router.n_features_needed())
    throw nb::value_error("the matrix has fewer columns than the tree tests");
}

Router make_router(const nb::dict& arrays) { return Router(from_arrays(arrays)); }

Array<std::int32_t> apply(const Router& router, const FloatMatrix& array, int n_threads) {
  const Matrix matrix = as_matrix(array);
  check_width(router, matrix);
  std::vector<std::int32_t> leaves(static_cast<std::size_t>(matrix.n_rows));
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    router.apply(matrix, pool, leaves.data());
  }
  return to_numpy(std::move(leaves));
}

Array<double> average(const Router& router, const FloatMatrix& array, const Table& table, int n_threads) {
  const Matrix matrix = as_matrix(array);
  check_width(router, matrix);
  if (table.shape(0) != router.n_nodes()) throw nb::value_error("the table must have one row per node");
  const std::size_t n_columns = table.shape(1);
  const auto n_rows = static_cast<std::size_t>(matrix.n_rows);
  auto out = std::make_unique_for_overwrite<double[]>(n_rows * n_columns);
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    router.average(matrix, table.data(), static_cast<std::int64_t>(n_columns), pool, out.get());
  }
  double* data = out.get();
  nb::capsule owner(out.release(), [](void* p) noexcept { delete[] static_cast<double*>(p); });
  return Array<double>(nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(data, {n_rows, n_columns}, owner)));
}

Tuple<Array<std::int64_t>, Array<NodeId>, Array<double>> traverse(const Router& router, const FloatMatrix& array,
                                                                  bool whole_path) {
  const Matrix matrix = as_matrix(array);
  check_width(router, matrix);
  NodeWeights found;
  {
    nb::gil_scoped_release release;
    found = router.traverse(matrix, whole_path);
  }
  return nb::make_tuple(to_numpy(std::move(found.start)), to_numpy(std::move(found.node)), to_numpy(std::move(found.weight)));
}

Array<double> count(const Router& router, const FloatMatrix& array, const Vector<std::int32_t>& labels,
                    std::optional<Vector<double>> weights, std::int64_t n_classes) {
  const Matrix matrix = as_matrix(array);
  check_width(router, matrix);
  const std::vector<ClassId> classes(labels.data(), labels.data() + labels.shape(0));
  std::vector<double> counts(router.n_nodes() * static_cast<std::size_t>(n_classes), 0.0);
  {
    nb::gil_scoped_release release;
    router.count(matrix, classes.data(), weights ? weights->data() : nullptr, n_classes, counts.data());
  }
  return to_table(std::move(counts), router.n_nodes(), static_cast<std::size_t>(n_classes));
}

}  // namespace

void bind_route(nb::module_& m) {
  nb::class_<Router>(m, "Router", "A tree laid out for walking.")
      .def(nb::new_(&make_router), "arrays"_a)
      .def("apply", &apply, "matrix"_a, "n_threads"_a = 1, "The leaf of each row.")
      .def("average", &average, "matrix"_a, "table"_a, "n_threads"_a = 1,
           "For each row the mean of the table's rows over the leaves it reaches.")
      .def("traverse", &traverse, "matrix"_a, "whole_path"_a = false,
           "The nodes that each row reaches and their weights, as (start, node, weight).")
      .def("count", &count, "matrix"_a, "labels"_a, "weights"_a.none(), "n_classes"_a,
           "Class counts of the rows at every node.");
}

}  // namespace petiole::bindings
