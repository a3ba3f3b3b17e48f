// Queries whose values are perturbed.
#include <nanobind/stl/vector.h>

#include "base/normal_cdf.hpp"
#include "bindings.hpp"
#include "rows.hpp"
#include "soft/out_of_bag.hpp"
#include "soft/route.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

Perturbation make_perturbation(bool independent_tests, double tolerance, const Vector<double>& scale,
                               const Vector<double>& swap, const std::vector<Vector<double>>& frequencies) {
  if (swap.shape(0) != scale.shape(0) || frequencies.size() != scale.shape(0))
    throw nb::value_error("one scale, one swap and one list of frequencies per feature");
  Perturbation made{independent_tests, tolerance, as_vector(scale), as_vector(swap), {}};
  for (const auto& one : frequencies) made.frequencies.push_back(as_vector(one));
  return made;
}

void check_fits(const SoftRouter& router, const Matrix& matrix, const Perturbation& perturbation) {
  if (matrix.n_columns < router.n_features_needed())
    throw nb::value_error("the matrix has fewer columns than the trees test");
  if (perturbation.scale.size() < static_cast<std::size_t>(router.n_features_needed()))
    throw nb::value_error("the perturbation has fewer features than the trees test");
}

void check_tables(const SoftRouter& router, const LeafTables& tables) {
  if (!same_leaves(router, tables)) throw nb::value_error("the tables belong to other trees");
}

void check_counted(const SoftRouter& router, const Matrix& matrix, const Members* counted) {
  if (counted != nullptr &&
      (counted->n_rows != static_cast<std::size_t>(matrix.n_rows) || counted->trees.size() != router.n_trees()))
    throw nb::value_error("the members belong to other trees or to other rows");
}

SoftRouter router_of_forest(const Forest& forest, int n_threads) {
  nb::gil_scoped_release release;
  ThreadPool pool(n_threads);
  return SoftRouter(forest, pool);
}

SoftRouter router_of_tree(const nb::dict& arrays) { return SoftRouter(from_arrays(arrays)); }

Array<double> average(const SoftRouter& router, const FloatMatrix& array, const LeafTables& tables,
                      const Perturbation& perturbation, const Members* counted, int n_threads) {
  const Matrix matrix = as_matrix(array);
  check_fits(router, matrix, perturbation);
  check_tables(router, tables);
  check_counted(router, matrix, counted);
  const auto n_rows = static_cast<std::size_t>(matrix.n_rows);
  std::vector<double> out(n_rows * tables.n_columns());
  run_interruptible([&](Interrupt& interrupt) {
    ThreadPool pool(n_rows < 64 ? 1 : n_threads);
    router.average(matrix, tables, perturbation, counted, pool, interrupt, out.data());
  });
  return to_table(std::move(out), n_rows, tables.n_columns());
}

Members members(const SoftRouter& router, const FloatMatrix& array, const Perturbation& perturbation, const Members* counted,
                int n_threads) {
  const Matrix matrix = as_matrix(array);
  check_fits(router, matrix, perturbation);
  check_counted(router, matrix, counted);
  return run_interruptible([&](Interrupt& interrupt) {
    ThreadPool pool(n_threads);
    return router.members(matrix, perturbation, counted, pool, interrupt);
  });
}

Tuple<Array<std::int64_t>, Array<LeafId>, Array<double>> leaves(const SoftRouter& router, const FloatMatrix& array,
                                                                const Perturbation& perturbation, std::size_t tree,
                                                                int n_threads) {
  if (tree >= router.n_trees()) throw nb::index_error("there is no such tree");
  const Members found = members(router, array, perturbation, nullptr, n_threads);
  LeafShares flat = leaf_shares(found.trees[tree].reach);
  return nb::make_tuple(to_numpy(std::move(flat.start)), to_numpy(std::move(flat.leaf)), to_numpy(std::move(flat.share)));
}

Tuple<double, Array<double>> loss(const SoftRouter& router, const FloatMatrix& array, const Labels& labels,
                                  const Weights& weights, const LeafTables& tables, const Perturbation& perturbation,
                                  const Members* counted, double floor, int n_threads) {
  const Matrix matrix = as_matrix(array);
  check_fits(router, matrix, perturbation);
  check_tables(router, tables);
  check_counted(router, matrix, counted);
  const Rows rows(static_cast<std::size_t>(matrix.n_rows), labels, weights);
  require_classes(labels, static_cast<int>(tables.n_columns()));
  std::vector<double> slopes(perturbation.scale.size(), 0.0);
  const double value = run_interruptible([&](Interrupt& interrupt) {
    ThreadPool pool(n_threads);
    return router.loss(matrix, rows.view, tables, perturbation, counted, floor, pool, interrupt, slopes.data());
  });
  return nb::make_tuple(value, to_numpy(std::move(slopes)));
}

