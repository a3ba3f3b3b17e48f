#include "forest/router.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace petiole {
namespace {

constexpr std::size_t kRowsPerBlock = 1024;
constexpr std::size_t kFewRows = 4;  // up to this many rows are walked one by one, through several trees side by side

// The rows of a block by themselves.
Matrix rows_of(const Matrix& queries, const ForestRouter::Block& block) {
  Matrix rows = queries;
  rows.n_rows = static_cast<std::int64_t>(block.n);
  queries.visit([&](const auto* data) { rows.data = data + block.begin * queries.row_stride; });
  return rows;
}

}  // namespace

ForestRouter::OneTree::OneTree(const Tree& tree) : general(tree) {
  const auto& wide = general.steps();
  for (std::size_t i = 0; i < wide.size(); ++i) leaf.push_back(general.leaf_index(static_cast<std::int32_t>(i)));
  if (!general.only_thresholds() || !NarrowStep::fits(wide.size(), general.n_features_needed())) return;
  steps.reserve(wide.size());
  for (const Router::Step& step : wide) steps.emplace_back(step.threshold, step.feature, step.first_child);
}

ForestRouter::ForestRouter(const Forest& forest, ThreadPool& pool) {
  std::vector<std::optional<OneTree>> trees(forest.trees.size());
  pool.run(static_cast<int>(trees.size()), [&](int, int item) {
    const auto t = static_cast<std::size_t>(item);
    trees[t].emplace(unpack(forest.trees[t], forest.n_classes, false));
  });
  for (auto& tree : trees) {
    n_features_needed_ = std::max(n_features_needed_, tree->general.n_features_needed());
    trees_.push_back(std::move(*tree));
  }
}

// Rounds the block's rows down, and marks those with missing values and those that rounding changed.
template <class T>
void ForestRouter::load(const T* data, const Matrix& queries, Scratch& scratch) const {
  const auto n_columns = static_cast<std::size_t>(queries.n_columns);
  const std::size_t n = scratch.block.n;
  scratch.values.resize(n * n_columns);
  scratch.rounded.assign(n, 0);
  scratch.incomplete.assign(n, 0);
  for (std::size_t r = 0; r < n; ++r) {
    const T* row = data + (scratch.block.begin + static_cast<std::int64_t>(r)) * queries.row_stride;
    float* to = scratch.values.data() + r * n_columns;
    bool missing = false, rounded = false;
    for (std::size_t j = 0; j < n_columns; ++j) {
      const T value = row[static_cast<std::int64_t>(j) * queries.column_stride];
      missing |= std::isnan(value);
      if constexpr (std::is_same_v<T, float>) {
        to[j] = value;
      } else {
        to[j] = round_down(value);
        rounded |= static_cast<double>(to[j]) != value;
      }
    }
    scratch.incomplete[r] = missing;
    scratch.rounded[r] = rounded;
  }
}

// Walks the complete rows of a block down one tree. Unless values are exact, a value
// that rounds to a threshold may be on either side of it: such rows are marked -1.
template <bool kExact>
void ForestRouter::walk_rows(const OneTree& tree, Scratch& scratch, TreeReach& reach) const {
  const std::size_t n_columns = scratch.values.size() / scratch.block.n;
  const auto& rows = scratch.complete;
  RowWalk walk;
  for (std::size_t begin = 0; begin < rows.size(); begin += RowWalk::kMostRows) {
    const std::size_t n = std::min(RowWalk::kMostRows, rows.size() - begin);
    for (std::size_t i = 0; i < n; ++i) walk.set_row(i, scratch.values.data() + rows[begin + i] * n_columns);
    walk.walk<kExact>(tree.steps.data(), n, Contiguous{});
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t r = rows[begin + i];
      const bool unsure = !kExact && walk.was_equal(i) && scratch.rounded[r];
      reach.leaves()[r] = unsure ? -1 : tree.leaf[walk.leaf(i)];
    }
  }
}

