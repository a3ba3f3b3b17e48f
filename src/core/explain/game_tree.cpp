#include "explain/game_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace petiole {

GameTree::GameTree(const Tree& tree, std::int64_t n_columns)
    : category_branch_(tree.category_branch), projection_(tree.projection), n_columns_(static_cast<std::size_t>(n_columns)) {
  const auto n_classes = static_cast<std::size_t>(tree.n_classes);
  const auto weight_of = [&](NodeId node) {
    const auto at = static_cast<std::size_t>(node);
    if (!tree.spread_weights.empty()) return tree.spread_weights[at];
    const double* counts = tree.counts.data() + at * n_classes;
    return std::accumulate(counts, counts + n_classes, 0.0);
  };
  std::vector<LeafId> leaf_index;
  for (const std::int32_t feature : tree.feature) leaf_index.push_back(feature < 0 ? n_leaves_++ : -1);
  for (const std::int32_t feature : tree.feature) n_features_needed_ = std::max(n_features_needed_, feature + 1);
  for (const ProjectionTerm& term : projection_) n_features_needed_ = std::max(n_features_needed_, term.feature + 1);
  std::vector<NodeId> original{0};
  share_.assign(1, 1.0);
  for (std::size_t here = 0; here < original.size(); ++here) {
    const auto id = static_cast<std::size_t>(original[here]);
    const std::int32_t begin = tree.child_start[id], n_children = tree.child_start[id + 1] - begin;
    const std::int32_t term_start = tree.projection_start.empty() ? 0 : tree.projection_start[id];
    nodes_.push_back({tree.threshold[id], tree.feature[id], player_of(tree, id), static_cast<std::int32_t>(original.size()),
                      n_children, tree.missing_branch[id], tree.category_start[id],
                      tree.category_start[id + 1] - tree.category_start[id], term_start,
                      static_cast<std::int32_t>(tree.projection_of(id).size()), leaf_index[id]});
    double total = 0;
    for (std::int32_t c = 0; c < n_children; ++c) {
      original.push_back(tree.child_nodes[static_cast<std::size_t>(begin + c)]);
      total += weight_of(original.back());
    }
    for (std::int32_t c = 0; c < n_children; ++c) {
      const NodeId child = tree.child_nodes[static_cast<std::size_t>(begin + c)];
      share_.push_back(total > 0 ? weight_of(child) / total : 1.0 / n_children);
    }
  }
  measure_paths();
}

// The columns of a sum in ascending order name it, whatever their weights.
std::int32_t GameTree::player_of(const Tree& tree, std::size_t id) {
  const auto terms = tree.projection_of(id);
  if (terms.size() < 2) return tree.feature[id];
  std::vector<std::int32_t> columns;
  for (const ProjectionTerm& term : terms) columns.push_back(term.feature);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  if (columns.size() == 1) return columns[0];
  const auto found = std::find(sums_.begin(), sums_.end(), columns);
  const auto at = static_cast<std::int32_t>(found - sums_.begin());
  if (found == sums_.end()) sums_.push_back(columns);
  return static_cast<std::int32_t>(n_columns_) + at;
}

void GameTree::measure_paths() {
  struct Step {
    std::int32_t node;
    int depth, n_players;
    bool leaves;  // the node's split is no longer on the path
  };
  std::vector<int> times(n_players(), 0);
  std::vector<Step> pending{{0, 0, 0, false}};
  while (!pending.empty()) {
    const Step step = pending.back();
    pending.pop_back();
    const Node& node = nodes_[static_cast<std::size_t>(step.node)];
    depth_ = std::max(depth_, step.depth);
    most_players_ = std::max(most_players_, step.n_players);
    if (node.n_children == 0) continue;
    int& here = times[static_cast<std::size_t>(node.player)];
    if (step.leaves) {
      --here;
      continue;
    }
    const int n_players = step.n_players + (here++ == 0);
    pending.push_back({step.node, step.depth, step.n_players, true});
    for (std::int32_t c = 0; c < node.n_children; ++c)
      pending.push_back({node.first_child + c, step.depth + 1, n_players, false});
  }
}

template <class T>
std::int32_t GameTree::branch(const Node& node, const T* row, std::int64_t column_stride) const {
  const double value = node.n_terms == 0 ? static_cast<double>(row[node.feature * column_stride])
                                         : projected(projection_.data() + node.term_start,
                                                     static_cast<std::size_t>(node.n_terms), row, column_stride);
  if (node.n_categories > 0) {
    std::int32_t taken = kDivided;
    if (value >= 0 && value < node.n_categories)
      taken = category_branch_[static_cast<std::size_t>(node.category_start + static_cast<std::int32_t>(value))];
    return taken >= 0 ? taken : node.missing_branch;
  }
  if (std::isnan(value)) return node.missing_branch;
  return value > node.threshold;
}

template <class T>
bool GameTree::decide(const T* row, std::int64_t column_stride, std::int32_t* taken) const {
  bool whole = true;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].n_children == 0) continue;
    taken[i] = branch(nodes_[i], row, column_stride);
    whole &= taken[i] != kDivided;
  }
  return whole;
}

template bool GameTree::decide(const float*, std::int64_t, std::int32_t*) const;
template bool GameTree::decide(const double*, std::int64_t, std::int32_t*) const;

}  // namespace petiole
