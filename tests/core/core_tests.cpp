// The core's own tests: laws on random data of odd shapes, meant to be run under sanitizers as well (`make sanitize`).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>

#include "grow/code_block.hpp"
#include "estimate/estimate.hpp"
#include "forest/router.hpp"
#include "grow/grow.hpp"
#include "estimate/hdp.hpp"
#include "forest/leaf_tally.hpp"
#include "base/normal_cdf.hpp"
#include "forest/out_of_bag.hpp"
#include "estimate/log_pool.hpp"
#include "tree/prune.hpp"
#include "tree/route.hpp"
#include "soft/out_of_bag.hpp"
#include "soft/route.hpp"
#include "votes/tables.hpp"

#include "lazy_tests.hpp"

using namespace petiole;

namespace {

int n_failed = 0;
int n_passed = 0;

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (condition) {                                                            \
      ++n_passed;                                                               \
    } else {                                                                    \
      ++n_failed;                                                               \
      std::printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);       \
    }                                                                           \
  } while (false)

using Engine = std::mt19937_64;

int below(Engine& engine, int n) { return static_cast<int>(engine() % static_cast<std::uint64_t>(n)); }

// Random rows with ties, missing cells, nominal columns and weights; owns what the dataset points to.
struct Sample {
  std::vector<double> values;  // row-major
  std::vector<std::int32_t> n_categories;
  Dataset dataset;

  Sample(Engine& engine, int n_rows, int n_columns, int n_classes) {
    const bool with_missing = below(engine, 2) == 0, with_weights = below(engine, 3) == 0;
    values.resize(static_cast<std::size_t>(n_rows) * static_cast<std::size_t>(n_columns));
    for (int j = 0; j < n_columns; ++j) {
      const int size = 1 + below(engine, 12);
      const bool nominal = below(engine, 3) == 0, real = below(engine, 2) == 0;
      n_categories.push_back(nominal ? size : 0);
      for (int i = 0; i < n_rows; ++i) {
        double& cell = values[static_cast<std::size_t>(i * n_columns + j)];
        cell = below(engine, size);
        if (!nominal && real) cell = std::sin(static_cast<double>(below(engine, 100000)));
        if (with_missing && below(engine, 5) == 0) cell = std::nan("");
      }
    }
    for (int i = 0; i < n_rows; ++i) {
      dataset.labels.push_back(static_cast<ClassId>(below(engine, n_classes)));
      if (with_weights) dataset.weights.push_back(0.25 * (1 + below(engine, 8)));
    }
    dataset.n_classes = n_classes;
    dataset.matrix = {values.data(), false, n_rows, n_columns, n_columns, 1};
  }

  Tree grow_with(const GrowOptions& options, const CodingOptions& coding, int n_threads) {
    ThreadPool pool(n_threads);
    Interrupt interrupt;
    code_columns(dataset, n_categories, coding, pool, interrupt);
    return TreeGrower(dataset, options, pool).grow({}, options.seed, interrupt);
  }

  GrownForest forest_with(int n_trees, const GrowOptions& options, const ForestOptions& forest, int n_threads) {
    ThreadPool pool(n_threads);
    Interrupt interrupt;
    code_columns(dataset, n_categories, {}, pool, interrupt);
    return grow_forest(dataset, n_trees, options, forest, pool, interrupt);
  }

  void fill_in_missing() {
    for (double& value : values)
      if (std::isnan(value)) value = 0;
  }

  std::vector<double> class_weights() const {
    std::vector<double> sums(static_cast<std::size_t>(dataset.n_classes), 0.0);
    for (RowId row = 0; row < dataset.n_rows(); ++row) sums[dataset.labels[row]] += dataset.weight(row);
    return sums;
  }
};

GrowOptions random_options(Engine& engine, int n_classes) {
  GrowOptions options;
  options.criterion = static_cast<Criterion>(below(engine, 4));
  options.nominal_splits = static_cast<NominalSplits>(below(engine, 2));
  options.missing = static_cast<Missing>(below(engine, 2));
  options.min_samples_leaf = 1 + below(engine, 4);
  options.max_features = below(engine, 3);
  options.random_ties = below(engine, 2) == 0;
  options.seed = engine();
  if (below(engine, 4) == 0) options.max_depth = 1 + below(engine, 3);
  if (below(engine, 4) == 0)
    for (int k = 0; k < n_classes; ++k) options.class_scale.push_back(0.5 + below(engine, 4));
  return options;
}

double node_weight(const Tree& tree, std::size_t node) {
  double sum = 0;
  for (int k = 0; k < tree.n_classes; ++k)
    sum += tree.counts[node * static_cast<std::size_t>(tree.n_classes) + static_cast<std::size_t>(k)];
  return sum;
}

std::vector<double> node_weights(const Tree& tree) {
  std::vector<double> weights;
  for (std::size_t node = 0; node < tree.n_nodes(); ++node) weights.push_back(node_weight(tree, node));
  return weights;
}

void check_children_add_up(const Tree& tree) {
  bool good = true;
  for (std::size_t node = 0; node < tree.n_nodes(); ++node) {
    if (tree.feature[node] < 0) continue;
    double sum = 0;
    for (std::int32_t c = tree.child_start[node]; c < tree.child_start[node + 1]; ++c)
      sum += node_weight(tree, static_cast<std::size_t>(tree.child_nodes[static_cast<std::size_t>(c)]));
    good &= std::abs(sum - node_weight(tree, node)) < 1e-6 * (1 + sum);
  }
  CHECK(good);
}

// Sending the training rows down the tree gives the counts it was grown with, unless rows were divided very often.
void check_routing_gives_counts(const Tree& tree, const Sample& sample) {
  const Router router(tree);
  std::vector<double> counts(tree.counts.size(), 0.0);
  const auto& weights = sample.dataset.weights;
  router.count(sample.dataset.matrix, sample.dataset.labels.data(), weights.empty() ? nullptr : weights.data(),
               tree.n_classes, counts.data());
  double worst = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) worst = std::max(worst, std::abs(counts[i] - tree.counts[i]));
  CHECK(worst < 0.05 * (1 + node_weight(tree, 0)));
  ThreadPool pool(2);
  std::vector<std::int32_t> leaves(sample.dataset.labels.size());
  router.apply(sample.dataset.matrix, pool, leaves.data());
  for (const std::int32_t leaf : leaves) CHECK(tree.feature[static_cast<std::size_t>(leaf)] < 0);
  const NodeWeights found = router.traverse(sample.dataset.matrix, false);
  for (std::size_t i = 0; i + 1 < found.start.size(); ++i) {
    double sum = 0;
    for (std::int64_t at = found.start[i]; at < found.start[i + 1]; ++at) sum += found.weight[static_cast<std::size_t>(at)];
    CHECK(std::abs(sum - 1) < 1e-9);
  }
}

bool same(const Tree& a, const Tree& b) {
  return a.feature == b.feature && a.child_nodes == b.child_nodes && a.category_branch == b.category_branch &&
         a.counts == b.counts;
}

void test_random_trees() {
  Engine engine(1);
  for (int round = 0; round < 400; ++round) {
    const int n_classes = 1 + below(engine, 5);
    Sample sample(engine, 1 + below(engine, 300), 1 + below(engine, 8), n_classes);
    const GrowOptions options = random_options(engine, n_classes);
    CodingOptions coding;
    if (below(engine, 3) == 0) coding.max_bins = static_cast<std::uint32_t>(2 + below(engine, 20));
    const Tree tree = sample.grow_with(options, coding, 1);
    check_children_add_up(tree);
    check_routing_gives_counts(tree, sample);
    Interrupt interrupt;
    const PruningData data{sample.dataset.matrix, sample.dataset.labels, sample.dataset.weights};
    const Tree pruned = prune_by_error(tree, data, 0.25, 0.6744897501960817, interrupt);
    CHECK(pruned.n_nodes() <= tree.n_nodes());
    CHECK(collapse(tree).n_nodes() <= tree.n_nodes());
    check_children_add_up(pruned);
  }
}

// What leaf estimators see of a tree, with the arrays it points into.
struct CountsOf {
  std::vector<NodeId> parent, top_down;
  std::vector<std::uint8_t> is_leaf;
  NodeCounts view;

  explicit CountsOf(const Tree& tree) : parent(tree.n_nodes(), -1) {
    for (std::size_t node = 0; node < tree.n_nodes(); ++node) {
      top_down.push_back(static_cast<NodeId>(node));  // a grown tree has parents before children
      is_leaf.push_back(tree.feature[node] < 0);
      for (std::int32_t c = tree.child_start[node]; c < tree.child_start[node + 1]; ++c)
        parent[static_cast<std::size_t>(tree.child_nodes[static_cast<std::size_t>(c)])] = static_cast<NodeId>(node);
    }
    view = {parent, top_down, is_leaf, tree.counts, static_cast<std::size_t>(tree.n_classes)};
  }
};

bool rows_sum_to_one(const std::vector<double>& table, std::size_t n_classes) {
  for (std::size_t row = 0; row < table.size() / n_classes; ++row) {
    double sum = 0;
    for (std::size_t k = 0; k < n_classes; ++k) sum += table[row * n_classes + k];
    if (!(std::abs(sum - 1) < 1e-9)) return false;
  }
  return true;
}

void test_estimators() {
  Engine engine(5);
  for (int round = 0; round < 60; ++round) {
    const int n_classes = 1 + below(engine, 5);
    Sample sample(engine, 1 + below(engine, 300), 1 + below(engine, 6), n_classes);
    const Tree tree = sample.grow_with(random_options(engine, n_classes), {}, 1);
    const CountsOf counts(tree);
    const auto K = static_cast<std::size_t>(n_classes);
    const std::vector<double> alpha(tree.n_nodes(), 0.1 * below(engine, 30));
    std::vector<double> gradient(tree.n_nodes());
    CHECK(rows_sum_to_one(counts.view.frequencies(), K));
    CHECK(rows_sum_to_one(m_branch(counts.view, 4, Height::branch), K));
    CHECK(rows_sum_to_one(m_branch(counts.view, 1, Height::subtree), K));
    CHECK(rows_sum_to_one(hgs(counts.view, alpha), K));
    CHECK(rows_sum_to_one(curtail(counts.view, counts.view.frequencies(), 5), K));
    CHECK(std::isfinite(HgsLoss::leave_one_out(counts.view, Loss::log)(alpha, gradient)));
    CHECK(std::isfinite(HgsLoss::held_out(counts.view, tree.counts, Loss::squared)(alpha, gradient)));
    HdpOptions options;
    options.n_iter = 30;
    options.burn_in = 10;
    options.tying = static_cast<Tying>(round % 4);
    Interrupt interrupt;
    CHECK(rows_sum_to_one(hdp(counts.view, options, interrupt).table, K));
    std::vector<double> heavy = tree.counts;
    for (double& count : heavy) count *= std::pow(10.0, below(engine, 30));
    NodeCounts of_heavy = counts.view;
    of_heavy.counts = heavy;
    options.concentration = std::pow(10.0, below(engine, 16) - 6);
    CHECK(rows_sum_to_one(hdp(of_heavy, options, interrupt).table, K));
  }
}

