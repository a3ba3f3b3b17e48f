#include "boost/router.hpp"

#include <algorithm>
#include <cmath>

namespace petiole::boosting {
namespace {

constexpr std::int64_t kRowsPerBlock = 256;
constexpr std::size_t kFewRows = 4;  // up to this many rows are walked one by one, through several trees side by side
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

// Rounded up, a value is on the same side of every single-precision threshold as before. None is infinite.
float round_up(double value) { return std::clamp(-round_down(-value), -kLargest, kLargest); }

// Everything known is at most the largest number, everything missing may be more.
float narrow_threshold(double threshold) { return threshold == kInfinity ? kLargest : static_cast<float>(threshold); }

}  // namespace

BoostRouter::BoostRouter(const BoostedTrees& trees, int n_scores, int n_features)
    : arrays_(trees),
      n_scores_(n_scores),
      n_features_(n_features),
      slot_number_(static_cast<std::size_t>(n_features) * 2, -1) {
  for (std::size_t t = 0; t < arrays_.n_trees(); ++t) {
    const auto first = static_cast<std::size_t>(arrays_.node_start[t]),
               end = static_cast<std::size_t>(arrays_.node_start[t + 1]);
    OneTree& tree = trees_.emplace_back(OneTree{first, end - first, {}, {}});
    if (is_narrow(tree))
      make_steps(tree);
    else
      ++n_wide_;
  }
}

bool BoostRouter::is_narrow(const OneTree& tree) const {
  for (std::size_t node = tree.first; node < tree.first + tree.n_nodes; ++node) {
    if (arrays_.feature[node] < 0) continue;
    const double threshold = arrays_.threshold[node];
    const bool is_single =
        threshold == kInfinity || (std::abs(threshold) < kLargest && static_cast<float>(threshold) == threshold);
    if (!is_single) return false;  // as is NaN, at categorical splits
  }
  return NarrowStep::fits(tree.n_nodes, static_cast<std::int64_t>(slots_.size() + tree.n_nodes));
}

std::uint32_t BoostRouter::slot_of(std::size_t node) {
  const std::int32_t feature = arrays_.feature[node];
  const bool right = arrays_.missing_right[node] != 0;
  std::int32_t& number = slot_number_[static_cast<std::size_t>(feature) * 2 + right];
  if (number < 0) {
    number = static_cast<std::int32_t>(slots_.size());
    slots_.push_back({feature, right ? kInfinity : -kInfinity});
  }
  return static_cast<std::uint32_t>(number);
}

void BoostRouter::make_steps(OneTree& tree) {
  for (std::size_t i = 0; i < tree.n_nodes; ++i) {
    const std::size_t node = tree.first + i;
    if (arrays_.feature[node] < 0)
      tree.steps.emplace_back(kInfinity, 0, static_cast<std::int32_t>(i));
    else
      tree.steps.emplace_back(narrow_threshold(arrays_.threshold[node]), static_cast<std::int32_t>(slot_of(node)),
                              arrays_.left[node]);
  }
  if (tree.n_nodes + 1 > 2 * SmallTree::kMostLeaves) return;
  tree.small = SmallTree(
      0, [&](std::size_t i) { return std::pair(std::uint32_t{tree.steps[i].feature}, tree.steps[i].threshold); },
      [&](std::size_t i) { return std::size_t{tree.steps[i].first_child}; },
      [&](std::size_t i) { return arrays_.value[tree.first + i]; });
}

template <class T>
void BoostRouter::load(const T* first_row, const Matrix& queries, std::size_t n, Scratch& scratch) const {
  scratch.values.resize(n_slots() * ((n + kLanes - 1) / kLanes * kLanes));
  for (std::size_t begin = 0; begin < n; begin += kLanes) {
    float* const to = scratch.values.data() + begin * n_slots();
    for (std::size_t i = 0; i < kLanes; ++i) {
      const T* row = first_row + static_cast<std::int64_t>(std::min(begin + i, n - 1)) * queries.row_stride;
      for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
        const T value = row[slots_[slot].feature * queries.column_stride];
        to[slot * kLanes + i] = std::isnan(value) ? slots_[slot].missing : round_up(value);
      }
    }
  }
}

