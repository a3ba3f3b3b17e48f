// Whether packed trees from elsewhere are trees.
#include "forest/forest.hpp"

#include <cmath>

namespace petiole {
namespace {

void require(bool ok, const char* what) {
  if (!ok) throw std::invalid_argument(what);
}

template <class F>
bool all_of(const Codes& codes, F&& ok) {
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (!ok(i, codes.at(i))) return false;
  return true;
}

void check_counts(const LeafCounts& counts, std::size_t n_leaves, std::uint32_t n_classes) {
  require(counts.n_entries().empty() || counts.n_entries().size() == n_leaves, "leaf counts: one number of entries per leaf");
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < counts.n_entries().size(); ++i) n += counts.n_entries().at(i);
  require(counts.classes().size() == n, "leaf counts: as many classes as entries");
  require((counts.real().empty() ? counts.whole().size() : counts.real().size()) == n,
          "leaf counts: as many weights as entries");
  require(all_of(counts.classes(), [&](std::size_t, std::uint32_t k) { return k < n_classes; }),
          "leaf counts: unknown class");
  for (const double weight : counts.real())
    require(std::isfinite(weight) && weight >= 0, "leaf counts: weights are at least 0");
}

// Whether these children make a tree in which every node but the root has one parent.
bool is_a_tree(const PackedTree& tree) {
  if (tree.child_nodes.empty()) return true;
  if (tree.child_nodes.size() + 1 != tree.n_nodes()) return false;
  std::vector<std::uint8_t> seen(tree.n_nodes(), 0);
  for (const NodeId child : tree.child_nodes) {
    if (child <= 0 || static_cast<std::size_t>(child) >= tree.n_nodes()) return false;
    if (std::exchange(seen[static_cast<std::size_t>(child)], std::uint8_t{1})) return false;
  }
  // One parent each and no cycle: all nodes can be reached from the root.
  std::vector<std::size_t> start(tree.n_nodes() + 1, 0), pending{0};
  for (std::size_t i = 0; i < tree.n_nodes(); ++i) start[i + 1] = start[i] + tree.n_children.at(i);
  std::size_t n_reached = 0;
  while (!pending.empty()) {
    const std::size_t node = pending.back();
    pending.pop_back();
    ++n_reached;
    for (std::size_t c = start[node]; c < start[node + 1]; ++c)
      pending.push_back(static_cast<std::size_t>(tree.child_nodes[c]));
  }
  return n_reached == tree.n_nodes();
}

// Whether TreeBuilder's order reaches all nodes: no prefix of the walk runs out of nodes.
bool is_laid_out(const PackedTree& tree) {
  if (!tree.child_nodes.empty()) return true;
  std::vector<std::size_t> pending{0};
  std::size_t next = 1;
  while (!pending.empty()) {
    const std::size_t node = pending.back();
    pending.pop_back();
    const std::size_t n = tree.n_children.at(node);
    if (next + n > tree.n_nodes()) return false;
    for (std::size_t c = n; c-- > 0;) pending.push_back(next + c);
    next += n;
  }
  return next == tree.n_nodes();
}

void check_projections(const PackedTree& tree, std::size_t n_inner) {
  require(tree.n_terms.empty() || tree.n_terms.size() == n_inner, "n_terms: one per inner node");
  require(tree.projection_feature.size() == tree.projection_weight.size(), "projections: a feature for each weight");
  std::uint64_t n_terms = 0;
  for (std::size_t i = 0; i < tree.n_terms.size(); ++i) {
    n_terms += tree.n_terms.at(i);
    require(tree.n_terms.at(i) == 0 || tree.n_categories.empty() || tree.n_categories.at(i) == 0,
            "n_terms: a categorical split has no projection");
  }
  require(n_terms == tree.projection_weight.size(), "n_terms: must be as many as there are weights");
  require(all_of(tree.projection_feature, [](std::size_t, std::uint32_t j) { return j < (1u << 31) - 1; }),
          "projection_feature: too large");
  for (const double weight : tree.projection_weight)
    require(std::isfinite(weight) && weight != 0, "projection_weight: must be finite and not 0");
}

void check(const PackedTree& tree, std::uint32_t n_classes) {
  require(tree.n_nodes() > 0 && tree.n_nodes() < (std::size_t{1} << 31), "a tree has at least one node");
  std::uint64_t n_children = 0;
  std::vector<std::uint32_t> of_inner;
  for (std::size_t i = 0; i < tree.n_nodes(); ++i) {
    n_children += tree.n_children.at(i);
    if (tree.n_children.at(i) > 0) of_inner.push_back(tree.n_children.at(i));
  }
  require(n_children + 1 == tree.n_nodes(), "every node but the root is a child");
  require(is_laid_out(tree) && is_a_tree(tree), "child_nodes: not a tree");
  const std::size_t n_inner = of_inner.size(), n_leaves = tree.n_nodes() - n_inner;
  require(tree.feature.size() == n_inner && tree.threshold.size() == n_inner, "one feature and threshold per inner node");
  require(all_of(tree.feature, [](std::size_t, std::uint32_t j) { return j < (1u << 31) - 1; }), "feature: too large");
  require(tree.missing_branch.empty() || tree.missing_branch.size() == n_inner, "missing_branch: one per inner node");
  require(all_of(tree.missing_branch, [&](std::size_t i, std::uint32_t b) { return b <= of_inner[i]; }),
          "missing_branch: there is no such branch");
  require(tree.n_categories.empty() || tree.n_categories.size() == n_inner, "n_categories: one per inner node");
  std::size_t at = 0;
  for (std::size_t i = 0; i < n_inner; ++i) {
    const std::uint32_t n = tree.n_categories.empty() ? 0 : tree.n_categories.at(i);
    require(at + n <= tree.category_branch.size(), "category_branch: too short");
    for (std::uint32_t c = 0; c < n; ++c)
      require(tree.category_branch.at(at++) <= of_inner[i], "category_branch: there is no such branch");
    require(n > 0 || of_inner[i] == 2 || (of_inner[i] == 3 && !tree.missing_branch.empty()), "a threshold has two branches");
  }
  require(at == tree.category_branch.size(), "category_branch: too long");
  check_projections(tree, n_inner);
  check_counts(tree.in_bag, n_leaves, n_classes);
  check_counts(tree.out_of_bag, n_leaves, n_classes);
  check_counts(tree.spread_weights, n_leaves, 1);
  require(tree.vote.size() == n_leaves, "vote: one per leaf");
  require(all_of(tree.vote, [&](std::size_t, std::uint32_t k) { return k < n_classes; }), "vote: unknown class");
}

}  // namespace

void check(const Forest& forest) {
  require(forest.n_classes > 0, "n_classes: must be at least 1");
  for (const PackedTree& tree : forest.trees) check(tree, static_cast<std::uint32_t>(forest.n_classes));
}

}  // namespace petiole
