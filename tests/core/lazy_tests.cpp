// Lazy option trees: laws on random data of odd shapes, for sanitizers as well.
#include <set>

#include "lazy/options.hpp"
#include "support.hpp"

namespace {

// Random rows and queries with ties, missing cells, categorical columns and weights.
struct Problem {
  int n_rows, n_columns, n_classes, n_queries;
  std::vector<std::int32_t> n_categories;
  std::vector<double> rows, queries;
  std::vector<ClassId> labels;
  std::vector<double> weights;

  Problem(Engine& engine, int n, int d, int k, int q) : n_rows(n), n_columns(d), n_classes(k), n_queries(q) {
    rows.resize(static_cast<std::size_t>(n * d));
    queries.resize(static_cast<std::size_t>(q * d));
    const bool with_missing = below(engine, 2) == 0;
    for (int j = 0; j < d; ++j) {
      const int size = 1 + below(engine, 12);
      const bool categorical = below(engine, 3) == 0, real = below(engine, 2) == 0;
      n_categories.push_back(categorical ? size : 0);
      const auto fill = [&](std::vector<double>& cells, int n_cells) {
        for (int i = 0; i < n_cells; ++i) {
          double& cell = cells[static_cast<std::size_t>(i * d + j)];
          cell = below(engine, size);
          if (!categorical && real) cell = std::sin(static_cast<double>(below(engine, 100000)));
          if (with_missing && below(engine, 6) == 0) cell = std::nan("");
        }
      };
      fill(rows, n);
      fill(queries, q);
    }
    const int kind = below(engine, 3);
    for (int i = 0; i < n; ++i) {
      labels.push_back(static_cast<ClassId>(below(engine, k)));
      if (kind > 0) weights.push_back(kind == 1 ? 1 + below(engine, 3) : 0.1 * (1 + below(engine, 30)));
    }
  }

  LazyOptionTrees trees(const LazyBagOptions& bags) const {
    Dataset dataset;
    dataset.matrix = {rows.data(), false, n_rows, n_columns, n_columns, 1};
    dataset.labels = labels;
    dataset.weights = weights;
    dataset.n_classes = n_classes;
    ThreadPool pool(1);
    Interrupt interrupt;
    CodingOptions coding;
    coding.keep_distinct = true;
    code_columns(dataset, n_categories, coding, pool, interrupt);
    return LazyOptionTrees(std::move(dataset), bags);
  }

  Matrix query_matrix() const { return {queries.data(), false, n_queries, n_columns, n_columns, 1}; }
  Matrix row_matrix() const { return {rows.data(), false, n_rows, n_columns, n_columns, 1}; }
};

LazyTreeOptions random_options(Engine& engine) {
  LazyTreeOptions options;
  options.max_tests = 1 + below(engine, below(engine, 4) == 0 ? 50 : 4);
  options.min_gain = 0.25 * below(engine, 5);
  options.min_samples_leaf = 1 + below(engine, 3);
  options.cousin_rule = static_cast<CousinRule>(below(engine, 3));
  options.gain_prior = below(engine, 2) * 20;
  options.path_prior = 0.5 * below(engine, 3);
  options.share_from = below(engine, 2) == 0 ? 1 : 512;
  if (below(engine, 2) == 0) options.max_nodes = static_cast<std::size_t>(1 + below(engine, 20));
  if (below(engine, 2) == 0 || options.max_tests > 4)
    options.row_budget = static_cast<std::uint64_t>(1 + below(engine, 20000));
  return options;
}

std::vector<double> predict(const LazyOptionTrees& trees, const Problem& problem, const LazyTreeOptions& options,
                            int n_threads) {
  ThreadPool pool(n_threads);
  Interrupt interrupt;
  Progress progress;
  return trees.predict(problem.query_matrix(), options, pool, interrupt, progress);
}

bool is_distribution(const double* p, int n_classes) {
  for (int k = 0; k < n_classes; ++k)
    if (!(p[k] >= 0 && p[k] <= 1 + 1e-12)) return false;
  return std::abs(std::accumulate(p, p + n_classes, 0.0) - 1) < 1e-9;
}

void test_answers(Engine& engine) {
  for (int round = 0; round < 60; ++round) {
    const Problem problem(engine, 1 + below(engine, 60), 1 + below(engine, 5), 1 + below(engine, 5), 1 + below(engine, 30));
    const LazyTreeOptions options = random_options(engine);
    LazyBagOptions bags;
    bags.bootstrap = static_cast<Bootstrap>(below(engine, 3));
    bags.n_bags = 1 + below(engine, 4);
    const LazyOptionTrees trees = problem.trees(bags);
    const std::vector<double> answers = predict(trees, problem, options, 1);
    for (int i = 0; i < problem.n_queries; ++i)
      CHECK(is_distribution(answers.data() + i * problem.n_classes, problem.n_classes));
    CHECK(answers == predict(trees, problem, options, 3));
    LazyTreeOptions other = options;
    other.share_from = options.share_from == 1 ? 512 : 1;
    CHECK(answers == predict(trees, problem, other, 2));
  }
}

void test_out_of_bag(Engine& engine) {
  for (int round = 0; round < 20; ++round) {
    const Problem problem(engine, 1 + below(engine, 40), 1 + below(engine, 4), 1 + below(engine, 4), 1);
    LazyBagOptions bags;
    bags.n_bags = 1 + below(engine, 5);
    const LazyOptionTrees trees = problem.trees(bags);
    std::vector<RowId> rows(static_cast<std::size_t>(problem.n_rows));
    std::iota(rows.begin(), rows.end(), RowId{0});
    const LazyTreeOptions options = random_options(engine);
    Interrupt interrupt;
    Progress progress;
    const auto ask = [&](int n_threads) {
      ThreadPool pool(n_threads);
      return trees.out_of_bag(problem.row_matrix(), rows, options, pool, interrupt, progress);
    };
    const std::vector<double> one = ask(1), three = ask(3);
    for (int i = 0; i < problem.n_rows; ++i) {
      const double *p = one.data() + i * problem.n_classes, *q = three.data() + i * problem.n_classes;
      CHECK(std::isnan(p[0]) ? std::isnan(q[0]) : p[0] == q[0]);
      if (!std::isnan(p[0])) CHECK(is_distribution(p, problem.n_classes));
    }
  }
}

void test_graphs(Engine& engine) {
  for (int round = 0; round < 30; ++round) {
    const Problem problem(engine, 1 + below(engine, 50), 1 + below(engine, 5), 1 + below(engine, 4), 1);
    const LazyTreeOptions options = random_options(engine);
    Interrupt interrupt;
    const LazyGraph graph = problem.trees({}).explain(problem.query_matrix(), options, 0, interrupt);
    double at_leaves = 0;
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
      const LazyGraph::Node& node = graph.nodes[i];
      CHECK(node.n_edges <= static_cast<std::uint32_t>(options.max_tests));
      if (node.n_edges == 0) at_leaves += node.share;
      for (const LazyGraph::Edge& edge : graph.options(i)) {
        CHECK(edge.option.count == graph.nodes[edge.child].total);
        CHECK(edge.option.count < node.total);
        CHECK(edge.option.units >= 1);
      }
    }
    CHECK(std::abs(at_leaves - 1) < 1e-9);
  }
}