void BoostRouter::walk_narrow(const OneTree& tree, std::size_t n, Scratch& scratch, double* out) const {
  const double* const value = arrays_.value.data() + tree.first;
  const auto stride = static_cast<std::size_t>(n_scores_);
  if (tree.small.is_set()) {
    for (std::size_t r = 0; r < n; r += kLanes)
      tree.small.add_to(values_of(scratch, r), std::min(kLanes, n - r), out + r * stride, stride);
    return;
  }
  for (std::size_t begin = 0; begin < n; begin += RowWalk::kMostRows) {
    const std::size_t n_rows = std::min(RowWalk::kMostRows, n - begin);
    for (std::size_t i = 0; i < n_rows; ++i) scratch.walk.set_row(i, values_of(scratch, begin + i));
    scratch.walk.walk<true>(tree.steps.data(), n_rows, Apart{});
    for (std::size_t i = 0; i < n_rows; ++i) out[(begin + i) * stride] += value[scratch.walk.leaf(i)];
  }
}

// One row down all narrow trees, kBlock of them side by side.
void BoostRouter::walk_trees(std::size_t r, const Scratch& scratch, double* out) const {
  static const NarrowStep kNowhere(kInfinity, 0, 0);
  const float* const values = values_of(scratch, r);
  std::array<const NarrowStep*, kBlock> steps;
  std::array<std::uint32_t, kBlock> node;
  for (std::size_t begin = 0; begin < trees_.size(); begin += kBlock) {
    const std::size_t n = std::min<std::size_t>(kBlock, trees_.size() - begin);
    for (std::size_t i = 0; i < kBlock; ++i) {
      const bool is_narrow = i < n && !trees_[begin + i].steps.empty();
      steps[i] = is_narrow ? trees_[begin + i].steps.data() : &kNowhere;
      node[i] = 0;
    }
    for (std::uint32_t changed = 1; changed != 0;) {
      changed = 0;
      for (std::size_t i = 0; i < kBlock; ++i) {
        const NarrowStep step = steps[i][node[i]];
        const std::uint32_t next = step.first_child + (values[step.feature * kLanes] > step.threshold);
        changed |= next ^ node[i];
        node[i] = next;
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      if (!trees_[begin + i].steps.empty())
        out[(begin + i) % static_cast<std::size_t>(n_scores_)] += arrays_.value[trees_[begin + i].first + node[i]];
  }
}

template <class T>
double BoostRouter::walk_wide(const OneTree& tree, const T* row, std::int64_t stride) const {
  std::size_t node = tree.first;
  while (arrays_.feature[node] >= 0) {
    const double value = row[arrays_.feature[node] * stride];
    const auto table = static_cast<std::size_t>(arrays_.category_start[node]);
    const auto n_categories = static_cast<double>(static_cast<std::size_t>(arrays_.category_start[node + 1]) - table);
    bool right = value > arrays_.threshold[node];
    if (std::isnan(value))
      right = arrays_.missing_right[node] != 0;
    else if (n_categories > 0)
      right = value >= 0 && value < n_categories ? arrays_.category_right[table + static_cast<std::size_t>(value)] != 0
                                                 : arrays_.missing_right[node] != 0;
    node = tree.first + static_cast<std::size_t>(arrays_.left[node]) + right;
  }
  return arrays_.value[node];
}

template <class T>
void BoostRouter::add_block(const T* first_row, const Matrix& queries, std::size_t n, Scratch& scratch, double* out) const {
  load(first_row, queries, n, scratch);
  const bool few = n <= kFewRows && n_wide_ == 0;
  for (std::size_t r = 0; few && r < n; ++r) walk_trees(r, scratch, out + r * static_cast<std::size_t>(n_scores_));
  if (few) return;
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    double* const to = out + t % static_cast<std::size_t>(n_scores_);
    if (!trees_[t].steps.empty())
      walk_narrow(trees_[t], n, scratch, to);
    else
      for (std::size_t r = 0; r < n; ++r)
        to[r * static_cast<std::size_t>(n_scores_)] +=
            walk_wide(trees_[t], first_row + static_cast<std::int64_t>(r) * queries.row_stride, queries.column_stride);
  }
}

void BoostRouter::add_scores(const Matrix& queries, ThreadPool& pool, double* out) const {
  const auto n_blocks = static_cast<int>((queries.n_rows + kRowsPerBlock - 1) / kRowsPerBlock);
  std::vector<Scratch> scratch(static_cast<std::size_t>(pool.n_threads()));
  queries.visit([&](const auto* data) {
    pool.run(n_blocks, [&](int thread, int block) {
      const std::int64_t first = block * kRowsPerBlock;
      const auto n = static_cast<std::size_t>(std::min(kRowsPerBlock, queries.n_rows - first));
      add_block(data + first * queries.row_stride, queries, n, scratch[static_cast<std::size_t>(thread)],
                out + first * n_scores_);
    });
  });
}

}  // namespace petiole::boosting
