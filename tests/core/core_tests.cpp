// The core's own tests: laws on random data of odd shapes, meant to be run under sanitizers as well (`make sanitize`).
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>

#include "estimate.hpp"
#include "grow.hpp"
#include "hdp.hpp"
#include "prune.hpp"
#include "route.hpp"

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
    return grow(dataset, {}, options, pool, interrupt);
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
  const Router router(tree, node_weights(tree));
  std::vector<double> counts(tree.counts.size(), 0.0);
  const auto& weights = sample.dataset.weights;
  router.count(sample.dataset.matrix, sample.dataset.labels.data(), weights.empty() ? nullptr : weights.data(),
               tree.n_classes, counts.data());
  double worst = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) worst = std::max(worst, std::abs(counts[i] - tree.counts[i]));
  CHECK(worst < 0.05 * (1 + node_weight(tree, 0)));
  ThreadPool pool(2);
  std::vector<std::int64_t> leaves(sample.dataset.labels.size());
  router.apply(sample.dataset.matrix, pool, leaves.data());
  for (const std::int64_t leaf : leaves) CHECK(tree.feature[static_cast<std::size_t>(leaf)] < 0);
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

void test_forests() {
  Engine engine(6);
  for (int round = 0; round < 20; ++round) {
    Sample sample(engine, 1 + below(engine, 400), 4, 3);
    std::vector<std::vector<std::uint32_t>> copies(5, std::vector<std::uint32_t>(sample.dataset.labels.size()));
    for (auto& of_tree : copies)
      for (std::size_t i = 0; i < of_tree.size(); ++i) ++of_tree[engine() % of_tree.size()];
    const std::vector<Multiplicity> samples(copies.begin(), copies.end());
    const GrowOptions options = random_options(engine, 3);
    sample.grow_with(options, {}, 1);  // codes the columns
    Interrupt interrupt;
    ThreadPool one(1), three(3);
    const auto trees = grow_forest(sample.dataset, samples, options, one, interrupt);
    const auto again = grow_forest(sample.dataset, samples, options, three, interrupt);
    for (std::size_t t = 0; t < trees.size(); ++t) {
      check_children_add_up(trees[t]);
      CHECK(same(trees[t], again[t]));
    }
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

void test_interrupt() {
  Engine engine(4);
  Sample sample(engine, 200000, 4, 2);
  ThreadPool pool(2);
  Interrupt interrupt([] { return true; });
  bool stopped = false;
  try {
    code_columns(sample.dataset, sample.n_categories, {}, pool, interrupt);
    grow(sample.dataset, {}, {}, pool, interrupt);
  } catch (const Interrupted&) {
    stopped = true;
  }
  CHECK(stopped);
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
  test_forests();
  test_odd_shapes();
  test_interrupt();
  std::printf("%d passed, %d failed\n", n_passed, n_failed);
  return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
