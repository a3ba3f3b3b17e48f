#include "tree/order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace petiole {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An interval that is open below and closed above.
struct Interval {
  double low = -kInfinity, high = kInfinity;

  bool is_empty() const { return !(low < high); }
};

// Where the values of two rows in one column may still be.
struct TwoValues {
  Interval lower, upper;
  bool both_missing = true;
  std::vector<std::uint8_t> category;  // that both may have; not made for numeric columns

  // Whether the lower row can become the upper one.
  bool may_follow(int sign) const {
    if (both_missing) return true;
    if (!category.empty()) return std::find(category.begin(), category.end(), 1) != category.end();
    if (lower.is_empty() || upper.is_empty()) return false;
    if (sign > 0) return lower.low < upper.high;
    if (sign < 0) return upper.low < lower.high;
    return std::max(lower.low, upper.low) < std::min(lower.high, upper.high);
  }
};

// Walks a tree with two rows and finds the pairs of cells that they can be in.
class PairWalk {
 public:
  explicit PairWalk(const SplitTree& tree)
      : tree_(tree),
        columns_(static_cast<std::size_t>(tree.n_columns)),
        depth_(tree.nodes.size(), 0),
        is_ordered_(tree.nodes.size(), 0) {
    std::vector<NodeId> top_down{0};
    for (std::size_t at = 0; at < top_down.size(); ++at) {
      const SplitTree::Node& node = tree_.node(top_down[at]);
      for (std::int32_t c = 0; c < node.n_children; ++c) {
        top_down.push_back(tree_.child(node, c));
        depth_[index(top_down.back())] = depth_[index(top_down[at])] + 1;
      }
    }
    for (std::size_t at = top_down.size(); at-- > 0;) {
      const SplitTree::Node& node = tree_.node(top_down[at]);
      bool ordered = node.sign != 0;
      for (std::int32_t c = 0; c < node.n_children; ++c) ordered |= is_ordered_[index(tree_.child(node, c))] != 0;
      is_ordered_[index(top_down[at])] = ordered;
    }
  }

  // Calls found(lower, upper) for each pair of two cells.
  template <class F>
  void walk(F&& found) {
    visit(0, 0, found);
  }

 private:
  static std::size_t index(NodeId id) { return static_cast<std::size_t>(id); }

  template <class F>
  void visit(NodeId lower, NodeId upper, F& found) {
    if (lower == upper && !is_ordered_[index(lower)]) return;
    const bool lower_ends = tree_.node(lower).column < 0, upper_ends = tree_.node(upper).column < 0;
    if (lower_ends && upper_ends) return found(lower, upper);
    const bool moves_lower = upper_ends || (!lower_ends && depth_[index(lower)] <= depth_[index(upper)]);
    const SplitTree::Node& node = tree_.node(moves_lower ? lower : upper);
    TwoValues& values = columns_[index(node.column)];
    const TwoValues before = values;
    for (std::int32_t branch = 0; branch < node.n_children; ++branch) {
      restrict(node, branch, moves_lower, values);
      if (values.may_follow(node.sign)) {
        const NodeId child = tree_.child(node, branch);
        visit(moves_lower ? child : lower, moves_lower ? upper : child, found);
      }
      values = before;
    }
  }

  // One of the two rows takes a branch.
  void restrict(const SplitTree::Node& node, std::int32_t branch, bool is_lower, TwoValues& values) const {
    values.both_missing &= branch == node.missing_child;
    if (node.n_categories > 0) {
      auto& category = values.category;
      category.resize(std::max(category.size(), static_cast<std::size_t>(node.n_categories)), 1);
      for (std::size_t code = 0; code < category.size(); ++code) {
        std::int32_t taken = -1;
        if (code < static_cast<std::size_t>(node.n_categories))
          taken = tree_.branch_of_category[static_cast<std::size_t>(node.first_category) + code];
        category[code] &= (taken >= 0 ? taken : node.missing_child) == branch;
      }
      return;
    }
    Interval& interval = is_lower ? values.lower : values.upper;
    if (branch == 0)
      interval.high = std::min(interval.high, node.threshold);
    else if (branch == 1)
      interval.low = std::max(interval.low, node.threshold);
    else
      interval.high = -kInfinity;
  }

  const SplitTree& tree_;
  std::vector<TwoValues> columns_;
  std::vector<std::int32_t> depth_;
  std::vector<std::uint8_t> is_ordered_;  // whether a split in or below a node is at a constrained column
};

// Cells so that none comes before one that is below it: children in the order in which their answers may rise.
std::vector<NodeId> cells_from_below(const SplitTree& tree) {
  std::vector<NodeId> cells, pending{0};
  while (!pending.empty()) {
    const NodeId id = pending.back();
    const SplitTree::Node& node = tree.node(id);
    pending.pop_back();
    if (node.column < 0) {
      cells.push_back(id);
      continue;
    }
    for (std::int32_t c = 0; c < node.n_children; ++c)
      pending.push_back(tree.child(node, node.sign < 0 ? c : node.n_children - 1 - c));
  }
  return cells;
}

}  // namespace

int sign_of_sum(std::span<const ProjectionTerm> terms, Signs signs) {
  int sign = 0;
  for (const ProjectionTerm& term : terms) {
    const int of_term = signs[static_cast<std::size_t>(term.feature)] * (term.weight < 0 ? -1 : 1);
    if (of_term == 0) continue;
    if (sign != 0 && sign != of_term) return kBothWays;
    sign = of_term;
  }
  return sign;
}