void check_same_rows(const Members& asked, const Members& counted, std::size_t n_trees) {
  if (asked.n_rows != counted.n_rows || asked.trees.size() != n_trees || counted.trees.size() != n_trees)
    throw nb::value_error("the members belong to other trees or to other rows");
}

Array<double> oob_frequencies(const Members& asked, const Members& counted, const LeafTables& counts, double oob_weight,
                              const Labels& labels, const Weights& weights, int n_threads) {
  check_same_rows(asked, counted, counts.n_trees());
  const Rows rows(asked.n_rows, labels, weights);
  require_classes(labels, static_cast<int>(counts.n_columns()));
  std::vector<double> out(asked.n_rows * counts.n_columns());
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    soft_out_of_bag_frequencies({asked, counted, rows.view, oob_weight}, counts, pool, out.data());
  }
  return to_table(std::move(out), asked.n_rows, counts.n_columns());
}

Array<double> oob_rows(const Members& asked, const Members& counted, const VoteTables& tables, const Labels& filed,
                       const Labels& winners, const Table& votes, VoteTables::Rows which, double oob_weight,
                       const Labels& labels, const Weights& weights, int n_threads) {
  check_same_rows(asked, counted, tables.n_trees());
  const auto width = static_cast<std::size_t>(tables.n_classes());
  const Rows rows(asked.n_rows, labels, weights);
  require_classes(labels, tables.n_classes());
  if (filed.shape(0) != asked.n_rows || winners.shape(0) != asked.n_rows || votes.shape(0) != asked.n_rows ||
      votes.shape(1) != width)
    throw nb::value_error("one vote to file by, one winner, and one number of votes per class, for each row");
  std::vector<double> out(asked.n_rows * width);
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    soft_out_of_bag_rows({asked, counted, rows.view, oob_weight}, tables, {filed.data(), winners.data(), votes.data()}, which,
                         pool, out.data());
  }
  return to_table(std::move(out), asked.n_rows, width);
}

Array<double> cdf_of(const Vector<double>& values) {
  std::vector<double> found(values.shape(0));
  normal_cdf(values.data(), found.size(), 0.0, found.data());
  return to_numpy(std::move(found));
}

}  // namespace

void bind_soft(nb::module_& m) {
  nb::class_<Perturbation>(m, "Perturbation", "How the values of queries are perturbed.")
      .def(nb::new_(&make_perturbation), "independent_tests"_a, "tolerance"_a, "scale"_a, "swap"_a, "frequencies"_a);
  nb::class_<SoftRouter>(m, "SoftRouter", "Trees laid out for queries whose values are perturbed.")
      .def_static("of_forest", &router_of_forest, "forest"_a, "n_threads"_a = 1)
      .def_static("of_tree", &router_of_tree, "arrays"_a)
      .def_prop_ro("n_trees", &SoftRouter::n_trees)
      .def("average", &average, "matrix"_a, "tables"_a, "perturbation"_a, "counted"_a.none(), "n_threads"_a = 1,
           "For each row the mean over trees of the tables' rows, weighted by the masses of its leaves.")
      .def("members", &members, "matrix"_a, "perturbation"_a, "counted"_a.none(), "n_threads"_a = 1,
           "The leaves of each row and their masses; with `counted` only in trees that have not seen the row.")
      .def("leaves", &leaves, "matrix"_a, "perturbation"_a, "tree"_a = 0, "n_threads"_a = 1,
           "The leaves of each row in one tree and their masses, as (start, leaf, mass).")
      .def("loss", &loss, "matrix"_a, "labels"_a, "weights"_a.none(), "tables"_a, "perturbation"_a, "counted"_a.none(),
           "floor"_a, "n_threads"_a = 1, "Log-loss in nats, and its slopes by the logarithms of the scales.");
  m.def("soft_out_of_bag_frequencies", &oob_frequencies, "asked"_a, "counted"_a, "counts"_a, "oob_weight"_a, "labels"_a,
        "weights"_a.none(), "n_threads"_a);
  m.def("soft_out_of_bag_rows", &oob_rows, "asked"_a, "counted"_a, "tables"_a, "filed"_a, "winners"_a, "votes"_a, "which"_a,
        "oob_weight"_a, "labels"_a, "weights"_a.none(), "n_threads"_a);
  m.def("normal_cdf", &cdf_of, "values"_a, "The standard normal distribution function.");
}

}  // namespace petiole::bindings
