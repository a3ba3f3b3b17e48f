#include "explain/shapley.hpp"

#include <algorithm>
#include <stdexcept>

#include "explain/meeting_walk.hpp"
#include "explain/product_walk.hpp"

namespace petiole {

std::vector<double> unknown_by_shares(const GameTree& tree) {
  // Of a node: the products of all players that have a split above it, as a list that begins with the nearest one.
  struct Link {
    std::int32_t player, next;
    double unknown;
  };
  std::vector<Link> links;
  std::vector<std::int32_t> first(tree.nodes().size(), -1);
  std::vector<double> unknown(tree.nodes().size(), 1.0);
  for (std::size_t i = 0; i < tree.nodes().size(); ++i) {  // parents come before children
    const GameTree::Node& node = tree.nodes()[i];
    if (node.n_children == 0) continue;
    double before = 1;
    for (std::int32_t link = first[i]; link >= 0; link = links[static_cast<std::size_t>(link)].next)
      if (links[static_cast<std::size_t>(link)].player == node.player) {
        before = links[static_cast<std::size_t>(link)].unknown;
        break;
      }
    for (std::int32_t child = node.first_child; child < node.first_child + node.n_children; ++child) {
      const auto at = static_cast<std::size_t>(child);
      unknown[at] = before * tree.share(child);
      first[at] = static_cast<std::int32_t>(links.size());
      links.push_back({node.player, first[i], unknown[at]});
    }
  }
  return unknown;
}

namespace {

constexpr std::int64_t kRowsPerItem = 16;

// One tree of a task.
struct Turn {
  GameTree game;
  LeafValues leaves;
};

Turn turn_of(const ShapleyTask& task, std::size_t t) {
  Turn turn{GameTree(task.trees.tree(t), task.rows.n_columns), {task.tables, t}};
  if (static_cast<std::size_t>(turn.game.n_leaves()) != task.tables.n_leaves(t))
    throw std::invalid_argument("the tables belong to other trees");
  if (turn.game.n_features_needed() > task.rows.n_columns)
    throw std::invalid_argument("the matrix has fewer columns than the trees test");
  return turn;
}

// What each branch is taken by, for one row of a matrix.
bool decide(const GameTree& game, const Matrix& matrix, std::int64_t row, std::vector<std::int32_t>& taken) {
  return matrix.visit(
      [&](const auto* data) { return game.decide(data + row * matrix.row_stride, matrix.column_stride, taken.data()); });
}

// Where the values of a row's players are collected: those of columns in place, those of sums to be divided.
class Values {
 public:
  Values(const GameTree& game, std::size_t n_outputs)
      : game_(game), n_outputs_(n_outputs), values_(game.n_players() * n_outputs) {}

  double* start() {
    std::fill(values_.begin(), values_.end(), 0.0);
    return values_.data();
  }

  void add_to(double* out) const {
    const std::size_t of_columns = game_.n_columns() * n_outputs_;
    for (std::size_t i = 0; i < of_columns; ++i) out[i] += values_[i];
    for (std::size_t s = 0; s < game_.sums().size(); ++s) {
      const auto& columns = game_.sums()[s];
      const double* const of_sum = values_.data() + of_columns + s * n_outputs_;
      for (const std::int32_t column : columns)
        for (std::size_t k = 0; k < n_outputs_; ++k)
          out[static_cast<std::size_t>(column) * n_outputs_ + k] += of_sum[k] / static_cast<double>(columns.size());
    }
  }

 private:
  const GameTree& game_;
  std::size_t n_outputs_;
  std::vector<double> values_;
};

// Runs explain(row, scratch, out of the row) for all rows, in parallel; `make_scratch` makes what a thread needs.
template <class MakeScratch, class Explain>
void over_rows(const ShapleyTask& task, ThreadPool& pool, double* out, MakeScratch&& make_scratch, Explain&& explain) {
  const std::int64_t n_rows = task.rows.n_rows;
  const auto stride = static_cast<std::size_t>(task.rows.n_columns) * task.n_outputs();
  const auto n_items = static_cast<int>((n_rows + kRowsPerItem - 1) / kRowsPerItem);
  std::vector<std::unique_ptr<std::remove_reference_t<decltype(*make_scratch())>>> scratch(
      static_cast<std::size_t>(pool.n_threads()));
  pool.run(n_items, [&](int thread, int item) {
    auto& own = scratch[static_cast<std::size_t>(thread)];
    if (!own) own = make_scratch();
    const std::int64_t begin = item * kRowsPerItem, end = std::min(n_rows, begin + kRowsPerItem);
    for (std::int64_t row = begin; row < end; ++row) explain(row, *own, out + static_cast<std::size_t>(row) * stride);
  });
}

struct PathScratch {
  std::vector<std::int32_t> taken;
  ProductWalk walk;
  Values values;