SplitTree split_tree(const Tree& tree, Signs signs) {
  SplitTree splits;
  splits.n_columns = static_cast<std::int32_t>(signs.size());
  splits.children = tree.child_nodes;
  splits.branch_of_category = tree.category_branch;
  splits.nodes.resize(tree.n_nodes());
  for (std::size_t i = 0; i < tree.n_nodes(); ++i) {
    if (tree.feature[i] < 0) continue;
    const auto terms = tree.projection_of(i);
    const int sign = terms.empty() ? signs[static_cast<std::size_t>(tree.feature[i])] : sign_of_sum(terms, signs);
    if (sign == kBothWays) continue;
    splits.nodes[i] = {terms.empty() ? tree.feature[i] : splits.n_columns++,
                       sign,
                       tree.threshold[i],
                       tree.child_start[i],
                       tree.child_start[i + 1] - tree.child_start[i],
                       tree.missing_branch[i],
                       tree.category_start[i],
                       tree.category_start[i + 1] - tree.category_start[i]};
  }
  return splits;
}

CellOrder cell_order(const SplitTree& tree) {
  CellOrder order{cells_from_below(tree), {}, {}};
  std::vector<std::uint32_t> position(tree.nodes.size());
  for (std::size_t i = 0; i < order.cells.size(); ++i)
    position[static_cast<std::size_t>(order.cells[i])] = static_cast<std::uint32_t>(i);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;  // upper, lower
  PairWalk(tree).walk([&](NodeId lower, NodeId upper) {
    pairs.emplace_back(position[static_cast<std::size_t>(upper)], position[static_cast<std::size_t>(lower)]);
  });
  order.start.assign(order.cells.size() + 1, 0);
  for (const auto& [upper, lower] : pairs) ++order.start[upper + 1];
  std::partial_sum(order.start.begin(), order.start.end(), order.start.begin());
  order.below.resize(pairs.size());
  std::vector<std::uint32_t> next(order.start.begin(), order.start.end() - 1);
  for (const auto& [upper, lower] : pairs) order.below[next[upper]++] = lower;
  return order;
}

std::vector<std::uint32_t> cells_of_nodes(const Tree& tree, const CellOrder& order) {
  std::vector<std::uint32_t> cell(tree.n_nodes(), kNoCell);
  std::vector<NodeId> pending;
  for (std::size_t i = 0; i < order.cells.size(); ++i) {
    pending.push_back(order.cells[i]);
    while (!pending.empty()) {
      const auto node = static_cast<std::size_t>(pending.back());
      pending.pop_back();
      cell[node] = static_cast<std::uint32_t>(i);
      for (std::int32_t c = tree.child_start[node]; c < tree.child_start[node + 1]; ++c)
        pending.push_back(tree.child_nodes[static_cast<std::size_t>(c)]);
    }
  }
  return cell;
}

namespace {

// Disjoint sets of cells, each with its weight, its sum, and the blocks that are below it.
class BlockList {
 public:
  BlockList(const CellOrder& order, std::span<const double> values, std::span<const double> weights)
      : parent_(values.size()),
        weight_(weights.begin(), weights.end()),
        sum_(values.size()),
        value_(values.begin(), values.end()),
        below_(values.size()),
        seen_(values.size(), kNoCell) {
    std::iota(parent_.begin(), parent_.end(), 0u);
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum_[i] = values[i] * weights[i];
      below_[i].assign(order.below.begin() + order.start[i], order.below.begin() + order.start[i + 1]);
    }
  }

  std::uint32_t find(std::uint32_t cell) {
    while (parent_[cell] != cell) cell = parent_[cell] = parent_[parent_[cell]];
    return cell;
  }
  double value(std::uint32_t block) const { return value_[block]; }

  // The block with the largest value of those below; kNoCell if there is none. What is below is listed anew by blocks.
  std::uint32_t highest_below(std::uint32_t block) {
    auto& below = below_[block];
    std::uint32_t highest = kNoCell;
    std::size_t n = 0;
    ++mark_;
    for (const std::uint32_t cell : below) {
      const std::uint32_t other = find(cell);
      if (other == block || seen_[other] == mark_) continue;
      seen_[other] = mark_;
      below[n++] = other;
      if (highest == kNoCell || value(other) > value(highest)) highest = other;
    }
    below.resize(n);
    return highest;
  }

  void join(std::uint32_t block, std::uint32_t other) {
    parent_[other] = block;
    weight_[block] += weight_[other];
    sum_[block] += sum_[other];
    value_[block] = sum_[block] / weight_[block];
    below_[block].insert(below_[block].end(), below_[other].begin(), below_[other].end());
    below_[other] = {};
  }

 private:
  std::vector<std::uint32_t> parent_;
  std::vector<double> weight_, sum_, value_;
  std::vector<std::vector<std::uint32_t>> below_;
  std::vector<std::uint32_t> seen_;
  std::uint32_t mark_ = 0;
};

}  // namespace

Pooled pool_violators(const CellOrder& order, std::span<const double> values, std::span<const double> weights) {
  const auto n = static_cast<std::uint32_t>(values.size());
  BlockList blocks(order, values, weights);
  for (std::uint32_t cell = 0; cell < n; ++cell)
    for (;;) {
      const std::uint32_t highest = blocks.highest_below(cell);
      if (highest == kNoCell || !(blocks.value(highest) > blocks.value(cell))) break;
      blocks.join(cell, highest);
    }
  Pooled pooled{std::vector<std::uint32_t>(n), std::vector<double>(n)};
  for (std::uint32_t cell = 0; cell < n; ++cell) {
    pooled.block[cell] = blocks.find(cell);
    double value = blocks.value(pooled.block[cell]);
    // Means that are equal but for rounding are made to rise.
    for (std::uint32_t i = order.start[cell]; i < order.start[cell + 1]; ++i)
      value = std::max(value, pooled.value[order.below[i]]);
    pooled.value[cell] = value;
  }
  return pooled;
}

}  // namespace petiole