void test_threads_do_not_matter() {
  Engine engine(2);
  for (int round = 0; round < 6; ++round) {
    Sample sample(engine, 20000, 6, 2 + round % 3);
    const GrowOptions options = random_options(engine, 2 + round % 3);
    CHECK(same(sample.grow_with(options, {}, 1), sample.grow_with(options, {}, 3)));
  }
}

bool near(double a, double b, double slack = 1e-9) {
  return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= slack * (1 + std::abs(b));
}

bool near(const std::vector<double>& a, const std::vector<double>& b, double slack = 1e-9) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!near(a[i], b[i], slack)) return false;
  return true;
}

bool same_structure(const Tree& a, const Tree& b) {
  bool good = a.threshold.size() == b.threshold.size();
  for (std::size_t i = 0; good && i < a.threshold.size(); ++i)
    good &= a.threshold[i] == b.threshold[i] || (std::isnan(a.threshold[i]) && std::isnan(b.threshold[i]));
  return good && a.n_classes == b.n_classes && a.feature == b.feature && a.child_start == b.child_start &&
         a.child_nodes == b.child_nodes && a.missing_branch == b.missing_branch && a.category_start == b.category_start &&
         a.category_branch == b.category_branch;
}

std::vector<double> root_counts(const Tree& tree) {
  return {tree.counts.begin(), tree.counts.begin() + tree.n_classes};
}

bool refused(const Forest& forest) {
  try {
    check(forest);
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

void check_packing(const Tree& tree) {
  const PackedTree packed = pack(tree, {}, root_counts(tree));
  const Tree again = unpack(packed, tree.n_classes, true);
  CHECK(same_structure(tree, again));
  CHECK(near(again.counts, tree.counts));
  CHECK(near(again.spread_weights, tree.spread_weights.empty() ? node_weights(tree) : tree.spread_weights));
  CHECK(unpack(packed, tree.n_classes, false).counts.empty());
  CHECK(!refused({tree.n_classes, {packed}}));
}

void test_packing() {
  Engine engine(7);
  int n_nominal = 0, n_separate = 0, n_one_leaf = 0, n_numeric = 0;
  for (int round = 0; round < 200; ++round) {
    const int n_classes = round % 10 == 0 ? 300 : 1 + below(engine, 5);  // classes that need two bytes as well
    Sample sample(engine, 1 + below(engine, 300), 1 + below(engine, 6), n_classes);
    const Tree tree = sample.grow_with(random_options(engine, n_classes), {}, 1);
    check_packing(tree);
    n_one_leaf += tree.n_nodes() == 1;
    n_nominal += !tree.category_branch.empty();
    n_numeric += tree.n_nodes() > 1 && tree.category_branch.empty();
    n_separate += std::any_of(tree.missing_branch.begin(), tree.missing_branch.end(), [](int b) { return b >= 0; });
  }
  CHECK(n_one_leaf > 0 && n_nominal > 0 && n_numeric > 0 && n_separate > 0);
  Sample categories(engine, 3000, 2, 2);
  categories.n_categories = {700, 700};  // branches that need two bytes
  for (auto& value : categories.values) value = below(engine, 700);
  check_packing(categories.grow_with({}, {}, 1));
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// x0 <= 0.5: leaf (3, 1); else a nominal split on x1 whose third category is unknown: leaves (0, 2.5) and (0, 0).
Tree small_tree() {
  Tree tree;
  tree.n_classes = 2;
  tree.feature = {0, -1, 1, -1, -1};
  tree.threshold = {0.5, kNaN, kNaN, kNaN, kNaN};
  tree.child_start = {0, 2, 2, 4, 4, 4};
  tree.child_nodes = {1, 2, 3, 4};
  tree.missing_branch = {1, -1, -1, -1, -1};
  tree.category_start = {0, 0, 0, 3, 3, 3};
  tree.category_branch = {0, 1, -1};
  tree.counts = {3, 3.5, 3, 1, 0, 2.5, 0, 2.5, 0, 0};
  return tree;
}

void test_packing_keeps_what_it_is_given() {
  Tree tree = small_tree();
  check_packing(tree);
  CHECK(pack(tree, {}, {3, 3.5}).child_nodes.empty());
  tree.spread_weights = {10, 7, 3, 1, 2};
  check_packing(tree);
  const std::vector<double> out_of_bag = {2, 3, 2, 0, 0, 3, 0, 0.25, 0, 2.75};
  const PackedTree packed = pack(tree, out_of_bag, {3, 3.5});
  CHECK(near(node_counts(tree, packed.out_of_bag, 2), out_of_bag));
  CHECK(packed.vote.size() == 3 && packed.vote.at(0) == 0 && packed.vote.at(1) == 1);
  CHECK(packed.vote.at(2) == 1);  // an empty leaf votes as its parent
  std::vector<double> sums(2, 0.5);
  packed.out_of_bag.add_up(2, sums.data());
  CHECK(near(sums, std::vector<double>{4.5, 6.5}));
  std::vector<double> of_ancestors(6);
  of_ancestors.assign(6, 0.0);
  leaf_counts(packed, 2, {1, 1, 2.7}, of_ancestors.data());
  CHECK(near(of_ancestors, std::vector<double>{5, 1, 0, 2.75, 0, 2.75}));
  of_ancestors.assign(6, 0.0);
  leaf_counts(packed, 2, {1, 1, 3}, of_ancestors.data());
  CHECK(near(of_ancestors, std::vector<double>{5, 1, 0, 5.5, 0, 5.5}));
  of_ancestors.assign(6, 0.0);
  leaf_counts(packed, 2, {1, 1, 1e9}, of_ancestors.data());
  CHECK(near(of_ancestors, std::vector<double>{5, 6.5, 5, 6.5, 5, 6.5}));

  // The same tree with its nodes in another order: ids and the leaves' order stay what they are.
  Tree other = small_tree();
  other.feature = {0, -1, -1, -1, 1};
  other.threshold = {0.5, kNaN, kNaN, kNaN, kNaN};
  other.child_start = {0, 2, 2, 2, 2, 4};
  other.child_nodes = {3, 4, 2, 1};
  other.category_start = {0, 0, 0, 0, 0, 3};
  other.counts = {3, 3.5, 0, 0, 0, 2.5, 3, 1, 0, 2.5};
  check_packing(other);
  CHECK(pack(other, {}, {3, 3.5}).child_nodes == other.child_nodes);
  const Router router(other);
  CHECK(router.n_leaves() == 3 && router.n_features_needed() == 2 && !router.only_thresholds());
  const std::vector<double> rows = {0.5, 0, 0.75, 0, 0.75, 1, kNaN, 1, 0.75, 7, kNaN, kNaN};
  std::vector<std::int32_t> leaves(6);
  ThreadPool pool(1);
  router.apply({rows.data(), false, 6, 2, 2, 1}, pool, leaves.data());
  CHECK((leaves == std::vector<std::int32_t>{3, 2, 1, 1, 2, 2}));
}

using Numbers = std::vector<std::uint32_t>;

void test_check_refuses_hostile_trees() {
  const PackedTree good = pack(small_tree(), {}, {3, 3.5});
  const auto bad = [&](auto&& spoil) {
    PackedTree tree = good;
    spoil(tree);
    return refused({2, {good, tree}});
  };
  const auto codes = [](Numbers numbers) { return to_codes(numbers); };
  const auto counts = [&](Numbers n, Numbers k, Numbers whole, std::vector<double> real) {
    return LeafCounts(to_codes(n), to_codes(k), to_codes(whole), std::move(real));
  };
  CHECK(!bad([](PackedTree&) {}));
  CHECK(bad([](PackedTree& t) { t = {}; }));
  // Children.
  CHECK(bad([&](PackedTree& t) { t.n_children = codes({2, 0, 2, 0}); }));
  CHECK(bad([&](PackedTree& t) { t.n_children = codes({2, 0, 2, 0, 0, 0}); }));
  CHECK(bad([&](PackedTree& t) { t.n_children = codes({2, 0, 3, 0, 0}); }));
  CHECK(bad([&](PackedTree& t) { t.n_children = codes({0, 2, 2, 0, 0}); }));  // adds up, but the root is a leaf
  CHECK(bad([&](PackedTree& t) { t.n_children = codes({2, 0, 0, 2, 0}); }));  // a child of its sibling's missing child
  CHECK(bad([&](PackedTree& t) { t.n_children = codes({4294967295u, 5, 0, 0, 0}); }));
  for (const std::vector<NodeId>& children : std::vector<std::vector<NodeId>>{
           {1, 2, 2, 4}, {1, 3, 2, 4}, {1, 2, 3}, {1, 2, 3, 4, 4}, {1, 2, 3, 5}, {1, 2, 3, -1}, {0, 2, 3, 4}, {1, 2, 0, 4}})
    CHECK(bad([&](PackedTree& t) { t.child_nodes = children; }));
  CHECK(bad([&](PackedTree& t) {  // a cycle of nodes 1 and 2 that the root, a leaf, does not reach
    t.n_children = codes({0, 2, 2, 0, 0});
    t.child_nodes = {2, 3, 1, 4};
  }));
  // Splits.
  CHECK(bad([&](PackedTree& t) { t.feature = codes({0}); }));
  CHECK(bad([&](PackedTree& t) { t.feature = codes({0, 1, 1}); }));
  CHECK(bad([&](PackedTree& t) { t.feature = codes({0, 4294967295u}); }));
  CHECK(bad([&](PackedTree& t) { t.threshold.pop_back(); }));
  CHECK(bad([&](PackedTree& t) { t.missing_branch = codes({3, 0}); }));
  CHECK(bad([&](PackedTree& t) { t.missing_branch = codes({0}); }));
  CHECK(bad([&](PackedTree& t) { t.n_categories = codes({0}); }));
  CHECK(bad([&](PackedTree& t) { t.n_categories = codes({0, 4}); }));
  CHECK(bad([&](PackedTree& t) { t.n_categories = codes({0, 2}); }));
  CHECK(bad([&](PackedTree& t) { t.category_branch = codes({1, 3, 0}); }));
  CHECK(bad([&](PackedTree& t) {
    t.n_children = codes({4, 0, 0, 0, 0});  // a threshold with four branches
    t.feature = codes({0});
    t.threshold = {0.5};
    t.missing_branch = t.n_categories = t.category_branch = {};
    t.in_bag = {};
    t.vote = codes({0, 0, 0, 0});
  }));
  // Leaves.
  CHECK(bad([&](PackedTree& t) { t.vote = codes({0, 1}); }));
  CHECK(bad([&](PackedTree& t) { t.vote = codes({0, 1, 1, 1}); }));
  CHECK(bad([&](PackedTree& t) { t.vote = codes({0, 1, 2}); }));
  CHECK(!bad([&](PackedTree& t) { t.in_bag = counts({2, 1, 0}, {0, 1, 1}, {3, 1, 2}, {}); }));
  for (LeafCounts PackedTree::*which : {&PackedTree::in_bag, &PackedTree::out_of_bag}) {
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1, 0}, {0, 1, 2}, {3, 1, 2}, {}); }));
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1}, {0, 1, 1}, {3, 1, 2}, {}); }));
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1, 1}, {0, 1, 1}, {3, 1, 2}, {}); }));
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1, 0}, {0, 1}, {3, 1, 2}, {}); }));
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1, 0}, {0, 1, 1}, {3, 1}, {}); }));
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1, 0}, {0, 1, 1}, {}, {3, 1}); }));
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1, 0}, {0, 1, 1}, {}, {3, 1, -0.5}); }));
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1, 0}, {0, 1, 1}, {}, {3, 1, kNaN}); }));
  }
  CHECK(!bad([&](PackedTree& t) { t.spread_weights = counts({1, 1, 0}, {0, 0}, {4, 2}, {}); }));
  CHECK(bad([&](PackedTree& t) { t.spread_weights = counts({1, 1, 0}, {0, 1}, {4, 2}, {}); }));
  CHECK(bad([&](PackedTree& t) { t.spread_weights = counts({1, 1}, {0, 0}, {4, 2}, {}); }));
  CHECK(bad([&](PackedTree& t) { t.in_bag = counts({2, 1, 0}, {0, 1, 1}, {3, 1, 2}, {1.0}); }));
  CHECK(bad([&](PackedTree& t) { t.feature = codes({0, 2147483647u}); }));
}

