// Shapley values of columns.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "explain/shapley.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

// (row x column x output) as one table with a row for each row, and what is said while nothing is known.
using Explained = Tuple<Array<double>, Array<double>>;

Explained explain(const TreeSource& trees, const LeafTables& tables, const FloatMatrix& array,
                  const std::optional<FloatMatrix>& background, int n_threads) {
  const Matrix rows = as_matrix(array);
  if (tables.n_trees() != trees.n_trees) throw nb::value_error("the tables belong to another forest");
  const std::size_t width = static_cast<std::size_t>(rows.n_columns) * tables.n_columns();
  std::vector<double> values(static_cast<std::size_t>(rows.n_rows) * width, 0.0), base(tables.n_columns(), 0.0);
  const Matrix others = background ? as_matrix(*background) : Matrix{};
  run_interruptible([&](Interrupt& interrupt) {
    ThreadPool pool(n_threads);
    const ShapleyTask task{trees, tables, rows};
    if (background)
      interventional_values(task, others, pool, interrupt, values.data(), base.data());
    else
      path_values(task, pool, interrupt, values.data(), base.data());
    return true;
  });
  return nb::make_tuple(to_table(std::move(values), static_cast<std::size_t>(rows.n_rows), width), to_numpy(std::move(base)));
}

Explained of_forest(const Forest& forest, const LeafTables& tables, const FloatMatrix& array,
                    const std::optional<FloatMatrix>& background, int n_threads) {
  const TreeSource trees{forest.trees.size(),
                         [&](std::size_t t) { return unpack(forest.trees[t], forest.n_classes, false); }};
  return explain(trees, tables, array, background, n_threads);
}

Explained of_trees(const std::vector<nb::dict>& arrays, const LeafTables& tables, const FloatMatrix& array,
                   const std::optional<FloatMatrix>& background, int n_threads) {
  std::vector<Tree> trees;
  for (const nb::dict& of_tree : arrays) trees.push_back(from_arrays(of_tree));
  return explain({trees.size(), [&](std::size_t t) { return trees[t]; }}, tables, array, background, n_threads);
}

}  // namespace

void bind_explain(nb::module_& m) {
  m.def("shapley_of_forest", &of_forest, "forest"_a, "tables"_a, "matrix"_a, "background"_a.none(), "n_threads"_a = 1,
        "Shapley values of each row's columns for the sum over trees of the tables' rows, and their sum without columns.");
  m.def("shapley_of_trees", &of_trees, "trees"_a, "tables"_a, "matrix"_a, "background"_a.none(), "n_threads"_a = 1,
        "The same for trees given by their arrays.");
}

}  // namespace petiole::bindings
