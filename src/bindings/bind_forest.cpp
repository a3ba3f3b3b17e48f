#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "bindings.hpp"
#include "estimate/log_pool.hpp"
#include "tree_fields.hpp"
#include "votes/tables.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

using Labels = Vector<std::int32_t>;
using Weights = std::optional<Vector<double>>;

constexpr std::pair<const char*, Codes PackedTree::*> kCodes[] = {
    {"n_children", &PackedTree::n_children},         {"feature", &PackedTree::feature},
    {"missing_branch", &PackedTree::missing_branch}, {"n_categories", &PackedTree::n_categories},
    {"category_branch", &PackedTree::category_branch}, {"vote", &PackedTree::vote}};
constexpr std::pair<const char*, LeafCounts PackedTree::*> kCounts[] = {
    {"in_bag", &PackedTree::in_bag}, {"out_of_bag", &PackedTree::out_of_bag}, {"spread_weights", &PackedTree::spread_weights}};

nb::dict to_state(const Forest& forest) {
  nb::dict state;
  state["n_classes"] = forest.n_classes;
  state["n_trees"] = forest.trees.size();
  for (const auto& [name, field] : kCodes)
    join_codes(state, name, forest, [field = field](const PackedTree& t) -> const Codes& { return t.*field; });
  join_numbers<double>(state, "threshold", forest, [](const PackedTree& t) -> const auto& { return t.threshold; });
  join_numbers<NodeId>(state, "child_nodes", forest, [](const PackedTree& t) -> const auto& { return t.child_nodes; });
  for (const auto& [name, field] : kCounts) join_counts(state, name, forest, field);
  return state;
}

Forest from_state(const nb::dict& state) {
  Forest forest;
  forest.n_classes = nb::cast<int>(state["n_classes"]);
  const auto n_trees = nb::cast<std::size_t>(state["n_trees"]);
  if (forest.n_classes < 1 || n_trees > (std::size_t{1} << 31)) throw nb::value_error("not a forest");
  forest.trees.resize(n_trees);
  for (const auto& [name, field] : kCodes) {
    auto codes = split_codes(state, name, n_trees);
    for (std::size_t t = 0; t < n_trees; ++t) forest.trees[t].*field = std::move(codes[t]);
  }
  auto thresholds = split_numbers<double>(state, "threshold", n_trees);
  auto children = split_numbers<NodeId>(state, "child_nodes", n_trees);
  for (std::size_t t = 0; t < n_trees; ++t) {
    forest.trees[t].threshold = std::move(thresholds[t]);
    forest.trees[t].child_nodes = std::move(children[t]);
  }
  for (const auto& [name, field] : kCounts) split_counts(state, name, forest, field);
  check(forest);
  return forest;
}

// ---- Trees in and out.

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

Forest from_trees(const std::vector<nb::dict>& trees, int n_classes, const Vector<double>& prior) {
  Forest forest;
  forest.n_classes = n_classes;
  if (prior.shape(0) != static_cast<std::size_t>(n_classes)) throw nb::value_error("prior: must have one entry per class");
  const auto of_classes = as_vector(prior);
  for (const nb::dict& arrays : trees) {
    std::vector<double> out_of_bag;
    if (arrays.contains("oob_class_counts")) {
      const auto counts = nb::cast<Table>(arrays["oob_class_counts"]);
      out_of_bag.assign(counts.data(), counts.data() + counts.size());
    }
    forest.trees.push_back(pack(from_arrays(arrays), out_of_bag, of_classes));
  }
  check(forest);
  return forest;
}

Forest joined(const std::vector<const Forest*>& forests) {
  Forest all;
  for (const Forest* forest : forests) {
    all.n_classes = forest->n_classes;
    all.trees.insert(all.trees.end(), forest->trees.begin(), forest->trees.end());
  }
  return all;
}