void test_samples() {
  Engine engine(8);
  for (int round = 0; round < 50; ++round) {
    const int n_classes = 1 + below(engine, 6);  // some of them without rows
    std::vector<ClassId> labels;
    for (int n = below(engine, 60); n >= 0; --n) labels.push_back(static_cast<ClassId>(below(engine, n_classes)));
    const std::uint64_t key = engine();
    std::vector<std::uint32_t> copies = {7}, again(1000, 9), other;
    Sampler(Bootstrap::none, labels, n_classes).draw(key, copies);
    CHECK(copies.empty());
    for (const Bootstrap kind : {Bootstrap::plain, Bootstrap::stratified}) {
      const Sampler sampler(kind, labels, n_classes);
      sampler.draw(key, copies);
      sampler.draw(key, again);
      sampler.draw(derive_key(key, 1), other);
      CHECK(copies == again);
      CHECK(copies.size() == labels.size());
      CHECK(std::accumulate(copies.begin(), copies.end(), std::size_t{0}) == labels.size());
      if (labels.size() > 30) CHECK(copies != other);
      if (kind == Bootstrap::plain) continue;
      std::vector<std::int64_t> left(static_cast<std::size_t>(n_classes), 0);
      for (std::size_t i = 0; i < labels.size(); ++i) left[labels[i]] += 1 - static_cast<std::int64_t>(copies[i]);
      CHECK(std::all_of(left.begin(), left.end(), [](std::int64_t n) { return n == 0; }));
    }
  }
  CHECK(tree_key(1, 2) != tree_key(2, 1) && tree_key(1, 2) != sample_key(1, 2) && sample_key(1, 2) != sample_key(1, 3));
}

ForestOptions random_forest_options(Engine& engine) {
  ForestOptions options;
  options.bootstrap = static_cast<Bootstrap>(below(engine, 3));
  options.distinct = below(engine, 2) == 0;
  options.keep_members = true;
  options.first_tree = static_cast<std::uint64_t>(below(engine, 3));
  return options;
}

bool same_reach(const TreeReach& a, const TreeReach& b) {
  bool good = a.n_rows() == b.n_rows();
  for (std::size_t row = 0; good && row < a.n_rows(); ++row) {
    std::vector<std::pair<LeafId, double>> of_a, of_b;
    a.visit(row, [&](LeafId leaf, double share) { of_a.emplace_back(leaf, share); });
    b.visit(row, [&](LeafId leaf, double share) { of_b.emplace_back(leaf, share); });
    std::sort(of_a.begin(), of_a.end());  // by leaf
    std::sort(of_b.begin(), of_b.end());
    good &= of_a.size() == of_b.size();
    for (std::size_t i = 0; good && i < of_a.size(); ++i)
      good &= of_a[i].first == of_b[i].first && near(of_a[i].second, of_b[i].second);
  }
  return good;
}

bool same(const PackedTree& a, const PackedTree& b, int n_classes) {
  const Tree x = unpack(a, n_classes, true), y = unpack(b, n_classes, true);
  bool good = same_structure(x, y) && x.counts == y.counts && x.spread_weights == y.spread_weights &&
              node_counts(x, a.out_of_bag, n_classes) == node_counts(y, b.out_of_bag, n_classes) &&
              a.vote.size() == b.vote.size();
  for (std::size_t i = 0; good && i < a.vote.size(); ++i) good &= a.vote.at(i) == b.vote.at(i);
  return good;
}

// Threads do not matter, nor does what a forest starts with: tree i is tree i.
void test_forests() {
  Engine engine(6);
  for (int round = 0; round < 40; ++round) {
    Sample sample(engine, 1 + below(engine, 400), 4, 3);
    const GrowOptions options = random_options(engine, 3);
    ForestOptions forest = random_forest_options(engine);
    const GrownForest grown = sample.forest_with(5, options, forest, 1), again = sample.forest_with(5, options, forest, 3);
    CHECK(!refused(grown.forest));
    CHECK(grown.forest.trees.size() == 5 && grown.members.trees.size() == 5);
    forest.first_tree += 2;
    forest.keep_members = false;
    const GrownForest later = sample.forest_with(3, options, forest, 2);
    CHECK(later.members.trees.empty());
    ThreadPool pool(2);
    for (std::size_t t = 0; t < grown.forest.trees.size(); ++t) {
      check_children_add_up(unpack(grown.forest.trees[t], 3, true));
      CHECK(same(grown.forest.trees[t], again.forest.trees[t], 3));
      CHECK(same_reach(grown.members.trees[t].reach, again.members.trees[t].reach));
      CHECK(grown.members.trees[t].copies == again.members.trees[t].copies);
      if (t >= 2) CHECK(same(grown.forest.trees[t], later.forest.trees[t - 2], 3));
    }
    if (forest.bootstrap != Bootstrap::none) continue;
    // Without samples a forest of one tree is the tree.
    Interrupt interrupt;
    const Tree alone = TreeGrower(sample.dataset, options, pool).grow({}, tree_key(options.seed, forest.first_tree), interrupt);
    CHECK(same_structure(alone, unpack(later.forest.trees[0], 3, false)));
  }
}

std::vector<double> class_sums(const LeafCounts& counts, std::size_t n_classes) {
  std::vector<double> sums(n_classes, 0.0);
  counts.add_up(1, sums.data());
  return sums;
}

// Counts of classes add up, over all trees and options; counting grown trees again gives the same forest.
void test_forest_laws() {
  Engine engine(9);
  for (int round = 0; round < 60; ++round) {
    const int n_classes = 1 + below(engine, 4);
    Sample sample(engine, 1 + below(engine, 300), 1 + below(engine, 5), n_classes);
    const GrowOptions options = random_options(engine, n_classes);
    const ForestOptions forest = random_forest_options(engine);
    const GrownForest grown = sample.forest_with(4, options, forest, 2);
    const std::vector<double> sizes = sample.class_weights();
    std::vector<Tree> trees;
    ThreadPool pool(2);
    Interrupt interrupt;
    TreeGrower grower(sample.dataset, options, pool);
    for (std::size_t t = 0; t < 4; ++t) {
      const PackedTree& tree = grown.forest.trees[t];
      const Members::OfTree& members = grown.members.trees[t];
      std::vector<double> in_bag = class_sums(tree.in_bag, sizes.size()), expected(sizes.size(), 0.0);
      const std::vector<double> out_of_bag = class_sums(tree.out_of_bag, sizes.size());
      for (RowId row = 0; row < sample.dataset.n_rows(); ++row)
        expected[sample.dataset.labels[row]] += sample.dataset.weight(row) * members.copies_of(row);
      if (forest.distinct || forest.bootstrap == Bootstrap::none) {
        for (std::size_t k = 0; k < sizes.size(); ++k) in_bag[k] += out_of_bag[k];
        CHECK(near(in_bag, sizes, 1e-6));
      } else {
        CHECK(near(in_bag, expected, 1e-6));
      }
      // However rows count in the leaves, missing values are spread as the sample with its copies is.
      CHECK(near(unpack(tree, n_classes, false).spread_weights[0], std::accumulate(expected.begin(), expected.end(), 0.0), 1e-6));
      CHECK(static_cast<std::size_t>(members.n_leaves) == tree.vote.size());
      const Numbers copies(members.copies.begin(), members.copies.end());
      trees.push_back(grower.grow(copies, tree_key(options.seed, forest.first_tree + t), interrupt));
      CHECK(same_structure(trees.back(), unpack(tree, n_classes, false)));
    }
    const GrownForest counted = count_forest(sample.dataset, trees, options.seed, forest, pool, interrupt);
    for (std::size_t t = 0; t < 4; ++t) {
      CHECK(same(counted.forest.trees[t], grown.forest.trees[t], n_classes));
      CHECK(counted.members.trees[t].copies == grown.members.trees[t].copies);
      CHECK(same_reach(counted.members.trees[t].reach, grown.members.trees[t].reach));
    }
  }
}

