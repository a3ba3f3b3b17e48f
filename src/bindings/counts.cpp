// Counts that add up: of leaves, and of leaves by vote.
#include "forest/counts.hpp"
#include "bindings.hpp"
#include "rows.hpp"
#include "tree_fields.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

ForestCounts count(const Members& members, const Labels& labels, const Weights& weights, int n_classes, bool distinct,
                   int n_threads) {
  const Rows rows(members.n_rows, labels, weights);
  require_classes(labels, n_classes);
  nb::gil_scoped_release release;
  ThreadPool pool(n_threads);
  return count_members(members, rows.view, n_classes, distinct, pool);
}

void require_alike(const ForestCounts& one, const ForestCounts& two) {
  if (!are_alike(one, two)) throw nb::value_error("the counts belong to different forests");
}

ForestCounts plus(const ForestCounts& counts, const ForestCounts& more, double scale, int n_threads) {
  require_alike(counts, more);
  nb::gil_scoped_release release;
  ThreadPool pool(n_threads);
  return counts.plus(more, scale, pool);
}

nb::dict to_state(const ForestCounts& counts) {
  nb::dict state;
  state["n_classes"] = counts.n_classes;
  state["n_trees"] = counts.trees.size();
  store_counts(state, "in_bag", counts, &ForestCounts::OfTree::in_bag);
  store_counts(state, "out_of_bag", counts, &ForestCounts::OfTree::out_of_bag);
  return state;
}

ForestCounts from_state(const nb::dict& state) {
  ForestCounts counts;
  counts.n_classes = nb::cast<int>(state["n_classes"]);
  const auto n_trees = nb::cast<std::size_t>(state["n_trees"]);
  if (counts.n_classes < 1 || n_trees > (std::size_t{1} << 31)) throw nb::value_error("not the counts of a forest");
  counts.trees.resize(n_trees);
  load_counts(state, "in_bag", counts, &ForestCounts::OfTree::in_bag);
  load_counts(state, "out_of_bag", counts, &ForestCounts::OfTree::out_of_bag);
  return counts;
}

Array<double> table(const ForestCounts& counts, std::size_t tree, bool out_of_bag) {
  if (tree >= counts.trees.size()) throw nb::index_error("there is no such tree");
  const LeafCounts& of_tree = out_of_bag ? counts.trees[tree].out_of_bag : counts.trees[tree].in_bag;
  const std::size_t n_leaves = of_tree.n_entries().size(), width = static_cast<std::size_t>(counts.n_classes);
  std::vector<double> values(n_leaves * width, 0.0);
  of_tree.add(1.0, counts.n_classes, values.data());
  return to_table(std::move(values), n_leaves, width);
}

Forest replaced(const Forest& forest, const ForestCounts& counts, const Weights& prior, int n_threads) {
  require_alike(counts_of(forest), counts);
  const std::vector<double> of_classes = prior ? as_vector(*prior) : std::vector<double>{};
  if (prior && of_classes.size() != static_cast<std::size_t>(forest.n_classes))
    throw nb::value_error("prior: must have one entry per class");
  Forest counted;
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    counted = with_counts(forest, counts, of_classes, pool);
  }
  check(counted);
  return counted;
}

}  // namespace

void bind_counts(nb::module_& m) {
  nb::class_<ForestCounts>(m, "ForestCounts", "Class counts at the leaves of every tree; counts of batches add up.")
      .def_static("of_members", &count, "members"_a, "labels"_a, "weights"_a.none(), "n_classes"_a, "distinct"_a,
                  "n_threads"_a = 1)
      .def_static("of_forest", &counts_of, "forest"_a, "The counts that a forest holds.")
      .def_static("from_state", &from_state, "state"_a)
      .def("state", &to_state, "Everything as arrays by name.")
      .def_prop_ro("n_trees", [](const ForestCounts& counts) { return counts.trees.size(); })
      .def_prop_ro("n_classes", [](const ForestCounts& counts) { return counts.n_classes; })
      .def("plus", &plus, "more"_a, "scale"_a = 1.0, "n_threads"_a = 1, "scale times these plus the others.")
      .def("out_of_bag_alone", &ForestCounts::out_of_bag_alone, "Without in-bag counts.")
      .def("table", &table, "tree"_a, "out_of_bag"_a, "The counts of one tree, leaves x classes.")
      .def(
          "placed_in",
          [](const ForestCounts& counts, const Forest& forest, const Weights& prior, int n_threads) {
            return replaced(forest, counts, prior, n_threads);
          },
          "forest"_a, "prior"_a.none(), "n_threads"_a = 1,
          "The same trees with these counts; with a prior leaves vote anew.");
}

}  // namespace petiole::bindings
