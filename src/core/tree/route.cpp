#include "tree/route.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace petiole {
namespace {

constexpr int kRowsPerItem = 4096;  // rows one thread takes at a time
constexpr std::int32_t kMissing = -1;

template <class T>
bool any_nan(const T* row, std::int64_t n, std::int64_t stride) {
  bool found = false;
  for (std::int64_t j = 0; j < n; ++j) found |= std::isnan(row[j * stride]);
  return found;
}

}  // namespace

Router::Router(const Tree& tree) : category_branch_(tree.category_branch), projection_(tree.projection) {
  const auto n_classes = static_cast<std::size_t>(tree.n_classes);
  const auto weight_of = [&](NodeId node) {
    const auto at = static_cast<std::size_t>(node);
    if (!tree.spread_weights.empty()) return tree.spread_weights[at];
    const double* counts = tree.counts.data() + at * n_classes;
    return std::accumulate(counts, counts + n_classes, 0.0);
  };
  leaf_index_.reserve(tree.n_nodes());
  for (const std::int32_t feature : tree.feature) leaf_index_.push_back(feature < 0 ? n_leaves_++ : -1);
  original_.push_back(0);
  std::vector<std::int32_t> pending{0};
  steps_.resize(tree.n_nodes());
  details_.resize(tree.n_nodes());
  share_.assign(tree.n_nodes(), 1.0);
  while (!pending.empty()) {
    const auto here = static_cast<std::size_t>(pending.back());
    pending.pop_back();
    const auto id = static_cast<std::size_t>(original_[here]);
    const std::int32_t begin = tree.child_start[id], n_children = tree.child_start[id + 1] - begin;
    const std::int32_t n_categories = tree.category_start[id + 1] - tree.category_start[id];
    const auto first = static_cast<std::int32_t>(original_.size());
    const auto terms = tree.projection_of(id);
    details_[here] = {n_children,
                      tree.missing_branch[id],
                      tree.category_start[id],
                      n_categories,
                      terms.empty() ? 0 : tree.projection_start[id],
                      static_cast<std::int32_t>(terms.size())};
    if (n_children == 0) {
      steps_[here] = {std::numeric_limits<double>::infinity(), 0, static_cast<std::int32_t>(here)};
      continue;
    }
    steps_[here] = {tree.threshold[id], tree.feature[id], first};
    only_thresholds_ &= n_categories == 0 && n_children <= 3 && terms.size() <= 2;
    n_features_needed_ = std::max(n_features_needed_, tree.feature[id] + 1);
    for (const ProjectionTerm& term : terms) n_features_needed_ = std::max(n_features_needed_, term.feature + 1);
    double total = 0;
    for (std::int32_t c = 0; c < n_children; ++c) {
      const NodeId child = tree.child_nodes[static_cast<std::size_t>(begin + c)];
      original_.push_back(child);
      total += weight_of(child);
    }
    for (std::int32_t c = 0; c < n_children; ++c) {
      const auto child = static_cast<std::size_t>(first + c);
      share_[child] = total > 0 ? weight_of(original_[child]) / total : 1.0 / n_children;
    }
    for (std::int32_t c = n_children; c-- > 0;) pending.push_back(first + c);
  }
  if (only_thresholds_ && !projection_.empty()) lay_pairs();
}

void Router::lay_pairs() {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const Detail& detail = details_[i];
    PairStep pair{step.threshold, detail.n_children == 0 ? 0.0 : 1.0, 0.0, step.feature, step.feature, step.first_child};
    const ProjectionTerm* terms = projection_.data() + detail.projection_start;
    if (detail.n_terms > 0) pair.first_weight = terms[0].weight;
    if (detail.n_terms > 1) {
      pair.second = terms[1].feature;
      pair.second_weight = terms[1].weight;
    }
    pairs_.push_back(pair);
  }
}

// The branch of a value, or kMissing where it is to be spread.
std::int32_t Router::branch(std::int32_t node, double value) const {
  const Detail& detail = details_[static_cast<std::size_t>(node)];
  if (detail.n_categories > 0) {
    std::int32_t branch = kMissing;
    if (value >= 0 && value < detail.n_categories)
      branch = category_branch_[static_cast<std::size_t>(detail.category_start + static_cast<std::int32_t>(value))];
    return branch >= 0 ? branch : detail.missing_branch;
  }
  if (std::isnan(value)) return detail.missing_branch;
  return value > steps_[static_cast<std::size_t>(node)].threshold;
}

template <class T>
double Router::tested_value(std::int32_t node, const T* row, std::int64_t column_stride) const {
  const Detail& detail = details_[static_cast<std::size_t>(node)];
  if (detail.n_terms == 0) return static_cast<double>(row[steps_[static_cast<std::size_t>(node)].feature * column_stride]);
  return projected(projection_.data() + detail.projection_start, static_cast<std::size_t>(detail.n_terms), row,
                   column_stride);
}