// Rows of single precision, one after the other or column by column, give the forest that the same numbers give in double.
void test_single_precision() {
  Engine engine(31);
  for (int round = 0; round < 40; ++round) {
    const int n_rows = 2 + below(engine, 600), n_columns = 1 + below(engine, 6), n_classes = 2 + below(engine, 45);
    Sample sample(engine, n_rows, n_columns, n_classes);
    sample.fill_in_missing();
    std::fill(sample.n_categories.begin(), sample.n_categories.end(), 0);
    std::vector<float> by_row(sample.values.begin(), sample.values.end()), by_column(by_row.size());
    for (int i = 0; i < n_rows; ++i)
      for (int j = 0; j < n_columns; ++j)
        by_column[static_cast<std::size_t>(j * n_rows + i)] = by_row[static_cast<std::size_t>(i * n_columns + j)];
    std::copy(by_row.begin(), by_row.end(), sample.values.begin());
    const GrowOptions options = random_options(engine, n_classes);
    ForestOptions forest = random_forest_options(engine);
    const GrownForest expected = sample.forest_with(3, options, forest, 1);
    const Matrix one_after_the_other{by_row.data(), true, n_rows, n_columns, n_columns, 1};
    for (const Matrix& matrix : {one_after_the_other, Matrix{by_column.data(), true, n_rows, n_columns, 1, n_rows}}) {
      sample.dataset.matrix = matrix;
      forest.keep_members = true;
      const GrownForest grown = sample.forest_with(3, options, forest, 2);
      forest.keep_members = false;
      const GrownForest unkept = sample.forest_with(3, options, forest, 1);
      for (std::size_t t = 0; t < 3; ++t) {
        CHECK(same(grown.forest.trees[t], expected.forest.trees[t], n_classes));
        CHECK(same(unkept.forest.trees[t], expected.forest.trees[t], n_classes));
        CHECK(same_reach(grown.members.trees[t].reach, expected.members.trees[t].reach));
      }
    }
  }
}

// The leaves that growing has recorded are those that routing finds.
void test_members() {
  Engine engine(10);
  int n_spread = 0;
  for (int round = 0; round < 60; ++round) {
    Sample sample(engine, 1 + below(engine, 400), 1 + below(engine, 5), 3);
    GrowOptions options = random_options(engine, 3);
    if (round % 3 == 0) sample.fill_in_missing();
    const GrownForest grown = sample.forest_with(3, options, random_forest_options(engine), 1);
    ThreadPool pool(2);
    const Members found = ForestRouter(grown.forest, pool).members(sample.dataset.matrix, pool);
    CHECK(found.n_rows == sample.dataset.n_rows() && grown.members.n_rows == found.n_rows);
    std::vector<RowId> rows(found.n_rows);
    std::iota(rows.begin(), rows.end(), RowId{0});
    for (std::size_t t = 0; t < 3; ++t) {
      const TreeReach& recorded = grown.members.trees[t].reach;
      TreeReach reach;
      reach.reset(rows.size());
      Router(unpack(grown.forest.trees[t], 3, false)).reach(sample.dataset.matrix, rows.data(), rows.size(), false, reach);
      CHECK(same_reach(recorded, reach));
      CHECK(same_reach(found.trees[t].reach, reach));
      CHECK(found.trees[t].n_leaves == grown.members.trees[t].n_leaves);
      bool good = true;
      for (const RowId row : rows) {
        double sum = 0;
        recorded.visit(row, [&](LeafId leaf, double share) {
          good &= leaf >= 0 && leaf < grown.members.trees[t].n_leaves && share > 0;
          sum += share;
        });
        good &= near(sum, 1);
        n_spread += recorded.is_spread(row);
        // Without missing values only rows that growing has not seen can be spread: by a category new to a node.
        const bool seen = grown.members.trees[t].copies_of(row) > 0;
        if (seen && (round % 3 == 0 || options.missing == Missing::separate)) good &= !recorded.is_spread(row);
      }
      CHECK(good);
    }
  }
  CHECK(n_spread > 0);
  // What a grower says of the rows of its sample, and of those outside.
  for (int round = 0; round < 20; ++round) {
    Sample sample(engine, 2 + below(engine, 400), 1 + below(engine, 5), 3);
    sample.fill_in_missing();
    const GrowOptions options = random_options(engine, 3);
    sample.grow_with(options, {}, 1);  // codes the columns
    ThreadPool pool(1);
    Interrupt interrupt;
    TreeGrower grower(sample.dataset, options, pool);
    for (const std::uint64_t key : {1, 2}) {
      Numbers copies;
      Sampler(Bootstrap::plain, sample.dataset.labels, 3).draw(key, copies);
      Placement placement;
      placement.leaf = {99};
      Tree tree = grower.grow(copies, key, interrupt, &placement);
      CHECK(tree.counts.empty());
      tree.spread_weights.assign(tree.n_nodes(), 1.0);  // rows of the sample are never spread
      std::vector<std::int32_t> leaves(copies.size());
      Router(tree).apply(sample.dataset.matrix, pool, leaves.data());
      std::vector<NodeId> placed_leaves = placement.leaf;
      std::sort(placed_leaves.begin(), placed_leaves.end());
      CHECK(placed_leaves == leaves_of(tree));
      std::size_t n_placed = 0;
      const auto check_entries = [&](const auto& entries) {
        for (std::size_t g = 0; g < placement.leaf.size(); ++g)
          for (std::uint32_t i = placement.start[g]; i < placement.start[g + 1]; ++i, ++n_placed) {
            const auto& [row, label, weight] = entries[i];
            CHECK(leaves[row] == placement.leaf[g] && label == sample.dataset.labels[row]);
            CHECK(static_cast<double>(weight) == sample.dataset.weight(row) * copies[row] && copies[row] > 0);
            CHECK(i == placement.start[g] || entries[i - 1].row < row);
          }
        CHECK(n_placed == entries.size());
      };
      if (placement.is_whole)
        check_entries(placement.whole);
      else
        check_entries(placement.real);
      CHECK(n_placed == copies.size() - static_cast<std::size_t>(std::count(copies.begin(), copies.end(), 0u)));
    }
  }
}

// Queries that try the edges: values of the training set, thresholds and their neighbours, missing and huge values.
std::vector<double> edgy_queries(Engine& engine, const Sample& sample, const std::vector<Tree>& trees, int n_rows) {
  const int n_columns = static_cast<int>(sample.n_categories.size());
  std::vector<std::vector<double>> thresholds(sample.n_categories.size(), {0.0});
  for (const Tree& tree : trees)
    for (std::size_t i = 0; i < tree.n_nodes(); ++i)
      if (!std::isnan(tree.threshold[i])) thresholds[static_cast<std::size_t>(tree.feature[i])].push_back(tree.threshold[i]);
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> rows;
  for (int i = 0; i < n_rows; ++i) {
    const bool with_missing = below(engine, 4) == 0;
    for (int j = 0; j < n_columns; ++j) {
      const auto column = static_cast<std::size_t>(j);
      const double threshold = thresholds[column][engine() % thresholds[column].size()];
      double value = sample.values[engine() % (sample.values.size() / sample.n_categories.size()) * sample.n_categories.size() + column];
      if (std::isnan(value)) value = 0;
      switch (sample.n_categories[column] > 0 ? 10 + below(engine, 4) : below(engine, 10)) {
        case 0: case 1: value = threshold; break;
        case 2: value = static_cast<double>(static_cast<float>(threshold)); break;
        case 3: value = std::nextafter(threshold, inf); break;
        case 4: value = std::nextafter(threshold, -inf); break;
        case 5: value = static_cast<double>(std::nextafter(static_cast<float>(threshold), below(engine, 2) ? 1e9f : -1e9f)); break;
        case 6: value = below(engine, 2) ? inf : -inf; break;
        case 7: value = below(engine, 2) ? 1e300 : -1e300; break;
        case 10: value = below(engine, sample.n_categories[column] + 3) - 1; break;  // some of them unknown
        default: break;
      }
      rows.push_back(with_missing && below(engine, 2) == 0 ? kNaN : value);
    }
  }
  return rows;
}

// The mean over trees of what each tree's own router says; the tables hold rows for leaves.
std::vector<double> mean_of_routers(const std::vector<Tree>& trees, const LeafTables& tables, const Matrix& queries,
                                    bool squared) {
  const std::size_t width = tables.n_columns();
  ThreadPool pool(1);
  std::vector<double> mean(static_cast<std::size_t>(queries.n_rows) * width, 0.0), of_tree(mean.size());
  for (std::size_t t = 0; t < trees.size(); ++t) {
    std::vector<double> table(trees[t].n_nodes() * width, kNaN);
    LeafId leaf = 0;
    std::vector<double> room;
    for (std::size_t i = 0; i < trees[t].n_nodes(); ++i)
      if (trees[t].feature[i] < 0) std::copy_n(tables.row(t, leaf++, room), width, table.data() + i * width);
    Router(trees[t]).average(queries, table.data(), static_cast<std::int64_t>(width), pool, of_tree.data());
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += (squared ? of_tree[i] * of_tree[i] : of_tree[i]) / static_cast<double>(trees.size());
  }
  return mean;
}