// One row down all trees that have narrow steps, sixteen trees side by side.
template <class T>
void ForestRouter::walk_trees(const T* row, const Matrix& queries, std::size_t at, Scratch& scratch) const {
  const float* values = scratch.values.data() + at * static_cast<std::size_t>(queries.n_columns);
  std::array<const NarrowStep*, kBlock> steps;
  std::array<std::uint32_t, kBlock> node;
  std::uint32_t doubtful = 0;
  for (std::size_t begin = 0; begin < trees_.size(); begin += kBlock) {
    const std::size_t n = std::min<std::size_t>(kBlock, trees_.size() - begin);
    static const NarrowStep kNowhere(std::numeric_limits<double>::infinity(), 0, 0);
    for (std::size_t i = 0; i < kBlock; ++i) {
      const OneTree& tree = trees_[begin + std::min(i, n - 1)];
      steps[i] = tree.steps.empty() ? &kNowhere : tree.steps.data();
      node[i] = 0;
    }
    doubtful = 0;
    for (std::uint32_t changed = 1; changed != 0;) {
      changed = 0;
      for (std::size_t i = 0; i < kBlock; ++i) {
        const NarrowStep step = steps[i][node[i]];
        const float value = values[step.feature];
        const std::uint32_t next = step.first_child + (value > step.threshold);
        doubtful |= value == step.threshold;
        changed |= next ^ node[i];
        node[i] = next;
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      const OneTree& tree = trees_[begin + i];
      TreeReach& reach = scratch.block.trees[begin + i];
      if (tree.steps.empty() || (doubtful && scratch.rounded[at]))
        tree.general.reach_spread(row, queries.column_stride, at, reach);
      else
        reach.leaves()[at] = tree.leaf[node[i]];
    }
  }
}

void ForestRouter::walk(const Matrix& queries, Scratch& scratch) const {
  Block& block = scratch.block;
  block.trees.resize(trees_.size());
  for (TreeReach& reach : block.trees) reach.reset(block.n);
  queries.visit([&](const auto* data) {
    load(data, queries, scratch);
    const auto row_at = [&](std::size_t r) {
      return data + (block.begin + static_cast<std::int64_t>(r)) * queries.row_stride;
    };
    auto& complete = scratch.complete;
    complete.clear();
    bool exact = true;
    for (RowId r = 0; r < block.n; ++r) {
      if (scratch.incomplete[r]) continue;
      complete.push_back(r);
      exact &= !scratch.rounded[r];
    }
    const bool few = complete.size() <= kFewRows;
    if (few)
      for (const std::size_t r : complete) walk_trees(row_at(r), queries, r, scratch);
    for (std::size_t t = 0; t < trees_.size(); ++t) {
      TreeReach& reach = block.trees[t];
      const bool narrow = !trees_[t].steps.empty();
      if (!few && narrow) {
        if (exact)
          walk_rows<true>(trees_[t], scratch, reach);
        else
          walk_rows<false>(trees_[t], scratch, reach);
      }
      if (!few && !narrow) trees_[t].general.reach(rows_of(queries, block), complete.data(), complete.size(), true, reach);
      if (!few && narrow && !exact) {
        for (const std::size_t r : complete)
          if (reach.leaves()[r] < 0) trees_[t].general.reach_spread(row_at(r), queries.column_stride, r, reach);
      }
      if (complete.size() == block.n) continue;
      for (std::size_t r = 0; r < block.n; ++r)
        if (scratch.incomplete[r]) trees_[t].general.reach_spread(row_at(r), queries.column_stride, r, reach);
    }
  });
}

void add_rows(const TreeReach& reach, std::size_t n_rows, const LeafTables& tables, std::size_t tree, double* out) {
  tables.add_rows(tree, reach.leaves(), n_rows, out);
  for (std::size_t r = 0; r < n_rows; ++r)
    if (reach.is_spread(r))
      reach.visit(r, [&](LeafId leaf, double share) { tables.add_row(tree, leaf, share, out + r * tables.n_columns()); });
}

void ForestRouter::average(const Matrix& queries, const LeafTables& tables, const Members* members, ThreadPool& pool,
                           double* out, double* squares, std::int32_t* n_used) const {
  const std::size_t width = tables.n_columns();
  over_blocks(queries, kRowsPerBlock, pool, [&](std::size_t, const Block& block) {
    double* const to = out + static_cast<std::size_t>(block.begin) * width;
    std::fill_n(to, block.n * width, 0.0);
    double* const to_squares = squares == nullptr ? nullptr : squares + static_cast<std::size_t>(block.begin) * width;
    if (to_squares != nullptr) std::fill_n(to_squares, block.n * width, 0.0);
    std::vector<std::int32_t> used(block.n,
                                   members == nullptr && squares == nullptr ? static_cast<std::int32_t>(trees_.size()) : 0);
    std::vector<double> of_tree(width);
    for (std::size_t t = 0; t < trees_.size(); ++t) {
      const TreeReach& reach = block.trees[t];
      if (members == nullptr && to_squares == nullptr) {
        add_rows(reach, block.n, tables, t, to);
        continue;
      }
      for (std::size_t r = 0; r < block.n; ++r) {
        if (members != nullptr && members->trees[t].copies_of(static_cast<std::size_t>(block.begin) + r) > 0) continue;
        ++used[r];
        if (to_squares == nullptr) {
          reach.visit(r, [&](LeafId leaf, double share) { tables.add_row(t, leaf, share, to + r * width); });
          continue;
        }
        std::fill(of_tree.begin(), of_tree.end(), 0.0);
        reach.visit(r, [&](LeafId leaf, double share) { tables.add_row(t, leaf, share, of_tree.data()); });
        for (std::size_t k = 0; k < width; ++k) {
          to[r * width + k] += of_tree[k];
          to_squares[r * width + k] += of_tree[k] * of_tree[k];
        }
      }
    }
    for (std::size_t r = 0; r < block.n; ++r) {
      const double n = std::max(1, used[r]);
      for (std::size_t k = 0; k < width; ++k) to[r * width + k] /= n;
      for (std::size_t k = 0; k < width && to_squares != nullptr; ++k) to_squares[r * width + k] /= n;
      if (n_used != nullptr) n_used[static_cast<std::size_t>(block.begin) + r] = used[r];
    }
  });
}

void ForestRouter::apply(const Matrix& queries, ThreadPool& pool, std::int32_t* out) const {
  const auto rows = static_cast<std::int64_t>(kRowsPerBlock);
  pool.run(static_cast<int>((queries.n_rows + rows - 1) / rows), [&](int, int item) {
    const std::int64_t begin = item * rows, end = std::min(queries.n_rows, begin + rows);
    for (std::size_t t = 0; t < trees_.size(); ++t) trees_[t].general.apply(queries, begin, end, out + t, trees_.size());
  });
}

Members ForestRouter::members(const Matrix& queries, ThreadPool& pool) const {
  Members members;
  members.n_rows = static_cast<std::size_t>(queries.n_rows);
  members.trees.resize(trees_.size());
  std::vector<RowId> all(members.n_rows);
  for (std::size_t row = 0; row < all.size(); ++row) all[row] = static_cast<RowId>(row);
  pool.run(static_cast<int>(trees_.size()), [&](int, int item) {
    const auto t = static_cast<std::size_t>(item);
    members.trees[t].reach.reset(members.n_rows);
    members.trees[t].n_leaves = trees_[t].general.n_leaves();
    members.trees[t].copies.assign(members.n_rows, 0);
    trees_[t].general.reach(queries, all.data(), all.size(), false, members.trees[t].reach);
  });
  return members;
}

}  // namespace petiole
