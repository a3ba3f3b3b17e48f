#include "soft/route.hpp"

#include <atomic>
#include <optional>

#include "soft/walk.hpp"

namespace petiole {
namespace {

constexpr std::size_t kRowsPerBlock = 4096;

// Runs body(thread, item, interrupt): only the calling thread may poll for interrupts, the others read its result.
template <class F>
void run_interruptibly(std::size_t n_items, ThreadPool& pool, Interrupt& interrupt, F&& body) {
  std::atomic<bool> stopped{false};
  std::vector<Interrupt> of_threads;
  for (int t = 0; t < pool.n_threads(); ++t)
    of_threads.emplace_back([&, t] {
      if (t == 0 && interrupt.requested()) stopped = true;
      return stopped.load();
    });
  pool.run(static_cast<int>(n_items), [&](int thread, int item) {
    if (stopped) throw Interrupted();
    const auto mine = static_cast<std::size_t>(thread);
    body(mine, static_cast<std::size_t>(item), of_threads[mine]);
  });
}

std::size_t n_blocks(const Matrix& queries) {
  return (static_cast<std::size_t>(queries.n_rows) + kRowsPerBlock - 1) / kRowsPerBlock;
}

void load_block(const Matrix& queries, std::size_t item, int n_features, RowBlock& block) {
  const std::size_t begin = item * kRowsPerBlock, n = static_cast<std::size_t>(queries.n_rows);
  load(queries, static_cast<std::int64_t>(begin), std::min(kRowsPerBlock, n - begin), static_cast<std::size_t>(n_features),
       block);
}

// The rows of a block, from its first on, that a tree's sample does not hold.
void unseen_rows(const RowBlock& block, std::size_t first, const Members* counted, std::size_t tree,
                 std::vector<std::int32_t>& rows) {
  rows.clear();
  for (std::size_t r = 0; r < block.n; ++r)
    if (counted == nullptr || counted->trees[tree].copies_of(first + r) == 0) rows.push_back(static_cast<std::int32_t>(r));
}

// The buffers of one thread.
template <bool kSlopes>
struct Scratch {
  RowBlock block;
  SoftWalker<kSlopes> walker;
  std::vector<std::int32_t> rows;
};

// Adds the probabilities of a leaf to those of the rows that have a mass in it.
void add_leaf(const double* said, std::size_t width, const std::int32_t* rows, const double* masses, std::size_t n,
              double* to) {
  if (width == 2) {  // two classes are common enough to have their own loop
    const double first = said[0], second = said[1];
    for (std::size_t i = 0; i < n; ++i) {
      double* row = to + 2 * static_cast<std::size_t>(rows[i]);
      row[0] += masses[i] * first;
      row[1] += masses[i] * second;
    }
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    double* row = to + static_cast<std::size_t>(rows[i]) * width;
    for (std::size_t k = 0; k < width; ++k) row[k] += masses[i] * said[k];
  }
}

// Masses as they come, leaf after leaf, put into the order of rows.
class ReachOfBlock {
 public:
  void add(LeafId leaf, const std::int32_t* rows, const double* masses, std::size_t n) {
    rows_.insert(rows_.end(), rows, rows + n);
    masses_.insert(masses_.end(), masses, masses + n);
    leaves_.insert(leaves_.end(), n, leaf);
  }

  void move_to(TreeReach& reach, std::size_t first, std::size_t n_rows) {
    start_.assign(n_rows + 1, 0);
    for (const std::int32_t r : rows_) ++start_[static_cast<std::size_t>(r) + 1];
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    order_.resize(rows_.size());
    auto next = start_;
    for (std::size_t i = 0; i < rows_.size(); ++i) order_[next[static_cast<std::size_t>(rows_[i])]++] = i;
    for (std::size_t r = 0; r < n_rows; ++r) {
      if (start_[r] == start_[r + 1]) continue;
      for (std::size_t i = start_[r]; i < start_[r + 1]; ++i) reach.add_part(leaves_[order_[i]], masses_[order_[i]]);
      reach.end_row(first + r);
    }
    rows_.clear();
    masses_.clear();
    leaves_.clear();
  }