// What a node's rows and the tests that are forbidden there are known by must not be what other rows are known by.
void test_keys_derived_from_those_of_rows_are_others(Engine& engine) {
  const Problem problem(engine, 300, 1, 2, 1);
  const LazyOptionTrees trees = problem.trees({});
  const std::vector<std::uint64_t>& keys = trees.data().keys;
  std::set<std::uint64_t> known(keys.begin(), keys.end());
  CHECK(known.size() == keys.size());
  for (const std::uint64_t key : keys)
    for (std::uint64_t branch = 0; branch < 300; ++branch) known.insert(derive_key(key, branch));
  CHECK(known.size() == keys.size() * 301);
}

void test_equal_gains_are_equal() {
  const std::vector<Units> node = {6, 12, 9, 7};
  const std::vector<Units> swapped = {12, 6, 7, 9};
  const std::vector<Units> child = {1, 3, 2, 0}, swapped_child = {3, 1, 0, 2}, twice = {2, 6, 4, 0};
  const ExactGain gain(node, 0), of_swapped(swapped, 0);
  CHECK(gain.units(child) == of_swapped.units(swapped_child));
  CHECK(gain.units(child) == gain.units(twice));  // the shares have the same proportions
  CHECK(gain.units(std::vector<Units>{0, 5, 0, 0}) == gain_units(2.0));
  const std::vector<Units> two = {6, 3};
  CHECK(ExactGain(two, 0).units(std::vector<Units>{2, 1}) == 0);
  CHECK(ExactGain(two, 0).units(std::vector<Units>{2, 0}) == gain_units(1.0));
  CHECK(ExactGain(two, 0.5).units(std::vector<Units>{2, 0}) < gain_units(1.0));
}

void test_interrupt(Engine& engine) {
  const Problem problem(engine, 4000, 6, 3, 40);
  const LazyOptionTrees trees = problem.trees({});
  LazyTreeOptions options;
  options.share_from = 5000;  // every query looks at all rows itself, which is work enough for each thread to ask
  for (const int n_threads : {1, 3}) {
    ThreadPool pool(n_threads);
    Interrupt always([] { return true; });
    Progress progress;
    bool stopped = false;
    try {
      trees.predict(problem.query_matrix(), options, pool, always, progress);
    } catch (const Interrupted&) {
      stopped = true;
    }
    CHECK(stopped);
  }
}

}  // namespace

void lazy_tests() {
  Engine engine(20021);
  test_answers(engine);
  test_out_of_bag(engine);
  test_graphs(engine);
  test_keys_derived_from_those_of_rows_are_others(engine);
  test_equal_gains_are_equal();
  test_interrupt(engine);
}