void check_averages(const ForestRouter& router, const std::vector<Tree>& trees, const LeafTables& tables,
                    const Matrix& queries) {
  ThreadPool pool(2);
  const auto n_rows = static_cast<std::size_t>(queries.n_rows);
  const std::vector<double> expected = mean_of_routers(trees, tables, queries, false);
  std::vector<double> mean(expected.size(), kNaN), again(expected.size(), kNaN), squares(expected.size(), kNaN);
  std::vector<std::int32_t> n_used(n_rows, -1);
  router.average(queries, tables, nullptr, pool, mean.data(), nullptr, nullptr);
  CHECK(near(mean, expected));
  router.average(queries, tables, nullptr, pool, again.data(), squares.data(), n_used.data());
  CHECK(near(again, expected));
  CHECK(near(squares, mean_of_routers(trees, tables, queries, true)));
  CHECK(std::all_of(n_used.begin(), n_used.end(), [&](std::int32_t n) { return n == static_cast<int>(trees.size()); }));
  std::vector<std::int32_t> leaves(n_rows * trees.size()), of_tree(n_rows);
  router.apply(queries, pool, leaves.data());
  bool good = true;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    Router(trees[t]).apply(queries, pool, of_tree.data());
    for (std::size_t i = 0; i < n_rows; ++i) good &= leaves[i * trees.size() + t] == of_tree[i];
  }
  CHECK(good);
}

void test_forest_router() {
  Engine engine(11);
  for (int round = 0; round < 40; ++round) {
    Sample sample(engine, 1 + below(engine, 500), 1 + below(engine, 5), 3);
    if (round % 2 == 0) std::fill(sample.n_categories.begin(), sample.n_categories.end(), 0);  // thresholds only
    const GrownForest grown = sample.forest_with(1 + below(engine, 40), random_options(engine, 3), random_forest_options(engine), 2);
    ThreadPool pool(2);
    const ForestRouter router(grown.forest, pool);
    std::vector<Tree> trees;
    std::vector<std::size_t> n_leaves;
    int n_features = 0;
    for (const PackedTree& tree : grown.forest.trees) {
      trees.push_back(unpack(tree, 3, true));
      n_leaves.push_back(tree.vote.size());
      n_features = std::max(n_features, Router(trees.back()).n_features_needed());
    }
    CHECK(router.n_trees() == trees.size() && router.n_features_needed() == n_features);
    LeafTables tables(2, n_leaves);
    for (std::size_t t = 0; t < trees.size(); ++t) {
      CHECK(router.n_leaves(t) == n_leaves[t] && tables.n_leaves(t) == n_leaves[t]);
      for (std::size_t i = 0; i < 2 * n_leaves[t]; ++i) tables.of_tree(t)[i] = 0.001 * below(engine, 1000);
    }
    const auto n_columns = static_cast<std::int64_t>(sample.n_categories.size());
    for (const int n : {1, 5, 40, round < 4 ? 2100 : 0}) {
      const std::vector<double> rows = edgy_queries(engine, sample, trees, n);
      std::vector<float> narrow, by_column(rows.size());
      for (const double value : rows)
        narrow.push_back(std::abs(value) > 1e38 ? static_cast<float>(std::copysign(HUGE_VAL, value)) : static_cast<float>(value));
      for (std::size_t i = 0; i < rows.size(); ++i)
        by_column[i % static_cast<std::size_t>(n_columns) * static_cast<std::size_t>(n) + i / static_cast<std::size_t>(n_columns)] = narrow[i];
      check_averages(router, trees, tables, {rows.data(), false, n, n_columns, n_columns, 1});
      check_averages(router, trees, tables, {narrow.data(), true, n, n_columns, n_columns, 1});
      check_averages(router, trees, tables, {by_column.data(), true, n, n_columns, 1, n});
    }
    // Trees that have seen a row are left out; both ways to say so agree.
    const std::size_t n_rows = sample.dataset.n_rows();
    std::vector<double> mean(2 * n_rows), unseen(2 * n_rows);
    std::vector<std::int32_t> n_used(n_rows);
    router.average(sample.dataset.matrix, tables, &grown.members, pool, mean.data(), nullptr, n_used.data());
    out_of_bag_average(grown.members, tables, {nullptr, n_rows}, pool, unseen.data());
    for (std::size_t i = 0; i < n_rows; ++i) {
      int n = 0;
      for (const auto& tree : grown.members.trees) n += tree.copies_of(i) == 0;
      CHECK(n_used[i] == n);
      if (n == 0) CHECK(std::isnan(unseen[2 * i]) && std::isnan(unseen[2 * i + 1]) && mean[2 * i] == 0 && mean[2 * i + 1] == 0);
      else CHECK(near(mean[2 * i], unseen[2 * i]) && near(mean[2 * i + 1], unseen[2 * i + 1]));
    }
  }
}

LeafTables tables_with(std::size_t n_columns, const std::vector<std::vector<double>>& of_trees) {
  std::vector<std::size_t> n_leaves;
  for (const auto& values : of_trees) n_leaves.push_back(values.size() / n_columns);
  LeafTables tables(n_columns, n_leaves);
  for (std::size_t t = 0; t < of_trees.size(); ++t) std::copy(of_trees[t].begin(), of_trees[t].end(), tables.of_tree(t));
  return tables;
}

// Rows in one leaf each, and how often they are in the sample.
Members::OfTree members_of(LeafId n_leaves, const std::vector<LeafId>& leaves, const std::vector<std::uint16_t>& copies) {
  Members::OfTree tree;
  tree.n_leaves = n_leaves;
  tree.copies = copies;
  tree.reach.reset(leaves.size());
  std::copy(leaves.begin(), leaves.end(), tree.reach.leaves());
  return tree;
}

// Tables kept as lists say what whole tables say.
void test_lists_of_leaf_tables() {
  Engine engine(5);
  for (int trial = 0; trial < 50; ++trial) {
    const int n_columns = 1 + below(engine, 40), n_used = 1 + below(engine, 4);
    const auto width = static_cast<std::size_t>(n_columns), n_leaves = static_cast<std::size_t>(1 + below(engine, 6));
    std::vector<double> values(n_leaves * width, 0.0);
    for (std::size_t leaf = 0; leaf < n_leaves; ++leaf)
      for (int i = 0; i < n_used && trial % 5 != 0; ++i)
        values[leaf * width + static_cast<std::size_t>(below(engine, n_columns))] = 1 + below(engine, 9);
    LeafTables whole(width, {n_leaves}), kept = LeafTables::unset(width, {n_leaves});
    std::copy(values.begin(), values.end(), whole.of_tree(0));
    kept.set(0, values.data());
    const auto same = [&](const LeafTables& a, const LeafTables& b) { return a.table(0) == b.table(0); };
    CHECK(same(whole, kept));
    CHECK(whole.trees_with_empty_rows() == kept.trees_with_empty_rows());
    CHECK(same(whole.row_sums(), kept.row_sums()));
    CHECK(same(LeafTables::side_by_side({&whole, &kept}), LeafTables::side_by_side({&kept, &whole})));
    whole.normalise();
    kept.normalise();
    CHECK(same(whole, kept));
    std::vector<LeafId> leaves;
    for (int i = 0; i < 5; ++i) leaves.push_back(below(engine, static_cast<int>(n_leaves) + 1) - 1);
    std::vector<double> one(5 * width, 0.5), other = one, room;
    whole.add_rows(0, leaves.data(), 5, one.data());
    kept.add_rows(0, leaves.data(), 5, other.data());
    whole.add_row(0, 0, 0.25, one.data());
    kept.add_row(0, 0, 0.25, other.data());
    CHECK(one == other);
    const double* row = kept.row(0, 0, room);
    CHECK(std::equal(row, row + width, whole.of_tree(0)));
    const std::vector<double> more(width, 2.0);
    whole.add(more.data());
    kept.add(more.data());
    CHECK(same(whole, kept));
  }
}

void test_ballot() {
  // Tables first: rows are divided by their sums, and empty ones are found.
  LeafTables tables = tables_with(2, {{1, 3, 0, 0}, {2, 2}, {0, 0, 0, 0}});
  tables.normalise();
  CHECK((tables.trees_with_empty_rows() == std::vector<std::size_t>{0, 2}));
  const LeafTables sums = tables.row_sums();
  const LeafTables wide = LeafTables::side_by_side({&tables, &sums});
  CHECK(wide.n_columns() == 3 && wide.n_leaves(0) == 2 && wide.n_leaves(1) == 1);
  CHECK(near(wide.table(0), std::vector<double>{0.25, 0.75, 1, 0, 0, 0}));
  const std::vector<double> added = {1, 2, 3, 4, 5, 6};
  tables.add(added.data());
  CHECK(near(tables.table(0), std::vector<double>{1.25, 2.75, 1, 2}) && near(tables.table(1), std::vector<double>{3.5, 4.5}));

  // Two trees of two leaves: rows 0..2 are in leaves (0, 0), (0, 1), (1, 1); row 3 is spread over the leaves of the first.
  Members members;
  members.n_rows = 4;
  members.trees.push_back(members_of(2, {0, 0, 1, 0}, {0, 0, 3, 0}));
  members.trees.push_back(members_of(2, {0, 1, 1, 1}, {0, 0, 1, 1}));
  members.trees[0].reach.add_part(1, 0.75);
  members.trees[0].reach.add_part(0, 0.25);
  members.trees[0].reach.end_row(3);
  const auto winners = [&](const LeafTables& frequencies, const std::vector<double>& prior) {
    ThreadPool pool(2);
    std::vector<std::int32_t> found(4, 9);
    std::vector<double> votes(8, 9);
    out_of_bag_votes(members, Ballot({{0, 1}, {0, 1}}, LeafFrequencies(frequencies), prior), pool, found.data(), votes.data());
    CHECK(near(std::vector<double>(votes.begin(), votes.begin() + 6), std::vector<double>{2, 0, 1, 1, 0, 0}));
    CHECK(votes[6] + votes[7] == 1 && votes[6 + static_cast<std::size_t>(found[3])] == 1);
    return found;
  };
  using Winners = std::vector<std::int32_t>;
  // The tie of row 1 goes to the larger mean frequency, then to the more frequent class, then to the first; row 2 has been
  // seen by both trees.
  CHECK((winners(tables_with(2, {{.6, .4, .2, .8}, {.6, .4, .1, .9}}), {5, 1}) == Winners{0, 1, -1, 1}));
  CHECK((winners(tables_with(2, {{.9, .1, .4, .6}, {.6, .4, .4, .6}}), {1, 5}) == Winners{0, 0, -1, 0}));
  CHECK((winners(tables_with(2, {{.7, .3, .4, .6}, {.6, .4, .3, .7}}), {1, 5}) == Winners{0, 1, -1, 1}));
  CHECK((winners(tables_with(2, {{.7, .3, .4, .6}, {.6, .4, .3, .7}}), {5, 5}) == Winners{0, 0, -1, 1}));
}