std::int32_t Router::heaviest_child(std::int32_t node) const {
  const auto first = share_.begin() + steps_[static_cast<std::size_t>(node)].first_child;
  return static_cast<std::int32_t>(std::max_element(first, first + details_[static_cast<std::size_t>(node)].n_children) -
                                   first);
}

template <class T>
std::int32_t Router::walk_one(const T* row, std::int64_t column_stride) const {
  std::int32_t node = 0;
  while (details_[static_cast<std::size_t>(node)].n_children > 0) {
    const Step& step = steps_[static_cast<std::size_t>(node)];
    const std::int32_t taken = branch(node, tested_value(node, row, column_stride));
    node = step.first_child + (taken == kMissing ? heaviest_child(node) : taken);
  }
  return node;
}

// Walks kBlock complete rows through thresholds only.
template <class T>
void Router::walk_block(const std::array<const T*, kBlock>& row, std::int64_t stride, std::int32_t* nodes) const {
  std::fill_n(nodes, kBlock, 0);
  const Step* steps = steps_.data();
  for (std::int32_t changed = 1; changed != 0;) {
    changed = 0;
    for (int i = 0; i < kBlock; ++i) {
      const Step& step = steps[nodes[i]];
      const auto value = static_cast<double>(row[static_cast<std::size_t>(i)][step.feature * stride]);
      const std::int32_t next = step.first_child + (value > step.threshold);
      changed |= next ^ nodes[i];
      nodes[i] = next;
    }
  }
}

template <class T>
std::uint32_t Router::walk_pairs(const std::array<const T*, kBlock>& row, std::int64_t stride, std::int32_t* nodes) const {
  std::fill_n(nodes, kBlock, 0);
  const PairStep* steps = pairs_.data();
  std::uint32_t undefined = 0;
  for (std::int32_t changed = 1; changed != 0;) {
    changed = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const PairStep& step = steps[nodes[i]];
      const double value = step.first_weight * static_cast<double>(row[i][step.first * stride]) +
                           step.second_weight * static_cast<double>(row[i][step.second * stride]);
      const std::int32_t next = step.first_child + (value > step.threshold);
      undefined |= std::uint32_t{std::isnan(value)} << i;
      changed |= next ^ nodes[i];
      nodes[i] = next;
    }
  }
  return undefined;
}

template <class T>
std::uint32_t Router::walk_together(const std::array<const T*, kBlock>& row, std::int64_t stride, std::int32_t* nodes) const {
  constexpr std::uint32_t kAll = (1u << kBlock) - 1;
  if (!only_thresholds_) return kAll;
  if (!pairs_.empty()) return walk_pairs(row, stride, nodes);
  walk_block(row, stride, nodes);
  return 0;
}

template <class T, class F>
void Router::spread(const T* row, std::int64_t column_stride, bool whole_path, F&& visit) const {
  struct Part {
    std::int32_t node;
    double weight;
  };
  std::vector<Part> pending{{0, 1.0}};
  while (!pending.empty()) {
    const Part part = pending.back();
    pending.pop_back();
    const auto here = static_cast<std::size_t>(part.node);
    const std::int32_t n_children = details_[here].n_children;
    if (whole_path || n_children == 0) visit(part.node, part.weight);
    if (n_children == 0) continue;
    const std::int32_t first = steps_[here].first_child;
    const std::int32_t taken = branch(part.node, tested_value(part.node, row, column_stride));
    if (taken != kMissing) {
      pending.push_back({first + taken, part.weight});
      continue;
    }
    for (std::int32_t c = n_children; c-- > 0;) {
      const double share = share_[static_cast<std::size_t>(first + c)];
      if (share > 0) pending.push_back({first + c, part.weight * share});
    }
  }
}

namespace {

// Runs body(first row, last row) over the rows in pieces.
template <class F>
void over_rows(std::int64_t n_rows, ThreadPool& pool, F&& body) {
  const auto n_items = static_cast<int>((n_rows + kRowsPerItem - 1) / kRowsPerItem);
  pool.run(n_items, [&](int, int item) {
    const std::int64_t begin = static_cast<std::int64_t>(item) * kRowsPerItem;
    body(begin, std::min(n_rows, begin + kRowsPerItem));
  });
}

}  // namespace

void Router::apply(const Matrix& queries, ThreadPool& pool, std::int32_t* leaves) const {
  over_rows(queries.n_rows, pool, [&](std::int64_t begin, std::int64_t end) { apply(queries, begin, end, leaves, 1); });
}