std::vector<std::size_t> leaves_per_tree(const Forest& forest) {
  std::vector<std::size_t> n_leaves;
  for (const PackedTree& tree : forest.trees) n_leaves.push_back(tree.vote.size());
  return n_leaves;
}

LeafTables tables_of_counts(const Forest& forest, double in_bag, double out_of_bag, double least, int n_threads) {
  const auto width = static_cast<std::size_t>(forest.n_classes);
  LeafTables tables = LeafTables::unset(width, leaves_per_tree(forest));
  nb::gil_scoped_release release;
  ThreadPool pool(n_threads);
  std::vector<std::vector<CountedLeaves>> counted(forest.trees.size());
  std::vector<std::vector<double>> rooms(static_cast<std::size_t>(pool.n_threads()));
  pool.run(static_cast<int>(forest.trees.size()), [&](int thread, int item) {
    const auto t = static_cast<std::size_t>(item);
    const CountedRows rows{in_bag, out_of_bag, least};
    if (tables.set_own_counts(t, forest.trees[t], rows)) return;
    std::vector<double>& table = rooms[static_cast<std::size_t>(thread)];
    table.assign(tables.n_leaves(t) * width, 0.0);
    counted[t] = leaf_counts(forest.trees[t], forest.n_classes, rows, table.data());
    tables.set(t, table.data());
  });
  const bool all_own = std::all_of(counted.begin(), counted.end(), [](const auto& of_tree) { return of_tree.empty(); });
  if (!all_own) tables.set_counted(std::move(counted));
  return tables;
}

nb::object root_counts(const Forest& forest, double in_bag, double out_of_bag) {
  const auto width = static_cast<std::size_t>(forest.n_classes);
  std::vector<double> roots;
  for (const PackedTree& tree : forest.trees) {
    std::vector<double> sums(width, 0.0);
    tree.in_bag.add_up(in_bag, sums.data());
    tree.out_of_bag.add_up(out_of_bag, sums.data());
    roots.insert(roots.end(), sums.begin(), sums.end());
  }
  return to_table(std::move(roots), forest.trees.size(), width);
}

LeafTables as_tables(const std::vector<Table>& arrays, std::size_t n_columns) {
  std::vector<std::size_t> n_leaves;
  for (const Table& array : arrays) {
    if (array.shape(1) != n_columns) throw nb::value_error("all tables must have as many columns");
    n_leaves.push_back(array.shape(0));
  }
  LeafTables tables = LeafTables::unset(n_columns, n_leaves);
  for (std::size_t t = 0; t < arrays.size(); ++t) tables.set(t, arrays[t].data());
  return tables;
}