// One tree, three leaves. Leaf 0: row 0 in bag, rows 1 and 2 not; leaf 1: row 3; leaf 2: row 5, alone. Row 4 is spread over
// the first two. Classes 0, 1, 0, 1, 0, 1.
void test_out_of_bag() {
  Members members;
  members.n_rows = 6;
  members.trees.push_back(members_of(3, {0, 0, 0, 1, 0, 2}, {2, 0, 0, 0, 0, 0}));
  members.trees[0].reach.add_part(0, 0.25);
  members.trees[0].reach.add_part(1, 0.75);
  members.trees[0].reach.end_row(4);
  const std::vector<ClassId> labels = {0, 1, 0, 1, 0, 1};
  ThreadPool pool(2);
  const std::vector<RowId> some = {4, 2, 5};
  std::vector<double> out(12, 9), of_some(6, 9);
  // In bag once, out of bag twice: 1 + 2 (1 + 1/4) and 2 of row 1; 2 * 3/4 and 2 of row 3; 2 of row 5.
  const LeafTables counts = tables_with(2, {{3.5, 2, 1.5, 2, 0, 2}});
  out_of_bag_frequencies(members, counts, 2, {labels.data(), nullptr}, {nullptr, 6}, pool, out.data());
  CHECK(near(out, std::vector<double>{kNaN, kNaN, 1, 0, 1.5 / 3.5, 2 / 3.5, 1, 0, 0.15, 0.85, kNaN, kNaN}));
  out_of_bag_frequencies(members, counts, 2, {labels.data(), nullptr}, {some.data(), 3}, pool, of_some.data());
  CHECK(near(of_some, std::vector<double>{0.15, 0.85, 1.5 / 3.5, 2 / 3.5, kNaN, kNaN}));
  // Rows that weigh 4, counted once: only the weights change.
  const std::vector<double> weights(6, 4.0);
  const LeafTables heavy = tables_with(2, {{4 + 4 * 1.25, 4, 3, 4, 0, 4}});
  out_of_bag_frequencies(members, heavy, 1, {labels.data(), weights.data()}, {nullptr, 6}, pool, out.data());
  CHECK(near(out, std::vector<double>{kNaN, kNaN, 1, 0, 5. / 9, 4. / 9, 1, 0, 0.25 * 8 / 12, 0.75 + 0.25 * 4 / 12, kNaN, kNaN}));
  // Frequencies, and what leaf 2 would say.
  const LeafTables frequencies = tables_with(2, {{.5, .5, .25, .75, 0, 1}});
  out_of_bag_average(members, frequencies, {nullptr, 6}, pool, out.data());
  CHECK(near(out, std::vector<double>{kNaN, kNaN, .5, .5, .5, .5, .25, .75, .3125, .6875, 0, 1}));

  // With every row of a random forest: taking a row out by hand gives the same.
  Engine engine(12);
  for (int round = 0; round < 20; ++round) {
    Sample sample(engine, 1 + below(engine, 200), 1 + below(engine, 4), 3);
    ForestOptions forest = random_forest_options(engine);
    forest.bootstrap = Bootstrap::plain;
    const GrownForest grown = sample.forest_with(5, random_options(engine, 3), forest, 1);
    const std::size_t n = sample.dataset.n_rows();
    std::vector<std::vector<double>> of_trees;
    for (const PackedTree& tree : grown.forest.trees) {
      std::vector<double> in_bag(3 * tree.vote.size(), 0.0), unseen(in_bag);
      tree.in_bag.add(1.0, 3, in_bag.data());
      tree.out_of_bag.add(1.0, 3, unseen.data());
      for (std::size_t i = 0; i < in_bag.size(); ++i) in_bag[i] += 1.5 * unseen[i];
      of_trees.push_back(in_bag);
    }
    std::vector<double> found(3 * n);
    const auto& weights_of_rows = sample.dataset.weights;
    out_of_bag_frequencies(grown.members, tables_with(3, of_trees), 1.5,
                           {sample.dataset.labels.data(), weights_of_rows.empty() ? nullptr : weights_of_rows.data()},
                           {nullptr, n}, pool, found.data());
    bool good = true;
    for (std::size_t row = 0; row < n; ++row) {
      std::vector<double> sums(3, 0.0);
      double shares = 0;
      for (std::size_t t = 0; t < 5; ++t) {
        if (grown.members.trees[t].copies_of(row) > 0) continue;
        grown.members.trees[t].reach.visit(row, [&](LeafId leaf, double share) {
          const double* from = of_trees[t].data() + 3 * leaf;
          std::vector<double> left(from, from + 3);
          left[sample.dataset.labels[row]] -= 1.5 * share * sample.dataset.weight(static_cast<RowId>(row));
          const double total = left[0] + left[1] + left[2];
          if (total <= 1e-9) return;
          shares += share;
          for (std::size_t k = 0; k < 3; ++k) sums[k] += share * left[k] / total;
        });
      }
      for (std::size_t k = 0; k < 3; ++k) good &= near(found[3 * row + k], shares > 0 ? sums[k] / shares : kNaN, 1e-6);
    }
    CHECK(good);
  }
}

void test_vote_tables() {
  // The members of one leaf: class, vote, copies.
  const std::vector<std::array<int, 3>> rows = {{0, 0, 2}, {0, 0, 1}, {1, 0, 1}, {1, 1, 3}, {0, 1, 1},
                                                {0, 0, 0}, {1, 1, 0}, {1, 1, 0}, {1, 0, 0}, {1, -1, 0}};
  std::vector<ClassId> labels;
  std::vector<std::int32_t> votes;
  std::vector<std::uint16_t> copies;
  for (const auto& [label, vote, n] : rows) {
    labels.push_back(static_cast<ClassId>(label));
    votes.push_back(vote);
    copies.push_back(static_cast<std::uint16_t>(n));
  }
  // The leaf is the middle one of three; the first is empty, and row 9, which has no vote, is alone in the last.
  std::vector<LeafId> leaves(rows.size(), 1);
  leaves.back() = 2;
  Members members;
  members.n_rows = rows.size();
  members.trees.push_back(members_of(3, leaves, copies));
  members.trees.push_back(members.trees[0]);
  ThreadPool pool(2);
  const TrainingRows training{labels.data(), nullptr};

  Members query;
  query.n_rows = 1;
  query.trees = {members_of(3, {1}, {0}), members_of(3, {1}, {0})};
  const auto ask = [&](const VoteTables& tables, ClassId first, ClassId second, VoteTables::Rows which) {
    const LeafFrequencies frequencies(tables_with(2, {{1, 0, 1, 0, 1, 0}, {1, 0, 1, 0, 1, 0}}));
    const Ballot ballot({{0, first, 0}, {0, second, 0}}, frequencies, {1, 1});
    std::vector<double> n_votes(2), out(2);
    std::int32_t winner = -1;
    tables.look_up(query, ballot, 2, which, pool, &winner, n_votes.data(), out.data());
    CHECK(winner == (first == 1 && second == 1 ? 1 : 0));
    CHECK(n_votes[1] == first + second && n_votes[0] == 2 - n_votes[1]);
    return out;
  };
  const auto check_rows = [&](const VoteTables& tables, std::vector<double> of_0, std::vector<double> of_1) {
    for (const auto which : {VoteTables::Rows::winner, VoteTables::Rows::shared}) {
      CHECK(near(ask(tables, 0, 0, which), of_0));
      CHECK(near(ask(tables, 1, 1, which), of_1));
    }
    CHECK(near(ask(tables, 1, 0, VoteTables::Rows::winner), of_0));
    CHECK(near(ask(tables, 1, 0, VoteTables::Rows::shared), std::vector<double>{(of_0[0] + of_1[0]) / 2, (of_0[1] + of_1[1]) / 2}));
  };
  VoteTables distinct(members, votes.data(), training, 2, true, pool), with_copies(members, votes.data(), training, 2, false, pool);
  CHECK(distinct.n_trees() == 2 && distinct.n_leaves(0) == 3);
  const VoteTables::OfTree& tree = distinct.trees()[0];
  CHECK((tree.row_vote == std::vector<ClassId>{0, 1}) && (tree.entry_class == std::vector<ClassId>{0, 1, 0, 1}));
  CHECK((tree.row_start == std::vector<std::int32_t>{0, 0, 2, 2}) && (tree.entry_start == std::vector<std::int32_t>{0, 2, 4}));
  CHECK(near(tree.in_bag, std::vector<double>{2, 1, 1, 1}) && near(tree.out_of_bag, std::vector<double>{1, 1, 0, 2}));
  CHECK(near(with_copies.trees()[0].in_bag, std::vector<double>{3, 1, 1, 3}));
  distinct.mix(1);
  check_rows(distinct, {.6, .4}, {.25, .75});
  with_copies.mix(1);
  check_rows(with_copies, {4. / 6, 2. / 6}, {1. / 6, 5. / 6});
  distinct.mix(2);
  check_rows(distinct, {4. / 7, 3. / 7}, {1. / 6, 5. / 6});

  // Out of bag: the row itself is taken out of the row of its vote; those in every sample, and those alone, get nothing.
  std::vector<double> n_votes(2 * rows.size(), 1.0), out(2 * rows.size(), 9);
  distinct.out_of_bag(members, votes.data(), n_votes.data(), VoteTables::Rows::winner, training, {nullptr, rows.size()}, pool, out.data());
  CHECK(near(out, std::vector<double>{kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, .4, .6, .25, .75, .25, .75, .8, .2, kNaN, kNaN}));
  const std::vector<RowId> some = {8, 5};
  distinct.out_of_bag(members, votes.data(), n_votes.data(), VoteTables::Rows::shared, training, {some.data(), 2}, pool, out.data());
  CHECK(near(std::vector<double>(out.begin(), out.begin() + 4),
             std::vector<double>{(.8 + 1. / 6) / 2, (.2 + 5. / 6) / 2, (.4 + 1. / 6) / 2, (.6 + 5. / 6) / 2}));
  // A leaf where nobody has the vote says nothing.
  query.trees = {members_of(3, {0}, {0}), members_of(3, {2}, {0})};
  CHECK(near(ask(distinct, 0, 0, VoteTables::Rows::shared), std::vector<double>{kNaN, kNaN}));

  // On random forests: both ways to look queries up agree, and answers are probabilities.
  Engine engine(13);
  for (int round = 0; round < 30; ++round) {
    Sample sample(engine, 1 + below(engine, 300), 1 + below(engine, 4), 3);
    ForestOptions forest = random_forest_options(engine);
    const GrownForest grown = sample.forest_with(6, random_options(engine, 3), forest, 1);
    const std::size_t n = sample.dataset.n_rows();
    std::vector<std::vector<double>> of_trees;
    std::vector<std::vector<ClassId>> leaf_votes;
    for (const PackedTree& packed : grown.forest.trees) {
      of_trees.emplace_back(3 * packed.vote.size(), 0.0);
      packed.in_bag.add(1.0, 3, of_trees.back().data());
      leaf_votes.emplace_back();
      for (std::size_t i = 0; i < packed.vote.size(); ++i) leaf_votes.back().push_back(static_cast<ClassId>(packed.vote.at(i)));
    }
    LeafTables frequencies = tables_with(3, of_trees);
    frequencies.normalise();
    const Ballot ballot(leaf_votes, LeafFrequencies(frequencies), sample.class_weights());
    std::vector<std::int32_t> winners(n), found_winners(n);
    std::vector<double> all_votes(3 * n), found_votes(3 * n), answers(3 * n), found_answers(3 * n), averages(3 * n), expected(3 * n);
    out_of_bag_votes(grown.members, ballot, pool, winners.data(), all_votes.data());
    const auto& weights = sample.dataset.weights;
    const TrainingRows of_sample{sample.dataset.labels.data(), weights.empty() ? nullptr : weights.data()};
    VoteTables tables(grown.members, winners.data(), of_sample, 3, forest.distinct, pool);
    tables.mix(0.5);
    const auto which = static_cast<VoteTables::Rows>(round % 2);
    const auto probabilities = [&](const std::vector<double>& table) {
      bool good = true;
      for (std::size_t i = 0; i < n; ++i) {
        const double sum = table[3 * i] + table[3 * i + 1] + table[3 * i + 2];
        good &= std::isnan(sum) || near(sum, 1, 1e-6);
        for (std::size_t k = 0; k < 3; ++k) good &= !(table[3 * i + k] < 0);
      }
      return good;
    };
    tables.out_of_bag(grown.members, winners.data(), all_votes.data(), which, of_sample, {nullptr, n}, pool, answers.data());
    CHECK(probabilities(answers));
    const ForestRouter router(grown.forest, pool);
    tables.look_up(router, sample.dataset.matrix, ballot, 4, which, &frequencies, pool, winners.data(), all_votes.data(),
                   answers.data(), averages.data());
    tables.look_up(router.members(sample.dataset.matrix, pool), ballot, 4, which, pool, found_winners.data(),
                   found_votes.data(), found_answers.data());
    CHECK(winners == found_winners && all_votes == found_votes && near(answers, found_answers) && probabilities(answers));
    router.average(sample.dataset.matrix, frequencies, nullptr, pool, expected.data(), nullptr, nullptr);
    CHECK(near(averages, expected));
  }
}

