// Tables with a row for each leaf of a tree.
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "forest/leaf_tables.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

LeafTables as_tables(const std::vector<Table>& arrays, std::size_t n_columns) {
  std::vector<std::size_t> n_leaves;
  std::vector<const double*> tables;
  for (const Table& array : arrays) {
    if (array.shape(1) != n_columns) throw nb::value_error("all tables must have as many columns");
    n_leaves.push_back(array.shape(0));
    tables.push_back(array.data());
  }
  return LeafTables::of(n_columns, n_leaves, tables);
}

Array<double> table_of(const LeafTables& tables, std::size_t tree) {
  if (tree >= tables.n_trees()) throw nb::index_error("there is no such tree");
  return to_table(tables.table(tree), tables.n_leaves(tree), tables.n_columns());
}

void set_table(LeafTables& tables, std::size_t tree, const Table& table) {
  if (tree >= tables.n_trees() || table.shape(0) != tables.n_leaves(tree) || table.shape(1) != tables.n_columns())
    throw nb::value_error("the table must have one row per leaf of an existing tree");
  tables.set(tree, table.data());
}

void add_rows(LeafTables& tables, const Table& rows) {
  if (rows.shape(0) != tables.n_trees() || rows.shape(1) != tables.n_columns())
    throw nb::value_error("rows: must have one row per tree");
  tables.add(rows.data());
}

}  // namespace

void bind_leaf_tables(nb::module_& m) {
  nb::class_<LeafTables>(m, "LeafTables", "A table per tree with a row for each of its leaves.")
      .def(nb::new_(&as_tables), "tables"_a, "n_columns"_a)
      .def_prop_ro("n_trees", &LeafTables::n_trees)
      .def_prop_ro("n_columns", &LeafTables::n_columns)
      .def("of_tree", &table_of, "tree"_a)
      .def("set_tree", &set_table, "tree"_a, "table"_a)
      .def("add", &add_rows, "rows"_a, "Adds one row per tree to all its leaves.")
      .def("normalise", &LeafTables::normalise, "Divides rows by their sums.")
      .def("trees_with_empty_rows", &LeafTables::trees_with_empty_rows)
      .def("row_sums", &LeafTables::row_sums)
      .def_static("side_by_side", &LeafTables::side_by_side, "tables"_a);
}

}  // namespace petiole::bindings
