// The forest itself: trees in and out, as arrays of all trees and one by one.
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.hpp"
#include "forest/leaf_tables.hpp"
#include "forest/ordered_shares.hpp"
#include "rows.hpp"
#include "tree_fields.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

constexpr std::pair<const char*, Codes PackedTree::*> kCodes[] = {
    {"n_children", &PackedTree::n_children},           {"feature", &PackedTree::feature},
    {"missing_branch", &PackedTree::missing_branch},   {"n_categories", &PackedTree::n_categories},
    {"category_branch", &PackedTree::category_branch}, {"vote", &PackedTree::vote}};
constexpr std::pair<const char*, LeafCounts PackedTree::*> kCounts[] = {{"in_bag", &PackedTree::in_bag},
                                                                        {"out_of_bag", &PackedTree::out_of_bag},
                                                                        {"spread_weights", &PackedTree::spread_weights}};

// Of forests with oblique splits only.
constexpr std::pair<const char*, Codes PackedTree::*> kProjectionCodes[] = {
    {"n_terms", &PackedTree::n_terms}, {"projection_feature", &PackedTree::projection_feature}};

void put_projections(const Forest& forest, nb::dict& state) {
  for (const auto& [name, field] : kProjectionCodes)
    store_codes(state, name, forest, [field = field](const PackedTree& t) -> const Codes& { return t.*field; });
  store_numbers<double>(state, "projection_weight", forest,
                        [](const PackedTree& t) -> const auto& { return t.projection_weight; });
}

void take_projections(const nb::dict& state, Forest& forest) {
  const std::size_t n_trees = forest.trees.size();
  for (const auto& [name, field] : kProjectionCodes) hand_out(forest, load_codes(state, name, n_trees), field);
  hand_out(forest, load_numbers<double>(state, "projection_weight", n_trees), &PackedTree::projection_weight);
}

nb::dict to_state(const Forest& forest) {
  nb::dict state;
  state["n_classes"] = forest.n_classes;
  state["n_trees"] = forest.trees.size();
  for (const auto& [name, field] : kCodes)
    store_codes(state, name, forest, [field = field](const PackedTree& t) -> const Codes& { return t.*field; });
  store_numbers<double>(state, "threshold", forest, [](const PackedTree& t) -> const auto& { return t.threshold; });
  store_numbers<NodeId>(state, "child_nodes", forest, [](const PackedTree& t) -> const auto& { return t.child_nodes; });
  for (const auto& [name, field] : kCounts) store_counts(state, name, forest, field);
  if (is_oblique(forest)) put_projections(forest, state);
  return state;
}

Forest from_state(const nb::dict& state) {
  Forest forest;
  forest.n_classes = nb::cast<int>(state["n_classes"]);
  const auto n_trees = nb::cast<std::size_t>(state["n_trees"]);
  if (forest.n_classes < 1 || n_trees > (std::size_t{1} << 31)) throw nb::value_error("not a forest");
  forest.trees.resize(n_trees);
  for (const auto& [name, field] : kCodes) hand_out(forest, load_codes(state, name, n_trees), field);
  hand_out(forest, load_numbers<double>(state, "threshold", n_trees), &PackedTree::threshold);
  hand_out(forest, load_numbers<NodeId>(state, "child_nodes", n_trees), &PackedTree::child_nodes);
  for (const auto& [name, field] : kCounts) load_counts(state, name, forest, field);
  if (state.contains("n_terms")) take_projections(state, forest);
  check(forest);
  return forest;
}

const PackedTree& tree_at(const Forest& forest, std::size_t index) {
  if (index >= forest.trees.size()) throw nb::index_error("there is no such tree");
  return forest.trees[index];
}

nb::dict unpacked(const Forest& forest, std::size_t index) {
  const PackedTree& packed = tree_at(forest, index);
  Tree tree = unpack(packed, forest.n_classes, true);
  const std::size_t n_nodes = tree.n_nodes();
  std::vector<double> out_of_bag = node_counts(tree, packed.out_of_bag, forest.n_classes);
  std::vector<double> spread_weights = std::move(tree.spread_weights);
  nb::dict arrays = to_arrays(std::move(tree));
  arrays["oob_class_counts"] = to_numpy(std::move(out_of_bag)).attr("reshape")(n_nodes, forest.n_classes);
  if (!packed.spread_weights.n_entries().empty()) arrays["spread_weights"] = to_numpy(std::move(spread_weights));
  return arrays;
}

// The counts of a tree's out-of-bag rows at all nodes, if it comes with them.
std::vector<double> out_of_bag_counts(const nb::dict& arrays) {
  if (!arrays.contains("oob_class_counts")) return {};
  const auto counts = nb::cast<Table>(arrays["oob_class_counts"]);
  return {counts.data(), counts.data() + counts.size()};
}

Forest from_trees(const std::vector<nb::dict>& trees, int n_classes, const Vector<double>& prior) {
  Forest forest;
  forest.n_classes = n_classes;
  if (prior.shape(0) != static_cast<std::size_t>(n_classes)) throw nb::value_error("prior: must have one entry per class");
  const auto of_classes = as_vector(prior);
  for (const nb::dict& arrays : trees)
    forest.trees.push_back(pack(from_arrays(arrays), out_of_bag_counts(arrays), of_classes));
  check(forest);
  return forest;
}