 private:
  std::vector<std::int32_t> rows_;
  std::vector<double> masses_;
  std::vector<LeafId> leaves_;
  std::vector<std::size_t> start_, order_;
};

}  // namespace

SoftRouter::SoftRouter(const Forest& forest, ThreadPool& pool) {
  std::vector<std::optional<SoftTree>> trees(forest.trees.size());
  pool.run(static_cast<int>(trees.size()), [&](int, int item) {
    const auto t = static_cast<std::size_t>(item);
    trees[t].emplace(unpack(forest.trees[t], forest.n_classes, false));
  });
  for (auto& tree : trees) add(std::move(*tree));
}

void SoftRouter::add(SoftTree&& tree) {
  n_features_needed_ = std::max(n_features_needed_, tree.n_features_needed());
  trees_.push_back(std::move(tree));
}

std::vector<SoftTree::Drawn> SoftRouter::drawn(const Perturbation& perturbation) const {
  std::vector<SoftTree::Drawn> found;
  for (const SoftTree& tree : trees_) found.push_back(tree.drawn(perturbation));
  return found;
}

void SoftRouter::average(const Matrix& queries, const LeafTables& tables, const Perturbation& perturbation,
                         const Members* counted, ThreadPool& pool, Interrupt& interrupt, double* out) const {
  const std::size_t width = tables.n_columns();
  const auto of_trees = drawn(perturbation);
  std::vector<Scratch<false>> scratch(static_cast<std::size_t>(pool.n_threads()));
  run_interruptibly(n_blocks(queries), pool, interrupt, [&](std::size_t thread, std::size_t item, Interrupt& mine) {
    auto& [block, walker, rows] = scratch[thread];
    load_block(queries, item, n_features_needed_, block);
    double* const to = out + item * kRowsPerBlock * width;
    std::fill_n(to, block.n * width, 0.0);
    std::vector<double> n_used(block.n, 0.0), room;
    for (std::size_t t = 0; t < trees_.size(); ++t) {
      unseen_rows(block, item * kRowsPerBlock, counted, t, rows);
      for (const std::int32_t r : rows) n_used[static_cast<std::size_t>(r)] += 1;
      walker.walk(trees_[t], of_trees[t], perturbation, block, rows, mine,
                  [&](LeafId leaf, const std::int32_t* of_leaf, const double* masses, std::size_t n, double*) {
                    add_leaf(tables.row(t, leaf, room), width, of_leaf, masses, n, to);
                  });
    }
    for (std::size_t i = 0; i < block.n * width; ++i) to[i] /= n_used[i / width];  // 0 / 0 is NaN
  });
}

Members SoftRouter::members(const Matrix& queries, const Perturbation& perturbation, const Members* counted, ThreadPool& pool,
                            Interrupt& interrupt) const {
  Members found;
  found.n_rows = static_cast<std::size_t>(queries.n_rows);
  found.trees.resize(trees_.size());
  const auto of_trees = drawn(perturbation);
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    found.trees[t].reach.reset(found.n_rows);
    found.trees[t].n_leaves = static_cast<LeafId>(trees_[t].n_leaves());
    found.trees[t].copies.assign(found.n_rows, 0);
    for (std::size_t row = 0; counted != nullptr && row < found.n_rows; ++row)
      found.trees[t].copies[row] = counted->trees[t].copies_of(row);
  }
  RowBlock block;
  std::vector<Scratch<false>> scratch(static_cast<std::size_t>(pool.n_threads()));
  std::vector<ReachOfBlock> reached(scratch.size());
  for (std::size_t b = 0; b < n_blocks(queries); ++b) {
    load_block(queries, b, n_features_needed_, block);
    const std::size_t first = b * kRowsPerBlock;
    run_interruptibly(trees_.size(), pool, interrupt, [&](std::size_t thread, std::size_t t, Interrupt& mine) {
      auto& [unused, walker, rows] = scratch[thread];
      unseen_rows(block, first, counted, t, rows);
      walker.walk(trees_[t], of_trees[t], perturbation, block, rows, mine,
                  [&](LeafId leaf, const std::int32_t* of_leaf, const double* masses, std::size_t n, double*) {
                    reached[thread].add(leaf, of_leaf, masses, n);
                  });
      reached[thread].move_to(found.trees[t].reach, first, block.n);
    });
  }
  return found;
}

double SoftRouter::loss(const Matrix& queries, TrainingRows rows, const LeafTables& tables, const Perturbation& perturbation,
                        const Members* counted, double floor, ThreadPool& pool, Interrupt& interrupt, double* slopes) const {
  const auto n_features = static_cast<std::size_t>(n_features_needed_);
  const std::size_t n_items = n_blocks(queries);
  const auto of_trees = drawn(perturbation);
  std::vector<Scratch<true>> scratch(static_cast<std::size_t>(pool.n_threads()));
  // One for each block, added up in their order: the sum does not depend on the number of threads.
  std::vector<double> losses(n_items, 0.0), block_slopes(n_items * n_features, 0.0);
  run_interruptibly(n_items, pool, interrupt, [&](std::size_t thread, std::size_t item, Interrupt& mine) {
    auto& [block, walker, asked] = scratch[thread];
    load_block(queries, item, n_features_needed_, block);
    const std::size_t first = item * kRowsPerBlock;
    std::vector<double> sums(block.n, 0.0), n_trees(block.n, 0.0), room;
    auto& of_rows = walker.slopes();
    of_rows.assign(n_features * block.capacity, 0.0);
    for (std::size_t t = 0; t < trees_.size(); ++t) {
      unseen_rows(block, first, counted, t, asked);
      for (const std::int32_t r : asked) n_trees[static_cast<std::size_t>(r)] += 1;
      walker.walk(trees_[t], of_trees[t], perturbation, block, asked, mine,
                  [&](LeafId leaf, const std::int32_t* of_leaf, const double* masses, std::size_t n, double* values) {
                    const double* said = tables.row(t, leaf, room);
                    for (std::size_t i = 0; i < n; ++i) {
                      const auto r = static_cast<std::size_t>(of_leaf[i]);
                      values[i] = masses[i] * said[rows.labels[first + r]];
                      sums[r] += values[i];
                    }
                  });
    }
    for (std::size_t r = 0; r < block.n; ++r) {
      if (n_trees[r] == 0) continue;
      const double proba = sums[r] / n_trees[r], weight = rows.weight(first + r);
      losses[item] -= weight * std::log(std::max(proba, floor));
      if (proba <= floor) continue;
      for (std::size_t f = 0; f < n_features; ++f)
        block_slopes[item * n_features + f] -= weight * of_rows[f * block.capacity + r] / sums[r];
    }
  });
  for (std::size_t item = 0; item < n_items; ++item)
    for (std::size_t f = 0; f < n_features; ++f) slopes[f] += block_slopes[item * n_features + f];
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

}  // namespace petiole
