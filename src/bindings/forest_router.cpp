// Sending rows down all trees of a forest.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "forest_checks.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

using Average = Tuple<Array<double>, std::optional<Array<double>>, Array<std::int32_t>>;

Average average(const ForestRouter& router, const FloatMatrix& array, const LeafTables& tables, const Members* members,
                bool squares, int n_threads) {
  const Matrix matrix = as_matrix(array);
  check_width(router, matrix);
  check_trees(router, tables, "the tables belong to another forest");
  const auto n_rows = static_cast<std::size_t>(matrix.n_rows);
  if (members != nullptr && (members->n_rows != n_rows || members->trees.size() != router.n_trees()))
    throw nb::value_error("the members belong to another forest or to other rows");
  std::vector<double> out(n_rows * tables.n_columns()), of_squares(squares ? out.size() : 0);
  std::vector<std::int32_t> n_used(n_rows);
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_rows < 64 ? 1 : n_threads);
    router.average(matrix, tables, members, pool, out.data(), squares ? of_squares.data() : nullptr, n_used.data());
  }
  const auto shaped = [&](std::vector<double>&& values) { return to_table(std::move(values), n_rows, tables.n_columns()); };
  nb::object second = nb::none();
  if (squares) second = shaped(std::move(of_squares));
  return nb::make_tuple(shaped(std::move(out)), second, to_numpy(std::move(n_used)));
}

Array<std::int32_t> apply(const ForestRouter& router, const FloatMatrix& array, int n_threads) {
  const Matrix matrix = as_matrix(array);
  check_width(router, matrix);
  std::vector<std::int32_t> leaves(static_cast<std::size_t>(matrix.n_rows) * router.n_trees());
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    router.apply(matrix, pool, leaves.data());
  }
  return to_numpy(std::move(leaves)).reshaped(static_cast<std::size_t>(matrix.n_rows), router.n_trees());
}

ForestRouter make_router(const Forest& forest, int n_threads) {
  nb::gil_scoped_release release;
  ThreadPool pool(n_threads);
  return ForestRouter(forest, pool);
}

Members find_members(const ForestRouter& router, const FloatMatrix& array, int n_threads) {
  const Matrix matrix = as_matrix(array);
  check_width(router, matrix);
  nb::gil_scoped_release release;
  ThreadPool pool(n_threads);
  return router.members(matrix, pool);
}

}  // namespace

void bind_forest_router(nb::module_& m) {
  nb::class_<ForestRouter>(m, "ForestRouter", "A forest laid out for walking.")
      .def(nb::new_(&make_router), "forest"_a, "n_threads"_a = 1)
      .def_prop_ro("n_trees", &ForestRouter::n_trees)
      .def("average", &average, "matrix"_a, "tables"_a, "members"_a.none(), "squares"_a, "n_threads"_a,
           "Means over trees of the tables' rows, of their squares, and how many trees took part.")
      .def("apply", &apply, "matrix"_a, "n_threads"_a, "The leaf of each row in each tree.")
      .def("members", &find_members, "matrix"_a, "n_threads"_a, "Where rows are, out of bag everywhere.");
}

}  // namespace petiole::bindings