LeafTables leaf_counts_of(const Forest& forest, double in_bag, double out_of_bag, double least, int n_threads) {
  nb::gil_scoped_release release;
  ThreadPool pool(n_threads);
  return tables_of_counts(forest, {in_bag, out_of_bag, least}, pool);
}

ClassOrder as_order(const Forest& forest, const std::vector<std::int8_t>& signs, int target) {
  if (target < 0 || target >= forest.n_classes) throw nb::value_error("target: must be a class of the forest");
  return {signs, target};
}

LeafTables ordered_tables_of(const Forest& forest, double in_bag, double out_of_bag, double least,
                             const std::vector<std::int8_t>& signs, int target, int n_threads) {
  const ClassOrder order = as_order(forest, signs, target);
  nb::gil_scoped_release release;
  ThreadPool pool(n_threads);
  return ordered_shares(forest, {in_bag, out_of_bag, least}, order, pool);
}

Array<double> ordered_out_of_bag_of(const Forest& forest, const Members& members, double in_bag, double out_of_bag,
                                    double least, const std::vector<std::int8_t>& signs, int target, const Labels& labels,
                                    const Weights& weights, int target_label, const Vector<std::uint8_t>& fold_of,
                                    const RowList& listed, int n_threads) {
  check_members(members, forest.trees.size());
  const ClassOrder order = as_order(forest, signs, target);
  const Rows rows(members.n_rows, labels, weights);
  const Asked asked = as_asked(members, listed);
  if (fold_of.shape(0) != members.n_rows) throw nb::value_error("fold_of: one fold per row");
  const auto folds_of = as_span(fold_of);
  const std::size_t n_folds = folds_of.empty() ? 1 : std::size_t{1} + *std::max_element(folds_of.begin(), folds_of.end());
  std::vector<double> out(asked.n);
  run_interruptible([&](Interrupt& interrupt) {
    ThreadPool pool(n_threads);
    ordered_out_of_bag(forest, members, rows.view, static_cast<ClassId>(target_label), {fold_of.data(), n_folds},
                       {in_bag, out_of_bag, least}, order, asked, pool, interrupt, out.data());
    return 0;
  });
  return to_numpy(std::move(out));
}

// Of one tree, whose leaves are in order of node id.
Array<double> ordered_shares_of(const nb::dict& arrays, const std::vector<std::int8_t>& signs, const Vector<double>& shares,
                                const Vector<double>& weights) {
  const Tree tree = from_arrays(arrays);
  if (shares.shape(0) != weights.shape(0) || shares.shape(0) != leaves_of(tree).size())
    throw nb::value_error("shares and weights: one number for each leaf");
  return to_numpy(ordered_shares(tree, signs, as_span(shares), as_span(weights)));
}

Array<double> root_counts_of(const Forest& forest, double in_bag, double out_of_bag) {
  return to_table(root_counts(forest, in_bag, out_of_bag), forest.trees.size(), static_cast<std::size_t>(forest.n_classes));
}

Array<std::int32_t> leaf_votes_of(const Forest& forest, std::size_t index) {
  return to_numpy(tree_at(forest, index).vote.widened<std::int32_t>());
}

}  // namespace

void bind_forest(nb::module_& m) {
  nb::class_<Forest>(m, "Forest", "Packed trees.")
      .def_static("from_state", &from_state, "state"_a)
      .def_static("from_trees", &from_trees, "trees"_a, "n_classes"_a, "prior"_a)
      .def_static("joined", &joined, "forests"_a)
      .def_prop_ro("n_trees", [](const Forest& forest) { return forest.trees.size(); })
      .def_prop_ro("is_oblique", &is_oblique, "Whether a split of a tree tests a sum of columns.")
      .def_prop_ro("n_classes", [](const Forest& forest) { return forest.n_classes; })
      .def("state", &to_state, "Everything as arrays by name.")
      .def("tree", &unpacked, "index"_a, "The arrays of one tree.")
      .def("root_counts", &root_counts_of, "in_bag"_a, "out_of_bag"_a, "The same at the roots, n_trees x n_classes.")
      .def("leaf_counts", &leaf_counts_of, "in_bag"_a, "out_of_bag"_a, "least"_a = 0.0, "n_threads"_a = 1,
           "Weighted sums of in-bag and out-of-bag counts at the leaves, or at the nearest ancestor of this weight.")
      .def("ordered_tables", &ordered_tables_of, "in_bag"_a, "out_of_bag"_a, "least"_a, "signs"_a, "target"_a, "n_threads"_a,
           "The shares of the other classes and of one that is monotone, or of two classes in their order.")
      .def("ordered_out_of_bag", &ordered_out_of_bag_of, "members"_a, "in_bag"_a, "out_of_bag"_a, "least"_a, "signs"_a,
           "target"_a, "labels"_a, "weights"_a.none(), "target_label"_a, "fold_of"_a, "rows"_a.none(), "n_threads"_a,
           "The monotone share for training rows by the trees that have not seen them, without the rows of their fold.")
      .def("leaf_votes", &leaf_votes_of, "index"_a);
  m.def("ordered_shares", &ordered_shares_of, "arrays"_a, "signs"_a, "shares"_a, "weights"_a,
        "The shares of a class at the leaves of a tree, made monotone.");
}

}  // namespace petiole::bindings