nb::object table_of(const LeafTables& tables, std::size_t tree) {
  if (tree >= tables.n_trees()) throw nb::index_error("there is no such tree");
  return to_numpy(tables.table(tree)).attr("reshape")(tables.n_leaves(tree), tables.n_columns());
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

// ---- Growing.

nb::tuple as_tuple(GrownForest&& grown, bool keep_members) {
  nb::object members = keep_members ? nb::cast(std::move(grown.members)) : nb::none();
  return nb::make_tuple(nb::cast(std::move(grown.forest)), members);
}

nb::tuple grow(const FloatMatrix& matrix, const Labels& labels, const Weights& weights, const Vector<std::int32_t>& n_categories,
               int n_trees, const CodingOptions& coding, const GrowOptions& options, const ForestOptions& forest,
               int n_classes, int n_threads) {
  Dataset dataset = as_dataset(matrix, labels, weights, n_classes);
  const auto categories = as_vector(n_categories);
  return as_tuple(run_interruptible([&](Interrupt& interrupt) {
                    ThreadPool pool(n_threads);
                    code_columns(dataset, categories, coding, pool, interrupt);
                    return grow_forest(dataset, n_trees, options, forest, pool, interrupt);
                  }),
                  forest.keep_members);
}

nb::tuple count(const FloatMatrix& matrix, const Labels& labels, const Weights& weights, const std::vector<nb::dict>& arrays,
                std::uint64_t seed, const ForestOptions& forest, int n_classes, int n_threads) {
  const Dataset dataset = as_dataset(matrix, labels, weights, n_classes);
  std::vector<Tree> trees;
  for (const nb::dict& tree : arrays) trees.push_back(from_arrays(tree));
  return as_tuple(run_interruptible([&](Interrupt& interrupt) {
                    ThreadPool pool(n_threads);
                    return count_forest(dataset, trees, seed, forest, pool, interrupt);
                  }),
                  forest.keep_members);
}

nb::object draw_sample(Bootstrap bootstrap, const Labels& labels, int n_classes, std::uint64_t seed, std::uint64_t index) {
  const std::vector<ClassId> classes(labels.data(), labels.data() + labels.shape(0));
  std::vector<std::uint32_t> copies;
  Sampler(bootstrap, classes, n_classes).draw(sample_key(seed, index), copies);
  return to_numpy(std::move(copies));
}

// ---- Predicting.

void check_width(const ForestRouter& router, const Matrix& matrix) {
  if (matrix.n_columns < router.n_features_needed())
    throw nb::value_error("the matrix has fewer columns than the trees test");
}

template <class Known>
void check_trees(const ForestRouter& router, const Known& known, const char* what) {
  if (known.n_trees() != router.n_trees()) throw nb::value_error(what);
  for (std::size_t t = 0; t < router.n_trees(); ++t)
    if (known.n_leaves(t) != router.n_leaves(t)) throw nb::value_error(what);
}

nb::tuple average(const ForestRouter& router, const FloatMatrix& array, const LeafTables& tables, const Members* members,
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
  nb::object second = squares ? shaped(std::move(of_squares)) : nb::none();
  return nb::make_tuple(shaped(std::move(out)), second, to_numpy(std::move(n_used)));
}

nb::object apply(const ForestRouter& router, const FloatMatrix& array, int n_threads) {
  const Matrix matrix = as_matrix(array);
  check_width(router, matrix);
  std::vector<std::int32_t> leaves(static_cast<std::size_t>(matrix.n_rows) * router.n_trees());
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    router.apply(matrix, pool, leaves.data());
  }
  return to_numpy(std::move(leaves)).attr("reshape")(matrix.n_rows, router.n_trees());
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

// leaves: n_rows x n_trees indices of leaves; copies the same, or none: out of bag everywhere.
Members members_of(const nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>& leaves,
                   const std::optional<nb::ndarray<const std::uint16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>>& copies,
                   const std::vector<std::int32_t>& n_leaves) {
  Members members;
  members.n_rows = leaves.shape(0);
  const std::size_t n_trees = leaves.shape(1);
  if (n_leaves.size() != n_trees) throw nb::value_error("n_leaves: must have one entry per tree");
  if (copies && (copies->shape(0) != members.n_rows || copies->shape(1) != n_trees))
    throw nb::value_error("copies: must have the shape of leaves");
  members.trees.resize(n_trees);
  for (std::size_t t = 0; t < n_trees; ++t) {
    Members::OfTree& tree = members.trees[t];
    tree.n_leaves = n_leaves[t];
    tree.reach.reset(members.n_rows);
    tree.copies.assign(members.n_rows, 0);
    for (std::size_t row = 0; row < members.n_rows; ++row) {
      const std::int32_t leaf = leaves.data()[row * n_trees + t];
      if (leaf < 0 || leaf >= tree.n_leaves) throw nb::value_error("leaves: there is no such leaf");
      tree.reach.leaves()[row] = leaf;
      if (copies) tree.copies[row] = copies->data()[row * n_trees + t];
    }
  }
  return members;
}

// Members of existing trees with the samples that were drawn for them.
void set_copies(Members& members, std::size_t tree, const Vector<std::uint32_t>& copies) {
  if (tree >= members.trees.size() || copies.shape(0) != members.n_rows) throw nb::value_error("no such tree, or other rows");
  auto& to = members.trees[tree].copies;
  to.clear();
  for (std::size_t row = 0; row < members.n_rows; ++row)
    to.push_back(static_cast<std::uint16_t>(std::min<std::uint32_t>(copies.data()[row], 65535)));
}

void append_members(Members& members, Members& more) {
  if (members.n_rows != more.n_rows) throw nb::value_error("members of other rows");
  for (auto& tree : more.trees) members.trees.push_back(std::move(tree));
  more.trees.clear();
}

Ballot make_ballot(const Forest& forest, const Vector<double>& prior, int n_threads) {
  std::vector<double> of_classes = as_vector(prior);
  nb::gil_scoped_release release;
  ThreadPool pool(n_threads);
  std::vector<std::vector<ClassId>> votes;
  for (const PackedTree& tree : forest.trees) {
    votes.emplace_back(tree.vote.size());
    for (std::size_t leaf = 0; leaf < tree.vote.size(); ++leaf) votes.back()[leaf] = static_cast<ClassId>(tree.vote.at(leaf));
  }
  return Ballot(std::move(votes), LeafFrequencies(forest, pool), std::move(of_classes));
}

Ballot ballot_of(const std::vector<Vector<std::int32_t>>& votes, const LeafTables& frequencies, const Vector<double>& prior) {
  std::vector<std::vector<ClassId>> of_trees;
  for (const auto& array : votes) of_trees.emplace_back(array.data(), array.data() + array.shape(0));
  return Ballot(std::move(of_trees), LeafFrequencies(frequencies), as_vector(prior));
}

// ---- Out of bag.

using RowList = std::optional<Vector<std::uint32_t>>;

Asked as_asked(const Members& members, const RowList& rows) {
  if (!rows) return {nullptr, members.n_rows};
  for (std::size_t i = 0; i < rows->shape(0); ++i)
    if (rows->data()[i] >= members.n_rows) throw nb::value_error("there is no such row");
  return {rows->data(), rows->shape(0)};
}

struct Rows {
  std::vector<ClassId> labels;
  TrainingRows view;
  Rows(const Members& members, const Labels& given, const Weights& weights) : labels(given.data(), given.data() + given.shape(0)) {
    if (labels.size() != members.n_rows || (weights && weights->shape(0) != labels.size()))
      throw nb::value_error("one label and weight per row");
    view = {labels.data(), weights ? weights->data() : nullptr};
  }
};

void check_members(const Members& members, std::size_t n_trees) {
  if (members.trees.size() != n_trees) throw nb::value_error("the members belong to another forest");
}

nb::tuple oob_votes(const Members& members, const Ballot& ballot, int n_threads) {
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

nb::object oob_average(const Members& members, const LeafTables& tables, const RowList& listed, int n_threads) {
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

nb::object oob_frequencies(const Members& members, const LeafTables& counts, double oob_weight,
                           const Labels& labels, const Weights& weights, const RowList& listed, int n_threads) {
  check_members(members, counts.n_trees());
  const Rows rows(members, labels, weights);
  const Asked asked = as_asked(members, listed);
  std::vector<double> out(asked.n * counts.n_columns());
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    out_of_bag_frequencies(members, counts, oob_weight, rows.view, asked, pool, out.data());
  }
  return to_table(std::move(out), asked.n, counts.n_columns());
}

// ---- MOB-ESP.

VoteTables make_vote_tables(const Members& members, const Labels& winners, const Labels& labels, const Weights& weights,
                            int n_classes, bool distinct, double oob_weight, int n_threads, bool mixed) {
  const Rows rows(members, labels, weights);
  if (winners.shape(0) != members.n_rows) throw nb::value_error("winners: must have one entry per row");
  nb::gil_scoped_release release;
  ThreadPool pool(n_threads);
  VoteTables tables(members, winners.data(), rows.view, n_classes, distinct, pool);
  if (mixed) tables.mix(oob_weight, pool);
  return tables;
}

nb::object vote_tables_out_of_bag(const VoteTables& tables, const Members& members, const Labels& winners, const Table& votes,
                                  VoteTables::Rows which, const Labels& labels, const Weights& weights, const RowList& listed,
                                  int n_threads) {
  check_members(members, tables.trees().size());
  const Rows rows(members, labels, weights);
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

nb::tuple look_up(const VoteTables& tables, const ForestRouter& router, const FloatMatrix& array, const Ballot& ballot,
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

nb::tuple look_up_members(const VoteTables& tables, const Members& found, const Ballot& ballot, std::size_t n_voters,
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

// ---- Vote tables as arrays, and back.

template <class T>
nb::object narrow(const std::vector<T>& values) {
  std::uint64_t largest = 0;
  for (const T value : values) largest = std::max(largest, static_cast<std::uint64_t>(value));
  return codes_to_numpy(std::vector<std::uint32_t>(values.begin(), values.end()), largest < 256 ? 1 : largest < 65536 ? 2 : 4);
}

// Whole numbers in the narrowest type, other weights as they are.
nb::object narrow_weights(std::vector<double>&& weights) {
  for (const double weight : weights)
    if (weight < 0 || weight > 4294967295.0 || weight != std::floor(weight)) return to_numpy(std::move(weights));
  return narrow(weights);
}

nb::dict vote_tables_state(const VoteTables& tables) {
  std::vector<std::uint32_t> n_leaves, rows_per_leaf, row_vote, entries_per_row, entry_class;
  std::vector<double> in_bag, out_of_bag;
  const auto append_sizes = [](const std::vector<std::int32_t>& start, std::vector<std::uint32_t>& sizes) {
    for (std::size_t i = 0; i + 1 < start.size(); ++i) sizes.push_back(static_cast<std::uint32_t>(start[i + 1] - start[i]));
  };
  for (const VoteTables::OfTree& tree : tables.trees()) {
    n_leaves.push_back(static_cast<std::uint32_t>(tree.row_start.size() - 1));
    append_sizes(tree.row_start, rows_per_leaf);
    append_sizes(tree.entry_start, entries_per_row);
    row_vote.insert(row_vote.end(), tree.row_vote.begin(), tree.row_vote.end());
    entry_class.insert(entry_class.end(), tree.entry_class.begin(), tree.entry_class.end());
    in_bag.insert(in_bag.end(), tree.in_bag.begin(), tree.in_bag.end());
    out_of_bag.insert(out_of_bag.end(), tree.out_of_bag.begin(), tree.out_of_bag.end());
  }
  nb::dict state;
  state["n_classes"] = tables.n_classes();
  state["n_leaves"] = to_numpy(std::move(n_leaves));
  state["rows_per_leaf"] = narrow(rows_per_leaf);
  state["row_vote"] = narrow(row_vote);
  state["entries_per_row"] = narrow(entries_per_row);
  state["entry_class"] = narrow(entry_class);
  state["in_bag"] = narrow_weights(std::move(in_bag));
  state["out_of_bag"] = narrow_weights(std::move(out_of_bag));
  return state;
}

template <class To>
std::vector<To> widened(const nb::dict& state, const char* name) {
  std::vector<To> values;
  const auto take = [&]<class T>(Vector<T> array) {
    if (!nb::try_cast(state[name], array, false)) return false;
    for (std::size_t i = 0; i < array.shape(0); ++i) values.push_back(static_cast<To>(array.data()[i]));
    return true;
  };
  if (take(Vector<std::uint8_t>()) || take(Vector<std::uint16_t>()) || take(Vector<std::uint32_t>())) return values;
  if (std::is_same_v<To, double> && take(Vector<double>())) return values;
  throw nb::value_error((std::string(name) + ": wrong type of array").c_str());
}

VoteTables vote_tables_from_state(const nb::dict& state, bool mixed) {
  const int n_classes = nb::cast<int>(state["n_classes"]);
  const auto n_leaves = widened<std::uint32_t>(state, "n_leaves"), rows_per_leaf = widened<std::uint32_t>(state, "rows_per_leaf");
  const auto row_vote = widened<std::uint32_t>(state, "row_vote"), entries_per_row = widened<std::uint32_t>(state, "entries_per_row");
  const auto entry_class = widened<std::uint32_t>(state, "entry_class");
  const auto in_bag = widened<double>(state, "in_bag"), out_of_bag = widened<double>(state, "out_of_bag");
  const auto require = [](bool ok) {
    if (!ok) throw nb::value_error("the arrays of vote tables do not fit together");
  };
  require(n_classes > 0 && row_vote.size() == entries_per_row.size());
  require(in_bag.size() == entry_class.size() && out_of_bag.size() == entry_class.size());
  std::vector<VoteTables::OfTree> trees(n_leaves.size());
  std::size_t leaf = 0, row = 0, entry = 0;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    VoteTables::OfTree& tree = trees[t];
    require(n_leaves[t] <= rows_per_leaf.size() - leaf);
    for (std::uint32_t l = 0; l < n_leaves[t]; ++l, ++leaf) {
      require(rows_per_leaf[leaf] <= row_vote.size() - row);
      for (std::uint32_t r = 0; r < rows_per_leaf[leaf]; ++r, ++row) {
        require(row_vote[row] < static_cast<std::uint32_t>(n_classes) && entries_per_row[row] <= entry_class.size() - entry);
        tree.row_vote.push_back(static_cast<ClassId>(row_vote[row]));
        for (std::uint32_t e = 0; e < entries_per_row[row]; ++e, ++entry) {
          require(entry_class[entry] < static_cast<std::uint32_t>(n_classes) && in_bag[entry] >= 0 && out_of_bag[entry] >= 0);
          tree.entry_class.push_back(static_cast<ClassId>(entry_class[entry]));
          tree.in_bag.push_back(in_bag[entry]);
          tree.out_of_bag.push_back(out_of_bag[entry]);
        }
        tree.entry_start.push_back(static_cast<std::int32_t>(tree.entry_class.size()));
      }
      tree.row_start.push_back(static_cast<std::int32_t>(tree.row_vote.size()));
    }
  }
  require(leaf == rows_per_leaf.size() && row == row_vote.size() && entry == entry_class.size());
  VoteTables tables(n_classes, std::move(trees));
  if (mixed) tables.mix(1.0);
  return tables;
}

VoteTables joined_vote_tables(const std::vector<const VoteTables*>& parts, double oob_weight) {
  std::vector<VoteTables::OfTree> trees;
  for (const VoteTables* part : parts) trees.insert(trees.end(), part->trees().begin(), part->trees().end());
  VoteTables all(parts.at(0)->n_classes(), std::move(trees));
  all.mix(oob_weight);
  return all;
}

VoteTables sum_of_vote_tables(const VoteTables& tables, const VoteTables& more, double scale, int n_threads) {
  bool alike = tables.n_classes() == more.n_classes() && tables.n_trees() == more.n_trees();
  for (std::size_t t = 0; alike && t < tables.n_trees(); ++t) alike = tables.n_leaves(t) == more.n_leaves(t);
  if (!alike) throw nb::value_error("the vote tables belong to different forests");
  nb::gil_scoped_release release;
  ThreadPool pool(n_threads);
  return tables.plus(more, scale, pool);
}

nb::tuple evaluate_pool(const nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>& logs, const Labels& labels,
                        const Weights& row_weights, const Table& weights, const Vector<double>& intercepts, int n_threads) {
  const LogComponents components{logs.data(), logs.shape(0), logs.shape(1), logs.shape(2)};
  const std::vector<ClassId> classes(labels.data(), labels.data() + labels.shape(0));
  const bool fits = classes.size() == components.n_rows && weights.shape(0) == components.n_components &&
                    weights.shape(1) == components.n_classes && intercepts.shape(0) == components.n_classes &&
                    (!row_weights || row_weights->shape(0) == classes.size());
  if (!fits) throw nb::value_error("the arrays of the pool do not fit together");
  std::vector<double> weight_slopes(weights.size(), 0.0), intercept_slopes(components.n_classes, 0.0);
  double loss = 0;
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    loss = pool_loss(components, {classes.data(), row_weights ? row_weights->data() : nullptr}, weights.data(),
                     intercepts.data(), pool, weight_slopes.data(), intercept_slopes.data());
  }
  return nb::make_tuple(loss, to_table(std::move(weight_slopes), components.n_components, components.n_classes),
                        to_numpy(std::move(intercept_slopes)));
}

}  // namespace

void bind_forest(nb::module_& m) {
  nb::enum_<Bootstrap>(m, "Bootstrap")
      .value("none", Bootstrap::none)
      .value("plain", Bootstrap::plain)
      .value("stratified", Bootstrap::stratified);
  nb::enum_<VoteTables::Rows>(m, "VoteRows")
      .value("winner", VoteTables::Rows::winner)
      .value("shared", VoteTables::Rows::shared);
  nb::class_<ForestOptions>(m, "ForestOptions")
      .def(nb::init<>())
      .def_rw("bootstrap", &ForestOptions::bootstrap)
      .def_rw("distinct", &ForestOptions::distinct)
      .def_rw("keep_members", &ForestOptions::keep_members)
      .def_rw("first_tree", &ForestOptions::first_tree);
  nb::class_<Members>(m, "Members", "Where training rows are in each tree, and how often they are in its sample.")
      .def(nb::new_(&members_of), "leaves"_a, "copies"_a.none(), "n_leaves"_a)
      .def_prop_ro("n_rows", [](const Members& members) { return members.n_rows; })
      .def_prop_ro("n_trees", [](const Members& members) { return members.trees.size(); })
      .def("set_copies", &set_copies, "tree"_a, "copies"_a)
      .def("append", &append_members, "more"_a, "Takes the trees of the other object, which is empty afterwards.");
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
      .def_static("side_by_side", [](const std::vector<const LeafTables*>& parts) { return LeafTables::side_by_side(parts); },
                  "tables"_a);
  nb::class_<Forest>(m, "Forest", "Packed trees.")
      .def_static("from_state", &from_state, "state"_a)
      .def_static("from_trees", &from_trees, "trees"_a, "n_classes"_a, "prior"_a)
      .def_static("joined", &joined, "forests"_a)
      .def_prop_ro("n_trees", [](const Forest& forest) { return forest.trees.size(); })
      .def_prop_ro("n_classes", [](const Forest& forest) { return forest.n_classes; })
      .def("state", &to_state, "Everything as arrays by name.")
      .def("tree", &unpacked, "index"_a, "The arrays of one tree.")
      .def("root_counts", &root_counts, "in_bag"_a, "out_of_bag"_a, "The same at the roots, n_trees x n_classes.")
      .def("leaf_counts", &tables_of_counts, "in_bag"_a, "out_of_bag"_a, "least"_a = 0.0, "n_threads"_a = 1,
           "Weighted sums of in-bag and out-of-bag counts at the leaves, or at the nearest ancestor of this weight.")
      .def("leaf_votes", [](const Forest& forest, std::size_t index) {
        const Codes& votes = tree_at(forest, index).vote;
        std::vector<std::int32_t> values;
        for (std::size_t i = 0; i < votes.size(); ++i) values.push_back(static_cast<std::int32_t>(votes.at(i)));
        return to_numpy(std::move(values));
      }, "index"_a);
  m.def("grow_forest", &grow, "matrix"_a, "labels"_a, "weights"_a.none(), "n_categories"_a, "n_trees"_a, "coding"_a,
        "options"_a, "forest"_a, "n_classes"_a, "n_threads"_a,
        "Codes the columns once and grows the trees; returns (Forest, Members or None).");
  m.def("count_forest", &count, "matrix"_a, "labels"_a, "weights"_a.none(), "trees"_a, "seed"_a, "forest"_a, "n_classes"_a,
        "n_threads"_a, "Members and counts of trees that exist; returns (Forest, Members or None).");
  m.def("draw_sample", &draw_sample, "bootstrap"_a, "labels"_a, "n_classes"_a, "seed"_a, "index"_a,
        "How often each row is in the sample of a tree; empty: all rows once.");
  nb::class_<ForestRouter>(m, "ForestRouter", "A forest laid out for walking.")
      .def(nb::new_(&make_router), "forest"_a, "n_threads"_a = 1)
      .def("average", &average, "matrix"_a, "tables"_a, "members"_a.none(), "squares"_a, "n_threads"_a,
           "Means over trees of the tables' rows, of their squares, and how many trees took part.")
      .def("apply", &apply, "matrix"_a, "n_threads"_a, "The leaf of each row in each tree.")
      .def("members", &find_members, "matrix"_a, "n_threads"_a, "Where rows are, out of bag everywhere.");
  nb::class_<Ballot>(m, "Ballot", "How the ensemble votes.")
      .def(nb::new_(&make_ballot), "forest"_a, "prior"_a, "n_threads"_a = 1)
      .def_static("of_leaves", &ballot_of, "votes"_a, "frequencies"_a, "prior"_a);
  m.def("out_of_bag_votes", &oob_votes, "members"_a, "ballot"_a, "n_threads"_a);
  m.def("out_of_bag_average", &oob_average, "members"_a, "tables"_a, "rows"_a.none(), "n_threads"_a,
        "Means over the trees that have not seen a row, for the rows listed or for all.");
  m.def("out_of_bag_frequencies", &oob_frequencies, "members"_a, "counts"_a, "oob_weight"_a, "labels"_a,
        "weights"_a.none(), "rows"_a.none(), "n_threads"_a);
  m.def("pool_loss", &evaluate_pool, "logs"_a, "labels"_a, "row_weights"_a.none(), "weights"_a, "intercepts"_a, "n_threads"_a,
        "Log-loss in nats of a logarithmic pool, and its slopes by the weights and the intercepts.");
  nb::class_<VoteTables>(m, "VoteTables", "MOB-ESP's leaf matrices.")
      .def(nb::new_(&make_vote_tables), "members"_a, "winners"_a, "labels"_a, "weights"_a.none(), "n_classes"_a, "distinct"_a,
           "oob_weight"_a, "n_threads"_a, "mixed"_a = true)
      .def_static("from_state", &vote_tables_from_state, "state"_a, "mixed"_a = true)
      .def_static("joined", &joined_vote_tables, "tables"_a, "oob_weight"_a)
      .def("state", &vote_tables_state, "Everything as arrays by name.")
      .def("plus", &sum_of_vote_tables, "more"_a, "scale"_a = 1.0, "n_threads"_a = 1,
           "The rows of two batches together: scale times these plus the others. To be mixed before it is asked.")
      .def("mix", [](VoteTables& tables, double oob_weight) { tables.mix(oob_weight); }, "oob_weight"_a)
      .def("out_of_bag", &vote_tables_out_of_bag, "members"_a, "winners"_a, "votes"_a, "which"_a, "labels"_a,
           "weights"_a.none(), "rows"_a.none(), "n_threads"_a)
      .def("look_up", &look_up, "router"_a, "matrix"_a, "ballot"_a, "n_voters"_a, "which"_a, "averaged"_a.none(), "n_threads"_a)
      .def("look_up_members", &look_up_members, "found"_a, "ballot"_a, "n_voters"_a, "which"_a, "n_threads"_a);
}

}  // namespace petiole::bindings
