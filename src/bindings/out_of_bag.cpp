// Predictions of a forest for training rows, each row only by trees that were grown without it.
#include "bindings.hpp"
#include "rows.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

Tuple<Array<std::int32_t>, Array<double>> oob_votes(const Members& members, const Ballot& ballot, int n_threads) {
  check_members(members, ballot.n_trees());
  std::vector<std::int32_t> winners(members.n_rows);
  std::vector<double> votes(members.n_rows * ballot.n_classes());
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    out_of_bag_votes(members, ballot, pool, winners.data(), votes.data());
  }
  return nb::make_tuple(to_numpy(std::move(winners)), to_table(std::move(votes), members.n_rows, ballot.n_classes()));
}

Array<double> oob_average(const Members& members, const LeafTables& tables, const RowList& listed, int n_threads) {
  check_members(members, tables.n_trees());
  const Asked asked = as_asked(members, listed);
  std::vector<double> out(asked.n * tables.n_columns());
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    out_of_bag_average(members, tables, asked, pool, out.data());
  }
  return to_table(std::move(out), asked.n, tables.n_columns());
}

Array<double> oob_frequencies(const Members& members, const LeafTables& counts, double oob_weight, const Labels& labels,
                              const Weights& weights, const RowList& listed, int n_threads) {
  check_members(members, counts.n_trees());
  const Rows rows(members.n_rows, labels, weights);
  const Asked asked = as_asked(members, listed);
  std::vector<double> out(asked.n * counts.n_columns());
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    out_of_bag_frequencies(members, counts, oob_weight, rows.view, asked, pool, out.data());
  }
  return to_table(std::move(out), asked.n, counts.n_columns());
}

}  // namespace

void bind_out_of_bag(nb::module_& m) {
  m.def("out_of_bag_votes", &oob_votes, "members"_a, "ballot"_a, "n_threads"_a);
  m.def("out_of_bag_average", &oob_average, "members"_a, "tables"_a, "rows"_a.none(), "n_threads"_a,
        "Means over the trees that have not seen a row, for the rows listed or for all.");
  m.def("out_of_bag_frequencies", &oob_frequencies, "members"_a, "counts"_a, "oob_weight"_a, "labels"_a, "weights"_a.none(),
        "rows"_a.none(), "n_threads"_a);
}

}  // namespace petiole::bindings