void test_pool_loss() {
  Engine engine(14);
  constexpr std::size_t n_rows = 2500, n_components = 2, n_classes = 3, n_weights = n_components * n_classes;
  const auto unit = [&] { return 0.001 * (1 + below(engine, 998)); };
  std::vector<float> logs;
  std::vector<ClassId> labels;
  std::vector<double> row_weights, parameters;  // by component and class, then intercepts
  for (std::size_t i = 0; i < n_rows * n_weights; ++i) logs.push_back(static_cast<float>(std::log(unit())));
  for (std::size_t i = 0; i < n_rows; ++i) {
    labels.push_back(static_cast<ClassId>(below(engine, 3)));
    row_weights.push_back(unit());
  }
  for (std::size_t i = 0; i < n_weights + n_classes; ++i) parameters.push_back(unit());
  const LogComponents components{logs.data(), n_rows, n_components, n_classes};
  for (const bool weighted : {false, true}) {
    const TrainingRows rows{labels.data(), weighted ? row_weights.data() : nullptr};
    const auto loss = [&](const std::vector<double>& at, std::vector<double>& slopes, int n_threads) {
      ThreadPool pool(n_threads);
      return pool_loss(components, rows, at.data(), at.data() + n_weights, pool, slopes.data(), slopes.data() + n_weights);
    };
    std::vector<double> slopes(parameters.size(), 0.0), again(parameters.size(), 0.0), ignored(parameters.size());
    const double value = loss(parameters, slopes, 1);
    CHECK(value == loss(parameters, again, 3) && slopes == again);
    loss(parameters, again, 1);  // slopes are added
    for (std::size_t i = 0; i < slopes.size(); ++i) CHECK(near(again[i], 2 * slopes[i]));
    double expected = 0;
    for (std::size_t row = 0; row < n_rows; ++row) {
      std::array<double, n_classes> p{};
      for (std::size_t k = 0; k < n_classes; ++k) {
        p[k] = parameters[n_weights + k];
        for (std::size_t c = 0; c < n_components; ++c)
          p[k] += parameters[c * n_classes + k] * static_cast<double>(logs[(row * n_components + c) * n_classes + k]);
      }
      const double sum = std::exp(p[0]) + std::exp(p[1]) + std::exp(p[2]);
      expected += (weighted ? row_weights[row] : 1.0) * (std::log(sum) - p[labels[row]]);
    }
    CHECK(near(value, expected));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double step = 1e-5;
      std::vector<double> up = parameters, down = parameters;
      up[i] += step;
      down[i] -= step;
      CHECK(near((loss(up, ignored, 1) - loss(down, ignored, 1)) / (2 * step), slopes[i], 1e-5));
    }
  }
}

// Random noise on some attributes; nominal ones are swapped now and then.
Perturbation random_perturbation(Engine& engine, const Sample& sample, double tolerance) {
  Perturbation made;
  made.independent_tests = below(engine, 2) == 0;
  made.tolerance = tolerance;
  for (const std::int32_t n : sample.n_categories) {
    made.scale.push_back(below(engine, 4) == 0 ? 0.0 : 0.05 * (1 << below(engine, 8)));
    made.swap.push_back(below(engine, 3) == 0 ? 0.0 : 0.4);
    made.frequencies.emplace_back(static_cast<std::size_t>(n), n > 0 ? 1.0 / n : 0.0);
  }
  return made;
}

void test_normal_cdf() {
  double worst = 0;
  for (double z = -12; z <= 12; z += 0.001) worst = std::max(worst, std::abs(normal_cdf(z) - 0.5 * std::erfc(-z / std::sqrt(2.0))));
  CHECK(worst < 1e-14);
  const std::array<double, 5> far = {-HUGE_VAL, -1e300, 0.0, 1e300, HUGE_VAL};
  std::array<double, 5> found{};
  normal_cdf(far.data(), far.size(), 0.0, found.data());
  CHECK(found[0] < 1e-16 && found[1] < 1e-16 && std::abs(found[2] - 0.5) < 1e-14 && found[3] == 1 && found[4] == 1);
}

// Masses sum to one whatever is cut; without noise the router's answer is that of the hard one; threads do not matter; the
// sum of what the leaves say is the average; rows in blocks are those one by one.
void test_soft_routes() {
  Engine engine(31);
  for (int round = 0; round < 40; ++round) {
    Sample sample(engine, 1 + below(engine, 300), 1 + below(engine, 5), 3);
    const GrownForest grown = sample.forest_with(1 + below(engine, 6), random_options(engine, 3), random_forest_options(engine), 2);
    ThreadPool one(1), some(3);
    Interrupt never;
    const SoftRouter router(grown.forest, some);
    std::vector<std::size_t> n_leaves;
    std::vector<Tree> trees;
    for (const PackedTree& tree : grown.forest.trees) {
      n_leaves.push_back(tree.vote.size());
      trees.push_back(unpack(tree, 3, true));
    }
    LeafTables tables(2, n_leaves);
    for (std::size_t t = 0; t < trees.size(); ++t)
      for (std::size_t i = 0; i < 2 * n_leaves[t]; ++i) tables.of_tree(t)[i] = 0.001 * (1 + below(engine, 1000));
    const int n = round < 3 ? 6500 : 1 + below(engine, 60);
    const std::vector<double> values = edgy_queries(engine, sample, trees, n);
    const auto n_columns = static_cast<std::int64_t>(sample.n_categories.size());
    const Matrix queries{values.data(), false, n, n_columns, n_columns, 1};
    const Perturbation noise = random_perturbation(engine, sample, round % 3 == 0 ? 0.0 : 1e-3);
    const auto n_rows = static_cast<std::size_t>(n);
    std::vector<double> mean(2 * n_rows), again(2 * n_rows), from_masses(2 * n_rows, 0.0);
    router.average(queries, tables, noise, nullptr, one, never, mean.data());
    router.average(queries, tables, noise, nullptr, some, never, again.data());
    CHECK(mean == again);
    const Members found = router.members(queries, noise, nullptr, some, never);
    bool sums_to_one = true;
    for (std::size_t t = 0; t < trees.size(); ++t)
      for (std::size_t row = 0; row < n_rows; ++row) {
        double sum = 0;
        found.trees[t].reach.visit(row, [&](LeafId leaf, double mass) {
          sum += mass;
          tables.add_row(t, leaf, mass / static_cast<double>(trees.size()), from_masses.data() + 2 * row);
        });
        sums_to_one &= std::abs(sum - 1) < 1e-9;
      }
    CHECK(sums_to_one);
    bool same_mean = true;
    for (std::size_t i = 0; i < mean.size(); ++i) same_mean &= near(mean[i], from_masses[i]);
    CHECK(same_mean);
    Perturbation none = noise;
    std::fill(none.scale.begin(), none.scale.end(), 0.0);
    std::fill(none.swap.begin(), none.swap.end(), 0.0);
    none.tolerance = 0;
    std::vector<double> hard(2 * n_rows);
    router.average(queries, tables, none, nullptr, some, never, mean.data());
    ForestRouter(grown.forest, some).average(queries, tables, nullptr, some, hard.data(), nullptr, nullptr);
    bool is_hard = true;
    for (std::size_t i = 0; i < mean.size(); ++i) is_hard &= std::abs(mean[i] - hard[i]) < 1e-6;
    CHECK(is_hard);
  }
}