void Router::apply(const Matrix& queries, std::int64_t begin, std::int64_t end, std::int32_t* leaves,
                   std::size_t stride) const {
  queries.visit([&](const auto* data) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int32_t node = walk_one(data + i * queries.row_stride, queries.column_stride);
      leaves[static_cast<std::size_t>(i) * stride] = original_[static_cast<std::size_t>(node)];
    }
  });
}

void Router::average(const Matrix& queries, const double* table, std::int64_t n_columns, ThreadPool& pool,
                     double* out) const {
  const auto row_of = [&](std::int32_t node) {
    return table + static_cast<std::int64_t>(original_[static_cast<std::size_t>(node)]) * n_columns;
  };
  queries.visit([&](const auto* data) {
    over_rows(queries.n_rows, pool, [&](std::int64_t begin, std::int64_t end) {
      std::array<std::int32_t, kBlock> nodes;
      std::array<decltype(data), kBlock> lanes;
      for (std::int64_t i = begin; i < end; i += kBlock) {
        const int n = static_cast<int>(std::min<std::int64_t>(kBlock, end - i));
        const auto* rows = data + i * queries.row_stride;
        for (int r = 0; r < kBlock; ++r) lanes[static_cast<std::size_t>(r)] = rows + std::min(r, n - 1) * queries.row_stride;
        const std::uint32_t alone = walk_together(lanes, queries.column_stride, nodes.data());
        for (int r = 0; r < n; ++r) {
          const auto* row = rows + r * queries.row_stride;
          double* to = out + (i + r) * n_columns;
          if ((alone >> r & 1) == 0 && !any_nan(row, queries.n_columns, queries.column_stride)) {
            std::copy_n(row_of(nodes[static_cast<std::size_t>(r)]), n_columns, to);
            continue;
          }
          std::fill_n(to, n_columns, 0.0);
          spread(row, queries.column_stride, false, [&](std::int32_t node, double weight) {
            for (std::int64_t k = 0; k < n_columns; ++k) to[k] += weight * row_of(node)[k];
          });
        }
      }
    });
  });
}

void Router::reach(const Matrix& queries, const RowId* rows, std::size_t n, bool complete, TreeReach& reach) const {
  queries.visit([&](const auto* data) {
    std::array<decltype(data), kBlock> lanes;
    std::array<std::int32_t, kBlock> nodes;
    for (std::size_t begin = 0; begin < n; begin += kBlock) {
      const std::size_t in_block = std::min<std::size_t>(kBlock, n - begin);
      for (std::size_t r = 0; r < kBlock; ++r)
        lanes[r] = data + static_cast<std::int64_t>(rows[begin + std::min(r, in_block - 1)]) * queries.row_stride;
      const std::uint32_t alone = walk_together(lanes, queries.column_stride, nodes.data());
      for (std::size_t r = 0; r < in_block; ++r) {
        const RowId row = rows[begin + r];
        if ((alone >> r & 1) == 0 && (complete || !any_nan(lanes[r], queries.n_columns, queries.column_stride))) {
          reach.leaves()[row] = leaf_index(nodes[r]);
          continue;
        }
        reach_spread(lanes[r], queries.column_stride, row, reach);
      }
    }
  });
}

template <class T>
void Router::reach_spread(const T* row, std::int64_t column_stride, std::size_t at, TreeReach& reach) const {
  spread(row, column_stride, false, [&](std::int32_t node, double weight) { reach.add_part(leaf_index(node), weight); });
  reach.end_row(at);
}

template void Router::reach_spread(const float*, std::int64_t, std::size_t, TreeReach&) const;
template void Router::reach_spread(const double*, std::int64_t, std::size_t, TreeReach&) const;

NodeWeights Router::traverse(const Matrix& queries, bool whole_path) const {
  NodeWeights result;
  queries.visit([&](const auto* data) {
    for (std::int64_t i = 0; i < queries.n_rows; ++i) {
      spread(data + i * queries.row_stride, queries.column_stride, whole_path, [&](std::int32_t node, double weight) {
        result.node.push_back(original_[static_cast<std::size_t>(node)]);
        result.weight.push_back(weight);
      });
      result.start.push_back(static_cast<std::int64_t>(result.node.size()));
    }
  });
  return result;
}

void Router::count(const Matrix& queries, const ClassId* labels, const double* weights, std::int64_t n_classes,
                   double* counts) const {
  queries.visit([&](const auto* data) {
    for (std::int64_t i = 0; i < queries.n_rows; ++i) {
      const double row_weight = weights == nullptr ? 1.0 : weights[i];
      spread(data + i * queries.row_stride, queries.column_stride, true, [&](std::int32_t node, double weight) {
        counts[static_cast<std::int64_t>(original_[static_cast<std::size_t>(node)]) * n_classes + labels[i]] +=
            weight * row_weight;
      });
    }
  });
}

}  // namespace petiole
