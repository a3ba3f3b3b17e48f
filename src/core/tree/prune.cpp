#include "tree/prune.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace petiole {
namespace {

constexpr double kSlack = 1e-6;         // of comparisons between error estimates
constexpr double kPruningMargin = 0.1;  // C4.5 prunes when the estimate is at most this much worse
constexpr double kCollapseMargin = 1e-3;

struct Node {
  SplitRule split;
  std::vector<double> counts;
  std::vector<Node> children;

  bool is_leaf() const { return children.empty(); }
  double weight() const { return std::accumulate(counts.begin(), counts.end(), 0.0); }
  double errors() const { return weight() - *std::max_element(counts.begin(), counts.end()); }
  void become_leaf() {
    split = SplitRule{};
    children.clear();
  }
};

struct Share {
  RowId row;
  double weight;
};
using Shares = std::vector<Share>;

Node linked(const Tree& tree, NodeId id) {
  const auto i = static_cast<std::size_t>(id);
  const auto width = static_cast<std::size_t>(tree.n_classes);
  Node node;
  node.split = {
      tree.feature[i],
      tree.threshold[i],
      tree.missing_branch[i],
      {tree.category_branch.begin() + tree.category_start[i], tree.category_branch.begin() + tree.category_start[i + 1]},
      {}};
  const auto projection = tree.projection_of(i);
  node.split.projection.assign(projection.begin(), projection.end());
  node.counts.assign(tree.counts.begin() + static_cast<std::ptrdiff_t>(i * width),
                     tree.counts.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
  for (std::int32_t c = tree.child_start[i]; c < tree.child_start[i + 1]; ++c)
    node.children.push_back(linked(tree, tree.child_nodes[static_cast<std::size_t>(c)]));
  return node;
}

void build(const Node& node, NodeId id, TreeBuilder& builder) {
  std::copy(node.counts.begin(), node.counts.end(), builder.counts(id));
  if (node.is_leaf()) return;
  NodeId child = builder.split(id, node.split, static_cast<int>(node.children.size()));
  for (const Node& of : node.children) build(of, child++, builder);
}

Tree built(const Node& root) {
  TreeBuilder builder;
  builder.start(static_cast<int>(root.counts.size()), true);
  build(root, 0, builder);
  return builder.finish();
}

double training_errors(const Node& node) {
  if (node.is_leaf()) return node.errors();
  double errors = 0;
  for (const Node& child : node.children) errors += training_errors(child);
  return errors;
}

void collapse_below(Node& node) {
  if (node.is_leaf()) return;
  if (training_errors(node) >= node.errors() - kCollapseMargin) {
    node.become_leaf();
    return;
  }
  for (Node& child : node.children) collapse_below(child);
}

class ErrorPruner {
 public:
  ErrorPruner(const PruningData& data, double confidence, double z, Interrupt& interrupt)
      : data_(data), confidence_(confidence), z_(z), interrupt_(interrupt) {}

  void prune(Node& root) {
    Shares all(data_.labels.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = {static_cast<RowId>(i), original_weight(static_cast<RowId>(i))};
    prune(root, all);
  }

 private:
  void prune(Node& node, const Shares& rows) {
    interrupt_.check(rows.size() + 1);
    if (node.is_leaf()) return;
    {
      auto parts = divide(node, rows);
      for (std::size_t c = 0; c < node.children.size(); ++c) prune(node.children[c], std::exchange(parts[c], {}));
    }
    Node& heaviest = *std::max_element(node.children.begin(), node.children.end(),
                                       [](const Node& a, const Node& b) { return a.weight() < b.weight() - kWeightSlack; });
    const double as_leaf = expected_errors(node.counts);
    const double as_tree = expected_errors_of_leaves(node);
    const double as_branch = expected_errors_refed(heaviest, rows);
    const double margin = kPruningMargin + kSlack;
    if (as_leaf <= as_tree + margin && as_leaf <= as_branch + margin)
      node.become_leaf();
    else if (as_branch <= as_tree + margin)
      raise(node, std::move(heaviest), rows);
  }

  // The heaviest branch takes the node's place and all of its rows, and is pruned anew with them.
  void raise(Node& node, Node branch, const Shares& rows) {
    node = std::move(branch);
    refeed(node, rows);
    prune(node, rows);
  }

  void refeed(Node& node, const Shares& rows) {
    node.counts = counts_of(rows, node.counts.size());
    if (node.is_leaf()) return;
    auto parts = divide(node, rows);
    for (std::size_t c = 0; c < node.children.size(); ++c) refeed(node.children[c], std::exchange(parts[c], {}));
  }

  double expected_errors_of_leaves(const Node& node) const {
    if (node.is_leaf()) return expected_errors(node.counts);
    double errors = 0;
    for (const Node& child : node.children) errors += expected_errors_of_leaves(child);
    return errors;
  }

  double expected_errors_refed(const Node& node, const Shares& rows) {
    interrupt_.check(rows.size() + 1);
    if (node.is_leaf()) return expected_errors(counts_of(rows, node.counts.size()));
    const auto parts = divide(node, rows);
    double errors = 0;
    for (std::size_t c = 0; c < node.children.size(); ++c) errors += expected_errors_refed(node.children[c], parts[c]);
    return errors;
  }

  double expected_errors(const std::vector<double>& counts) const {
    const double n = std::accumulate(counts.begin(), counts.end(), 0.0);
    if (n <= kSlack) return 0.0;
    const double e = n - *std::max_element(counts.begin(), counts.end());
    return e + added_errors(n, e, confidence_, z_);
  }

  std::vector<double> counts_of(const Shares& rows, std::size_t n_classes) const {
    std::vector<double> counts(n_classes, 0.0);
    for (const Share& share : rows) counts[data_.labels[share.row]] += share.weight;
    return counts;
  }

  double original_weight(RowId row) const { return data_.weights.empty() ? 1.0 : data_.weights[row]; }

  // The branch of a value, or -1 where the row has to be divided.
  static std::int32_t branch(const SplitRule& split, double value) {
    if (split.category_branch.empty()) return std::isnan(value) ? split.missing_branch : value > split.threshold;
    const bool known = value >= 0 && value < static_cast<double>(split.category_branch.size());
    const std::int32_t branch = known ? split.category_branch[static_cast<std::size_t>(value)] : -1;
    return branch >= 0 ? branch : split.missing_branch;
  }

  double tested_value(const SplitRule& split, RowId row) const {
    return split.projection.empty() ? data_.matrix.at(row, split.feature) : projected(split.projection, data_.matrix, row);
  }

  // Sends the rows to the children as growth does, missing values in proportion to the known rows among these.
  std::vector<Shares> divide(const Node& node, const Shares& rows) const {
    std::vector<Shares> parts(node.children.size());
    std::vector<double> known(node.children.size(), 0.0);
    Shares missing;
    for (const Share& share : rows) {
      const std::int32_t b = branch(node.split, tested_value(node.split, share.row));
      if (b < 0) {
        missing.push_back(share);
        continue;
      }
      parts[static_cast<std::size_t>(b)].push_back(share);
      known[static_cast<std::size_t>(b)] += share.weight;
    }
    if (missing.empty()) return parts;
    double all_known = std::accumulate(known.begin(), known.end(), 0.0);
    if (all_known <= 0) {
      std::fill(known.begin(), known.end(), 1.0);
      all_known = static_cast<double>(known.size());
    }
    const auto heaviest = static_cast<std::size_t>(std::max_element(known.begin(), known.end()) - known.begin());
    for (const Share& share : missing) {
      if (share.weight < kMinShare * original_weight(share.row)) {
        parts[heaviest].push_back(share);
        continue;
      }
      for (std::size_t c = 0; c < parts.size(); ++c)
        if (known[c] > 0) parts[c].push_back({share.row, share.weight * known[c] / all_known});
    }
    return parts;
  }

  const PruningData& data_;
  double confidence_, z_;
  Interrupt& interrupt_;
};

}  // namespace

double added_errors(double n, double e, double confidence, double z) {
  const double none = n * (1 - std::pow(confidence, 1 / n));  // what to add when no error was seen
  if (e < 1e-6) return none;
  if (e < 1 - 1e-6) return none + e * (added_errors(n, 1.0, confidence, z) - none);
  if (e + 0.5 >= n) return std::max(n - e, 0.0);
  const double f = (e + 0.5) / n, z2 = z * z;
  const double upper = (f + z2 / (2 * n) + z * std::sqrt(f / n - f * f / n + z2 / (4 * n * n))) / (1 + z2 / n);
  return upper * n - e;
}

Tree collapse(const Tree& tree) {
  Node root = linked(tree, 0);
  collapse_below(root);
  return built(root);
}

Tree prune_by_error(const Tree& tree, const PruningData& data, double confidence, double z, Interrupt& interrupt) {
  Node root = linked(tree, 0);
  collapse_below(root);
  ErrorPruner(data, confidence, z, interrupt).prune(root);
  return built(root);
}

}  // namespace petiole