  explicit PathScratch(const Turn& turn)
      : taken(turn.game.nodes().size()), walk(turn.game, turn.leaves), values(turn.game, turn.leaves.n_outputs()) {}
};

// What a divided row is told if no column of it is known.
void add_divided(const Turn& turn, double* base) {
  std::vector<double> weight(turn.game.nodes().size(), 1.0);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const GameTree::Node& node = turn.game.nodes()[i];
    for (std::int32_t c = 0; c < node.n_children; ++c)
      weight[static_cast<std::size_t>(node.first_child + c)] = weight[i] * turn.game.share(node.first_child + c);
    if (node.n_children == 0) turn.leaves.add(node.leaf, weight[i], base);
  }
}

// The mean over background rows of the leaves' values, where taken says which branches they take.
void add_taken(const Turn& turn, const std::vector<std::int32_t>& taken, double scale, double* base) {
  std::vector<double> weight(turn.game.nodes().size(), 0.0);
  weight[0] = scale;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    if (weight[i] == 0) continue;
    const GameTree::Node& node = turn.game.nodes()[i];
    for (std::int32_t c = 0; c < node.n_children; ++c) {
      const std::int32_t child = node.first_child + c;
      if (taken[i] == c) weight[static_cast<std::size_t>(child)] = weight[i];
      if (taken[i] == GameTree::kDivided) weight[static_cast<std::size_t>(child)] = weight[i] * turn.game.share(child);
    }
    if (node.n_children == 0) turn.leaves.add(node.leaf, weight[i], base);
  }
}

// How the background rows go through a tree: whole ones as bits, divided ones one by one.
struct Background {
  std::vector<std::vector<std::int32_t>> whole, divided;

  Background(const GameTree& game, const Matrix& rows) {
    std::vector<std::int32_t> taken(game.nodes().size());
    for (std::int64_t row = 0; row < rows.n_rows; ++row) (decide(game, rows, row, taken) ? whole : divided).push_back(taken);
  }
};

struct MeetingScratch {
  PathScratch path;
  MeetingWalk walk;

  MeetingScratch(const Turn& turn, const BackgroundBits& bits) : path(turn), walk(turn.game, bits, turn.leaves) {}
};

}  // namespace

void path_values(const ShapleyTask& task, ThreadPool& pool, Interrupt& interrupt, double* out, double* base) {
  for (std::size_t t = 0; t < task.trees.n_trees; ++t) {
    const Turn turn = turn_of(task, t);
    const std::vector<double> unknown = unknown_by_shares(turn.game);
    const std::vector<PointBatch> batches = point_batches(turn.game.most_players());
    over_rows(
        task, pool, out, [&] { return std::make_unique<PathScratch>(turn); },
        [&](std::int64_t row, PathScratch& own, double* to) {
          decide(turn.game, task.rows, row, own.taken);
          double* const values = own.values.start();
          for (const PointBatch& batch : batches) own.walk.add(batch, own.taken.data(), nullptr, unknown.data(), 1, values);
          own.values.add_to(to);
        });
    add_divided(turn, base);
    interrupt.check(static_cast<std::uint64_t>(task.rows.n_rows) * turn.game.nodes().size() * 8);
  }
}

void interventional_values(const ShapleyTask& task, const Matrix& background, ThreadPool& pool, Interrupt& interrupt,
                           double* out, double* base) {
  if (background.n_rows < 1) throw std::invalid_argument("background: must have a row");
  if (background.n_columns != task.rows.n_columns) throw std::invalid_argument("background: must have the rows' columns");
  const double scale = 1.0 / static_cast<double>(background.n_rows);
  for (std::size_t t = 0; t < task.trees.n_trees; ++t) {
    const Turn turn = turn_of(task, t);
    const Background others(turn.game, background);
    const BackgroundBits bits(turn.game, others.whole);
    const std::vector<PointBatch> batches = point_batches(turn.game.most_players());
    over_rows(
        task, pool, out, [&] { return std::make_unique<MeetingScratch>(turn, bits); },
        [&](std::int64_t row, MeetingScratch& own, double* to) {
          const std::int32_t* const taken = own.path.taken.data();
          const bool whole = decide(turn.game, task.rows, row, own.path.taken);
          double* const values = own.path.values.start();
          const auto one_by_one = [&](const std::vector<std::vector<std::int32_t>>& rows) {
            for (const auto& other : rows)
              for (const PointBatch& batch : batches) own.path.walk.add(batch, taken, other.data(), nullptr, scale, values);
          };
          if (whole)
            own.walk.add(taken, scale, values);
          else
            one_by_one(others.whole);
          one_by_one(others.divided);
          own.path.values.add_to(to);
        });
    for (const auto* rows : {&others.whole, &others.divided})
      for (const auto& taken : *rows) add_taken(turn, taken, scale, base);
    interrupt.check(static_cast<std::uint64_t>(task.rows.n_rows) * turn.game.nodes().size() * 32);
  }
}

}  // namespace petiole
