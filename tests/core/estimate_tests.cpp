// Leaf estimators, and the pool of estimates.
#include "estimate/estimate.hpp"
#include "estimate/hdp.hpp"
#include "estimate/log_pool.hpp"

#include "support.hpp"

namespace {

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

}  // namespace

void estimate_tests() {
  test_estimators();
  test_pool_loss();
}
