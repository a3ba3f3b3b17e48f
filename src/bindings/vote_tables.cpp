// MOB-ESP's leaf matrices.
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "forest_checks.hpp"
#include "rows.hpp"
#include "vote_state.hpp"
#include "votes/pooled_leaves.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

VoteTables make_vote_tables(const Members& members, const Labels& winners, const Labels& labels, const Weights& weights,
                            int n_classes, bool distinct, double oob_weight, int n_threads, bool mixed) {
  const Rows rows(members.n_rows, labels, weights);
  if (winners.shape(0) != members.n_rows) throw nb::value_error("winners: must have one entry per row");
  nb::gil_scoped_release release;
  ThreadPool pool(n_threads);
  VoteTables tables(members, winners.data(), rows.view, n_classes, distinct, pool);
  if (mixed) tables.mix(oob_weight, pool);
  return tables;
}

Array<double> vote_tables_out_of_bag(const VoteTables& tables, const Members& members, const Labels& winners,
                                     const Table& votes, VoteTables::Rows which, const Labels& labels, const Weights& weights,
                                     const RowList& listed, int n_threads) {
  check_members(members, tables.trees().size());
  const Rows rows(members.n_rows, labels, weights);
  const Asked asked = as_asked(members, listed);
  const auto width = static_cast<std::size_t>(tables.n_classes());
  if (winners.shape(0) != members.n_rows || votes.shape(0) != members.n_rows || votes.shape(1) != width)
    throw nb::value_error("one winner, and one number of votes per class, for each row");
  std::vector<double> out(asked.n * width);
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    tables.out_of_bag(members, winners.data(), votes.data(), which, rows.view, asked, pool, out.data());
  }
  return to_table(std::move(out), asked.n, width);
}

Tuple<Array<std::int32_t>, Array<double>, Array<double>, Array<double>> look_up(
    const VoteTables& tables, const ForestRouter& router, const FloatMatrix& array, const Ballot& ballot,
    std::size_t n_voters, VoteTables::Rows which, const LeafTables* averaged, int n_threads) {
  const Matrix matrix = as_matrix(array);
  check_width(router, matrix);
  check_trees(router, ballot, "the ballot belongs to another forest");
  if (averaged != nullptr) check_trees(router, *averaged, "the tables belong to another forest");
  check_trees(router, tables, "the vote tables belong to another forest");
  const auto n = static_cast<std::size_t>(matrix.n_rows), width = static_cast<std::size_t>(tables.n_classes());
  std::vector<std::int32_t> winners(n);
  const std::size_t n_averages = averaged == nullptr ? 0 : averaged->n_columns();
  std::vector<double> votes(n * width), out(n * width), averages(n * n_averages);
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n < 64 ? 1 : n_threads);
    tables.look_up(router, matrix, ballot, n_voters, which, averaged, pool, winners.data(), votes.data(), out.data(),
                   averages.data());
  }
  return nb::make_tuple(to_numpy(std::move(winners)), to_table(std::move(votes), n, width),
                        to_table(std::move(out), n, width), to_table(std::move(averages), n, n_averages));
}

Tuple<Array<std::int32_t>, Array<double>, Array<double>> look_up_members(const VoteTables& tables, const Members& found,
                                                                         const Ballot& ballot, std::size_t n_voters,
                                                                         VoteTables::Rows which, int n_threads) {
  check_members(found, tables.trees().size());
  const auto width = static_cast<std::size_t>(tables.n_classes());
  std::vector<std::int32_t> winners(found.n_rows);
  std::vector<double> votes(found.n_rows * width), out(found.n_rows * width);
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    tables.look_up(found, ballot, n_voters, which, pool, winners.data(), votes.data(), out.data());
  }
  return nb::make_tuple(to_numpy(std::move(winners)), to_table(std::move(votes), found.n_rows, width),
                        to_table(std::move(out), found.n_rows, width));
}

std::optional<PooledLeaves> pool_leaves(const VoteTables& votes, const LeafTables& tables, const Ballot& ballot) {
  if (!same_leaves(votes, tables) || !same_leaves(ballot, tables))
    throw nb::value_error("the vote tables, the tables or the ballot belong to another forest");
  nb::gil_scoped_release release;
  return PooledLeaves::of(votes, tables, ballot);
}

Tuple<Array<double>, Array<double>> look_up_pooled(const PooledLeaves& leaves, const ForestRouter& router,
                                                   const FloatMatrix& array, const Ballot& ballot, int n_threads) {
  const Matrix matrix = as_matrix(array);
  check_width(router, matrix);
  check_trees(router, leaves, "the leaves belong to another forest");
  check_trees(router, ballot, "the ballot belongs to another forest");
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  std::vector<double> out(n * leaves.n_classes()), averages(n * leaves.n_columns());
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n < 64 ? 1 : n_threads);
    leaves.look_up(router, matrix, ballot, pool, out.data(), averages.data());
  }
  return nb::make_tuple(to_table(std::move(out), n, leaves.n_classes()),
                        to_table(std::move(averages), n, leaves.n_columns()));
}

VoteTables sum_of_tables(const VoteTables& tables, const VoteTables& more, double scale, int n_threads) {
  if (tables.n_classes() != more.n_classes() || !same_leaves(tables, more))
    throw nb::value_error("the vote tables belong to different forests");
  nb::gil_scoped_release release;
  ThreadPool pool(n_threads);
  return tables.plus(more, scale, pool);
}

}  // namespace

void bind_vote_tables(nb::module_& m) {
  nb::enum_<VoteTables::Rows>(m, "VoteRows")
      .value("winner", VoteTables::Rows::winner)
      .value("shared", VoteTables::Rows::shared);
  nb::class_<VoteTables>(m, "VoteTables", "MOB-ESP's leaf matrices.")
      .def(nb::new_(&make_vote_tables), "members"_a, "winners"_a, "labels"_a, "weights"_a.none(), "n_classes"_a, "distinct"_a,
           "oob_weight"_a, "n_threads"_a, "mixed"_a = true)
      .def_static("from_state", &vote_tables_from_state, "state"_a, "mixed"_a = true)
      .def_static("joined", &joined_tables, "tables"_a, "oob_weight"_a)
      .def("state", &vote_tables_state, "Everything as arrays by name.")
      .def("plus", &sum_of_tables, "more"_a, "scale"_a = 1.0, "n_threads"_a = 1,
           "The rows of two batches together: scale times these plus the others. To be mixed before it is asked.")
      .def(
          "mix", [](VoteTables& tables, double oob_weight) { tables.mix(oob_weight); }, "oob_weight"_a)
      .def("out_of_bag", &vote_tables_out_of_bag, "members"_a, "winners"_a, "votes"_a, "which"_a, "labels"_a,
           "weights"_a.none(), "rows"_a.none(), "n_threads"_a)
      .def("look_up", &look_up, "router"_a, "matrix"_a, "ballot"_a, "n_voters"_a, "which"_a, "averaged"_a.none(),
           "n_threads"_a)
      .def("look_up_members", &look_up_members, "found"_a, "ballot"_a, "n_voters"_a, "which"_a, "n_threads"_a);
  nb::class_<PooledLeaves>(m, "PooledLeaves", "All that a pool's components need from the leaves, one record for each.")
      .def_static("of", &pool_leaves, "votes"_a, "tables"_a, "ballot"_a,
                  "None if the records need more slots or different numbers than there are 16-bit codes.")
      .def("look_up", &look_up_pooled, "router"_a, "matrix"_a, "ballot"_a, "n_threads"_a);
}

}  // namespace petiole::bindings