// Out of bag: asked without noise, a row gets the answer of the functions that know no noise.
void test_soft_out_of_bag() {
  Engine engine(37);
  for (int round = 0; round < 30; ++round) {
    Sample sample(engine, 2 + below(engine, 200), 1 + below(engine, 4), 3);
    ForestOptions forest = random_forest_options(engine);
    forest.bootstrap = Bootstrap::plain;
    forest.keep_members = true;
    const GrownForest grown = sample.forest_with(1 + below(engine, 12), random_options(engine, 3), forest, 2);
    ThreadPool pool(2);
    Interrupt never;
    const SoftRouter router(grown.forest, pool);
    Perturbation none = random_perturbation(engine, sample, 0.0);
    std::fill(none.scale.begin(), none.scale.end(), 0.0);
    std::fill(none.swap.begin(), none.swap.end(), 0.0);
    const Members asked = router.members(sample.dataset.matrix, none, &grown.members, pool, never);
    std::vector<std::size_t> n_leaves;
    for (const PackedTree& tree : grown.forest.trees) n_leaves.push_back(tree.vote.size());
    LeafTables counts(3, n_leaves);
    for (std::size_t t = 0; t < n_leaves.size(); ++t) leaf_counts(grown.forest.trees[t], 3, {1.0, 1.0, 0.0}, counts.of_tree(t));
    const std::size_t n = sample.dataset.n_rows();
    const TrainingRows rows{sample.dataset.labels.data(), sample.dataset.weights.empty() ? nullptr : sample.dataset.weights.data()};
    std::vector<double> soft(3 * n), hard(3 * n), slopes(sample.n_categories.size(), 0.0);
    soft_out_of_bag_frequencies({asked, grown.members, rows, 1.0}, counts, pool, soft.data());
    out_of_bag_frequencies(grown.members, counts, 1.0, rows, {nullptr, n}, pool, hard.data());
    bool same = true;
    for (std::size_t i = 0; i < soft.size(); ++i)
      same &= std::isnan(hard[i]) ? std::isnan(soft[i]) : std::abs(soft[i] - hard[i]) < 1e-6;
    CHECK(same);
    // With noise the loss is a number, and its slopes are zero where an attribute has none.
    const Perturbation noise = random_perturbation(engine, sample, 1e-3);
    counts.normalise();
    CHECK(std::isfinite(router.loss(sample.dataset.matrix, rows, counts, noise, &grown.members, 1e-6, pool, never, slopes.data())));
    for (std::size_t f = 0; f < slopes.size(); ++f) CHECK(std::isfinite(slopes[f]) && (noise.scale[f] > 0 || slopes[f] == 0));
  }
}

void test_odd_shapes() {
  Engine engine(3);
  Sample one_row(engine, 1, 3, 1);
  CHECK(one_row.grow_with({}, {}, 1).n_nodes() == 1);
  Sample many_classes(engine, 3000, 4, 1000);
  check_children_add_up(many_classes.grow_with({}, {}, 2));
  Sample constant(engine, 50, 2, 2);
  std::fill(constant.values.begin(), constant.values.end(), 0.0);
  CHECK(constant.grow_with({}, {}, 1).n_nodes() == 1);
  Sample missing(engine, 50, 2, 2);
  std::fill(missing.values.begin(), missing.values.end(), std::nan(""));
  CHECK(missing.grow_with({}, {}, 1).n_nodes() == 1);
  Sample categories(engine, 5000, 2, 2);
  categories.n_categories = {1000, 1000};
  for (auto& value : categories.values) value = below(engine, 1000);
  check_children_add_up(categories.grow_with({}, {}, 1));
}

template <class F>
bool interrupted(F&& f) {
  try {
    f();
  } catch (const Interrupted&) {
    return true;
  }
  return false;
}

// Sums of heavy weights differ by more than a row's weight when they are taken in another order: what is left of a node
// without its missing rows is then not nothing, but it is not a row either, and no cut can be made of it.
void test_rounding_is_no_row() {
  Engine engine(77);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<double> values(100, std::nan(""));
    Dataset dataset;
    dataset.n_classes = 2;
    for (int i = 0; i < 100; ++i) {
      dataset.labels.push_back(static_cast<ClassId>(below(engine, 2)));
      dataset.weights.push_back(1e18 * (1 + below(engine, 1000) / 999.0));
    }
    dataset.matrix = {values.data(), false, 100, 1, 1, 1};
    GrowOptions options;
    options.criterion = static_cast<Criterion>(repeat % 4);
    options.thresholds_from_data = true;
    CodingOptions coding;
    coding.keep_distinct = true;
    ThreadPool pool(1);
    Interrupt interrupt;
    code_columns(dataset, {0}, coding, pool, interrupt);
    CHECK(TreeGrower(dataset, options, pool).grow({}, 0, interrupt).n_nodes() == 1);
  }
}

void test_interrupt() {
  Engine engine(4);
  Sample sample(engine, 200000, 4, 2);
  const GrowOptions options;
  ThreadPool pool(2);
  Interrupt always([] { return true; }), never;
  CHECK(interrupted([&] { code_columns(sample.dataset, sample.n_categories, {}, pool, always); }));
  code_columns(sample.dataset, sample.n_categories, {}, pool, never);
  TreeGrower grower(sample.dataset, options, pool);
  CHECK(interrupted([&] { grower.grow({}, 1, always); }));
  const Tree after = grower.grow({}, 1, never);  // a grower can be used again
  CHECK(same(after, TreeGrower(sample.dataset, options, pool).grow({}, 1, never)));
  for (const int n_threads : {1, 3}) {
    ThreadPool some(n_threads);
    CHECK(interrupted([&] { grow_forest(sample.dataset, 4, options, {}, some, always); }));
    CHECK(interrupted([&] { count_forest(sample.dataset, {after, after, after, after}, 1, {}, some, always); }));
    CHECK(!interrupted([&] { count_forest(sample.dataset, {after}, 1, {}, some, never); }));
    const SoftRouter router(after);
    const Perturbation noise{false, 1e-4, std::vector<double>(4, 1.0), std::vector<double>(4, 0.0), std::vector<std::vector<double>>(4)};
    CHECK(interrupted([&] { router.members(sample.dataset.matrix, noise, nullptr, some, always); }));
  }
}

// A block of counters, against a walk code by code: every boundary is found, and what is before each is right.
void test_code_blocks() {
  if (!kHasCodeBlocks) return;
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    alignas(16) std::uint16_t counters[kBlockCodes];
    const auto draw = [&](unsigned n) { return static_cast<std::uint16_t>(random() % n); };
    for (auto& counter : counters) {
      const unsigned kind = draw(round % 3 == 0 ? 3 : 8);  // unused, one class, the other, or both
      const unsigned most = round % 2 == 0 ? 4 : 256;
      counter = static_cast<std::uint16_t>((kind % 3 >= 1 ? draw(most) : 0) | (kind % 3 == 2 ? draw(most) << 8 : 0));
    }
    std::uint16_t before[kBlockCodes];
    std::copy_n(counters, kBlockCodes, before);
    CodeBlock block;
    block.take(counters);
    unsigned zero = 0, one = 0, n_used = 0;
    std::uint16_t last = 0;
    for (std::uint32_t i = 0; i < kBlockCodes; ++i) {
      const bool cut = (block.cuts >> i) & 1;
      const unsigned both = last | before[i];
      const bool boundary = before[i] != 0 && last != 0 && (both & 0xff) != 0 && (both >> 8) != 0;
      CHECK(block.zero[i] == zero && block.one[i] == one);
      CHECK(!boundary || cut);
      CHECK(!cut || before[i] != 0);
      CHECK(counters[i] == 0);
      zero += before[i] & 0xff;
      one += before[i] >> 8;
      n_used += before[i] != 0;
      if (before[i] != 0) last = before[i];
    }
    CHECK(block.zero[kBlockCodes] == zero && block.one[kBlockCodes] == one && block.n_used == n_used);
  }
}

void test_tally_lists_a_class_once() {
  LeafTally<double> tally;
  LeafEntries<double> entries;
  tally.add_up(1, 3, [](auto&& add) {
    for (const double weight : {0.0, 2.0, 0.0}) add(0, ClassId{1}, weight);
    add(0, ClassId{2}, 0.0);
  });
  const LeafCounts counts = packed_counts(tally, entries);
  CHECK(counts.classes().size() == 1 && counts.classes().at(0) == 1 && counts.whole().at(0) == 2);
}

void test_coding_orders_values() {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> values = {3.5, -1e-300, -0.0, 0.0, 1e300, -1e300, 3.5000000000000004, 2, std::nan(""), 5e-324};
  Dataset dataset;
  dataset.n_classes = 1;
  dataset.labels.assign(values.size(), 0);
  dataset.matrix = {values.data(), false, static_cast<std::int64_t>(values.size()), 1, 1, 1};
  ThreadPool pool(1);
  Interrupt interrupt;
  code_columns(dataset, {0}, {}, pool, interrupt);
  const Column& column = dataset.columns[0];
  CHECK(column.n_codes == 8);
  CHECK(column.has_missing);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = 0; j < values.size(); ++j) {
      if (std::isnan(values[i]) || std::isnan(values[j])) continue;
      CHECK((values[i] < values[j]) == (column.codes.at(i) < column.codes.at(j)));
    }
  CHECK(column.codes.at(8) == column.n_codes);
  CHECK(midpoint(1.0, std::nextafter(1.0, inf)) == 1.0);
}

}  // namespace

int main() {
  test_coding_orders_values();
  test_random_trees();
  test_estimators();
  test_threads_do_not_matter();
  test_packing();
  test_packing_keeps_what_it_is_given();
  test_check_refuses_hostile_trees();
  test_samples();
  test_forests();
  test_forest_laws();
  test_members();
  test_single_precision();
  test_forest_router();
  test_lists_of_leaf_tables();
  test_ballot();
  test_out_of_bag();
  test_vote_tables();
  test_pool_loss();
  test_normal_cdf();
  test_soft_routes();
  test_soft_out_of_bag();
  test_odd_shapes();
  test_rounding_is_no_row();
  test_interrupt();
  test_code_blocks();
  test_tally_lists_a_class_once();
  const LazyTestResult lazy = lazy_tests();
  n_passed += lazy.n_passed;
  n_failed += lazy.n_failed;
  std::printf("%d passed, %d failed\n", n_passed, n_failed);
  return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
