// Shapley values against their definition, over all sets of players, in random trees.
#include "explain/shapley.hpp"

#include <bit>

#include "explain/game_tree.hpp"
#include "explain/quadrature.hpp"
#include "support.hpp"

namespace {

// What the leaves of a tree say of a row of which some players are known; the others are divided or a background row's.
struct Asked {
  const GameTree& game;
  const std::vector<double>& table;  // n_outputs for each leaf
  std::size_t n_outputs;
  std::vector<std::int32_t> taken, other;
  bool with_other = false;

  void said(unsigned known, std::int32_t id, double weight, std::vector<double>& out) const {
    const GameTree::Node& node = game.nodes()[static_cast<std::size_t>(id)];
    if (node.n_children == 0) {
      for (std::size_t k = 0; k < n_outputs; ++k)
        out[k] += weight * table[static_cast<std::size_t>(node.leaf) * n_outputs + k];
      return;
    }
    const bool is_known = (known >> node.player & 1) != 0;
    std::int32_t to = GameTree::kDivided;
    if (is_known) to = taken[static_cast<std::size_t>(id)];
    if (!is_known && with_other) to = other[static_cast<std::size_t>(id)];
    for (std::int32_t c = 0; c < node.n_children; ++c) {
      const double part = to == GameTree::kDivided ? game.share(node.first_child + c) : to == c ? 1.0 : 0.0;
      if (part > 0) said(known, node.first_child + c, weight * part, out);
    }
  }

  std::vector<double> worth(unsigned known) const {
    std::vector<double> out(n_outputs, 0.0);
    said(known, 0, 1, out);
    return out;
  }

  // Adds scale times the values of columns, those of sums divided among them.
  void add_values(double scale, std::vector<double>& values) const {
    const std::size_t n = game.n_players();
    for (unsigned set = 0; set < (1u << n); ++set) {
      const std::vector<double> without = worth(set);
      double share = 1.0 / static_cast<double>(n);  // size! (n - size - 1)! / n!
      const auto size = static_cast<std::size_t>(std::popcount(set));
      for (std::size_t i = 1; i <= size && size < n; ++i) share *= static_cast<double>(i) / static_cast<double>(n - i);
      for (std::size_t player = 0; player < n; ++player) {
        if ((set >> player & 1) != 0) continue;
        const std::vector<double> with = worth(set | 1u << player);
        std::vector<std::int32_t> columns{static_cast<std::int32_t>(player)};
        if (player >= game.n_columns()) columns = game.sums()[player - game.n_columns()];
        for (const std::int32_t column : columns)
          for (std::size_t k = 0; k < n_outputs; ++k)
            values[static_cast<std::size_t>(column) * n_outputs + k] +=
                scale * share * (with[k] - without[k]) / static_cast<double>(columns.size());
      }
    }
  }
};

void test_tree(Engine& engine, std::size_t n_outputs, int n_threads) {
  Sample sample(engine, 40 + below(engine, 40), 3, 2);
  GrowOptions options;
  options.seed = engine();
  options.min_samples_leaf = 1;
  options.max_depth = 4;
  const Tree tree = sample.grow_with(options, {}, 1);
  const Matrix& all = sample.dataset.matrix;
  const GameTree game(tree, all.n_columns);
  std::vector<double> table(static_cast<std::size_t>(game.n_leaves()) * n_outputs, 0.0);
  for (double& value : table)
    if (n_outputs < 5 || below(engine, 5) == 0) value = std::sin(static_cast<double>(below(engine, 1000)));
  const LeafTables tables = LeafTables::of(n_outputs, {static_cast<std::size_t>(game.n_leaves())}, {table.data()});
  const Matrix rows{all.data, false, 20, all.n_columns, all.row_stride, 1};
  const Matrix others{static_cast<const double*>(all.data) + 20 * all.row_stride, false, 5, all.n_columns, all.row_stride, 1};
  const TreeSource source{1, [&](std::size_t) { return tree; }};
  const ShapleyTask task{source, tables, rows};
  ThreadPool pool(n_threads);
  Interrupt interrupt;
  const std::size_t width = static_cast<std::size_t>(all.n_columns) * n_outputs;
  std::vector<double> path(20 * width, 0.0), meeting(20 * width, 0.0), base(n_outputs, 0.0), mean(n_outputs, 0.0);
  path_values(task, pool, interrupt, path.data(), base.data());
  interventional_values(task, others, pool, interrupt, meeting.data(), mean.data());
  const auto decided = [&](const Matrix& matrix, std::int64_t row) {
    std::vector<std::int32_t> taken(game.nodes().size(), 0);
    game.decide(static_cast<const double*>(matrix.data) + row * matrix.row_stride, 1, taken.data());
    return taken;
  };
  for (std::int64_t row = 0; row < 20; ++row) {
    Asked asked{game, table, n_outputs, decided(rows, row), {}};
    std::vector<double> by_path(width, 0.0), by_meeting(width, 0.0);
    asked.add_values(1, by_path);
    asked.with_other = true;
    for (std::int64_t other = 0; other < others.n_rows; ++other) {
      asked.other = decided(others, other);
      asked.add_values(0.2, by_meeting);
    }
    for (std::size_t i = 0; i < width; ++i) {
      CHECK(std::abs(path[static_cast<std::size_t>(row) * width + i] - by_path[i]) < 1e-12);
      CHECK(std::abs(meeting[static_cast<std::size_t>(row) * width + i] - by_meeting[i]) < 1e-12);
    }
    asked.with_other = false;
    const std::vector<double> start = asked.worth(0);
    for (std::size_t k = 0; k < n_outputs; ++k) CHECK(std::abs(start[k] - base[k]) < 1e-12);
  }
}

void test_quadrature() {
  for (const int n : {1, 2, 5, 16, 64}) {
    const Quadrature points(n);
    for (int degree = 0; degree < 2 * n; ++degree) {
      double integral = 0;
      for (std::size_t i = 0; i < points.point.size(); ++i) integral += points.weight[i] * std::pow(points.point[i], degree);
      CHECK(std::abs(integral - 1.0 / (degree + 1)) < 1e-13);
    }
  }
}

// A chain of many columns: as deep as it gets, and with more points than one batch has.
void test_chain(int depth) {
  TreeBuilder builder;
  builder.start(1, true);
  NodeId node = 0;
  for (int d = 0; d < depth; ++d) {
    SplitRule rule;
    rule.feature = d;
    rule.threshold = 0.5;
    node = builder.split(node, rule, 2);
    *builder.counts(node) = 1;
    *builder.counts(node + 1) = 1;
  }
  const Tree tree = builder.finish();
  std::vector<double> row(static_cast<std::size_t>(depth), 0.0), table(static_cast<std::size_t>(depth) + 1, 0.0);
  const std::vector<NodeId> leaves = leaves_of(tree);
  // Only the end of the chain counts: all columns have the same role there.
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    std::int32_t steps = 0;
    for (NodeId at = 0; tree.feature[static_cast<std::size_t>(at)] >= 0; ++steps)
      at = tree.child_nodes[static_cast<std::size_t>(tree.child_start[static_cast<std::size_t>(at)])];
    NodeId end = 0;
    while (tree.feature[static_cast<std::size_t>(end)] >= 0)
      end = tree.child_nodes[static_cast<std::size_t>(tree.child_start[static_cast<std::size_t>(end)])];
    if (leaves[i] == end) table[i] = 1;
    CHECK(steps == depth);
  }
  const LeafTables tables = LeafTables::of(1, {table.size()}, {table.data()});
  const Matrix rows{row.data(), false, 1, depth, depth, 1};
  const TreeSource source{1, [&](std::size_t) { return tree; }};
  std::vector<double> values(row.size(), 0.0);
  double base = 0;
  ThreadPool pool(1);
  Interrupt interrupt;
  path_values({source, tables, rows}, pool, interrupt, values.data(), &base);
  for (const double value : values) CHECK(std::abs(value - (1 - base) / depth) < 1e-13);
}

}  // namespace

void explain_tests() {
  Engine engine(11);
  for (int trial = 0; trial < 12; ++trial)
    for (const std::size_t n_outputs : {std::size_t{1}, std::size_t{3}, std::size_t{20}})
      test_tree(engine, n_outputs, 1 + trial % 3);
  test_quadrature();
  for (const int depth : {1, 7, 40, 300}) test_chain(depth);
}
