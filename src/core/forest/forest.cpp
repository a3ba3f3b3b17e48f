#include "forest/forest.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "tree/route.hpp"

namespace petiole {

LeafCounts::LeafCounts(const double* table, std::size_t n_leaves, int n_classes) {
  std::vector<std::uint32_t> n_entries(n_leaves, 0);
  std::vector<ClassId> classes;
  std::vector<double> weights;
  for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
    const double* row = table + leaf * static_cast<std::size_t>(n_classes);
    for (int k = 0; k < n_classes; ++k) {
      if (row[k] == 0) continue;
      ++n_entries[leaf];
      classes.push_back(static_cast<ClassId>(k));
      weights.push_back(row[k]);
    }
  }
  *this = LeafCounts(n_entries, classes, weights);
}

LeafCounts::LeafCounts(const std::vector<std::uint32_t>& n_entries, const std::vector<ClassId>& classes,
                       const std::vector<double>& weights)
    : n_entries_(to_codes(n_entries)), class_(to_codes(classes)) {
  const bool whole = std::all_of(weights.begin(), weights.end(), [](double weight) {
    return weight > 0 && weight < 4294967295.0 && weight == static_cast<double>(static_cast<std::uint64_t>(weight));
  });
  if (whole)
    whole_ = to_codes(weights);
  else
    real_ = weights;
}

void LeafCounts::add(double scale, int n_classes, double* table) const {
  if (scale == 0) return;
  std::size_t entry = 0;
  for (std::size_t leaf = 0; leaf < n_entries_.size(); ++leaf) {
    double* row = table + leaf * static_cast<std::size_t>(n_classes);
    for (std::uint32_t n = n_entries_.at(leaf); n > 0; --n, ++entry) row[class_.at(entry)] += scale * weight(entry);
  }
}

LeafCounts LeafCounts::summed() const {
  std::vector<double> sums(n_entries_.size(), 0.0);
  std::size_t entry = 0;
  for (std::size_t leaf = 0; leaf < sums.size(); ++leaf)
    for (std::uint32_t n = n_entries_.at(leaf); n > 0; --n) sums[leaf] += weight(entry++);
  return LeafCounts(sums.data(), sums.size(), 1);
}

LeafCounts LeafCounts::plus(const LeafCounts& other, double scale) const {
  if (n_entries_.empty() || (other.n_entries_.empty() && scale == 1)) return n_entries_.empty() ? other : *this;
  std::vector<std::uint32_t> n_entries{0};
  std::vector<ClassId> classes;
  std::vector<double> weights;
  classes.reserve(class_.size() + other.class_.size());
  weights.reserve(classes.capacity());
  const auto add = [&](ClassId label, double sum) {
    if (sum <= 0) return;
    ++n_entries.back();
    classes.push_back(label);
    weights.push_back(sum);
  };
  visit_sum(scale, other, 1, add, [&] { n_entries.push_back(0); });
  n_entries.pop_back();
  return LeafCounts(n_entries, classes, weights);
}

void LeafCounts::add_up(double scale, double* sums) const {
  for (std::size_t entry = 0; entry < class_.size(); ++entry) sums[class_.at(entry)] += scale * weight(entry);
}

namespace {

// Where TreeBuilder puts the first child of each node.
std::vector<NodeId> first_children(const Codes& n_children) {
  std::vector<NodeId> first(n_children.size(), 0), pending{0};
  NodeId next = 1;
  while (!pending.empty()) {
    const auto node = static_cast<std::size_t>(pending.back());
    pending.pop_back();
    first[node] = next;
    const auto n = static_cast<NodeId>(n_children.at(node));
    for (NodeId c = n; c-- > 0;) pending.push_back(next + c);
    next += n;
  }
  return first;
}

bool in_usual_order(const Tree& tree, const Codes& n_children) {
  const std::vector<NodeId> first = first_children(n_children);
  for (std::size_t i = 0; i < tree.n_nodes(); ++i)
    for (std::int32_t c = tree.child_start[i]; c < tree.child_start[i + 1]; ++c)
      if (tree.child_nodes[static_cast<std::size_t>(c)] != first[i] + (c - tree.child_start[i])) return false;
  return true;
}

}  // namespace

namespace {

void pack_projections(const Tree& tree, PackedTree& packed) {
  std::vector<std::uint32_t> n_terms;
  std::vector<std::int32_t> feature;
  for (std::size_t i = 0; i < tree.n_nodes(); ++i)
    if (tree.feature[i] >= 0) n_terms.push_back(static_cast<std::uint32_t>(tree.projection_of(i).size()));
  for (const ProjectionTerm& term : tree.projection) {
    feature.push_back(term.feature);
    packed.projection_weight.push_back(term.weight);
  }
  packed.n_terms = to_codes(n_terms);
  packed.projection_feature = to_codes(feature);
}

void unpack_projections(const PackedTree& packed, Tree& tree) {
  std::size_t inner = 0;
  tree.projection_start.assign(1, 0);
  for (const std::int32_t feature : tree.feature) {
    const auto n = feature < 0 ? 0 : static_cast<std::int32_t>(packed.n_terms.at(inner++));
    tree.projection_start.push_back(tree.projection_start.back() + n);
  }
  for (std::size_t t = 0; t < packed.projection_weight.size(); ++t)
    tree.projection.push_back({static_cast<std::int32_t>(packed.projection_feature.at(t)), packed.projection_weight[t]});
}

}  // namespace

PackedTree pack(const Tree& tree, LeafFacts leaves) {
  PackedTree packed;
  const std::size_t n_nodes = tree.n_nodes();
  std::vector<std::int32_t> n_children(n_nodes), feature(n_nodes), missing(n_nodes), n_categories(n_nodes), branches;
  packed.threshold.resize(n_nodes);
  bool any_missing = false;
  std::size_t n_inner = 0;
  for (std::size_t i = 0; i < n_nodes; ++i) {
    n_children[i] = tree.child_start[i + 1] - tree.child_start[i];
    // Written and then kept or overwritten: the order of leaves cannot be predicted.
    feature[n_inner] = tree.feature[i];
    packed.threshold[n_inner] = tree.threshold[i];
    missing[n_inner] = tree.missing_branch[i] + 1;
    n_categories[n_inner] = tree.category_start[i + 1] - tree.category_start[i];
    any_missing |= tree.missing_branch[i] >= 0;
    n_inner += n_children[i] > 0;
  }
  for (auto* of_inner : {&feature, &missing, &n_categories}) of_inner->resize(n_inner);
  packed.threshold.resize(n_inner);
  packed.threshold.shrink_to_fit();
  for (const std::int32_t branch : tree.category_branch) branches.push_back(branch + 1);
  packed.n_children = to_codes(n_children);
  packed.feature = to_codes(feature);
  if (any_missing) packed.missing_branch = to_codes(missing);
  if (!branches.empty()) {
    packed.n_categories = to_codes(n_categories);
    packed.category_branch = to_codes(branches);
  }
  if (!tree.projection.empty()) pack_projections(tree, packed);
  if (!in_usual_order(tree, packed.n_children)) packed.child_nodes = tree.child_nodes;
  packed.in_bag = std::move(leaves.in_bag);
  packed.out_of_bag = std::move(leaves.out_of_bag);
  packed.spread_weights = std::move(leaves.spread_weights);
  packed.vote = to_codes(leaves.votes);
  return packed;
}

Tree unpack(const PackedTree& packed, int n_classes, bool with_counts) {
  Tree tree;
  tree.n_classes = n_classes;
  const std::vector<NodeId> first = packed.child_nodes.empty() ? first_children(packed.n_children) : std::vector<NodeId>{};
  tree.child_nodes = packed.child_nodes;
  std::size_t inner = 0;
  for (std::size_t i = 0; i < packed.n_nodes(); ++i) {
    const auto n = static_cast<std::int32_t>(packed.n_children.at(i));
    tree.child_start.push_back(tree.child_start.back() + n);
    std::int32_t n_categories = 0;
    if (n == 0) {
      tree.feature.push_back(-1);
      tree.threshold.push_back(std::numeric_limits<double>::quiet_NaN());
      tree.missing_branch.push_back(-1);
    } else {
      tree.feature.push_back(static_cast<std::int32_t>(packed.feature.at(inner)));
      tree.threshold.push_back(packed.threshold[inner]);
      tree.missing_branch.push_back(
          packed.missing_branch.empty() ? -1 : static_cast<std::int32_t>(packed.missing_branch.at(inner)) - 1);
      if (!packed.n_categories.empty()) n_categories = static_cast<std::int32_t>(packed.n_categories.at(inner));
      for (NodeId c = 0; c < n && !first.empty(); ++c) tree.child_nodes.push_back(first[i] + c);
      ++inner;
    }
    tree.category_start.push_back(tree.category_start.back() + n_categories);
  }
  for (std::size_t i = 0; i < packed.category_branch.size(); ++i)
    tree.category_branch.push_back(static_cast<std::int32_t>(packed.category_branch.at(i)) - 1);
  if (!packed.n_terms.empty()) unpack_projections(packed, tree);
  if (with_counts) tree.counts = node_counts(tree, packed.in_bag, n_classes);
  const bool own = !packed.spread_weights.n_entries().empty();
  tree.spread_weights = node_counts(tree, own ? packed.spread_weights : packed.in_bag.summed(), 1);
  return tree;
}

std::vector<double> node_counts(const Tree& structure, const LeafCounts& leaves, int n_classes) {
  const std::size_t n_nodes = structure.n_nodes(), width = static_cast<std::size_t>(n_classes);
  std::vector<double> counts(n_nodes * width, 0.0);
  if (leaves.n_entries().empty()) return counts;
  std::vector<double> of_leaves(leaves.n_entries().size() * width, 0.0);
  leaves.add(1.0, n_classes, of_leaves.data());
  std::vector<NodeId> top_down{0};
  for (std::size_t at = 0; at < top_down.size(); ++at) {
    const auto node = static_cast<std::size_t>(top_down[at]);
    for (std::int32_t c = structure.child_start[node]; c < structure.child_start[node + 1]; ++c)
      top_down.push_back(structure.child_nodes[static_cast<std::size_t>(c)]);
  }
  std::size_t leaf = 0;
  for (std::size_t i = 0; i < n_nodes; ++i)
    if (structure.feature[i] < 0) std::copy_n(of_leaves.data() + width * leaf++, width, counts.data() + i * width);
  for (std::size_t at = top_down.size(); at-- > 0;) {
    const auto node = static_cast<std::size_t>(top_down[at]);
    for (std::int32_t c = structure.child_start[node]; c < structure.child_start[node + 1]; ++c) {
      const double* child =
          counts.data() + static_cast<std::size_t>(structure.child_nodes[static_cast<std::size_t>(c)]) * width;
      for (std::size_t k = 0; k < width; ++k) counts[node * width + k] += child[k];
    }
  }
  return counts;
}

namespace {

std::vector<NodeId> parents_of(const Tree& tree) {
  std::vector<NodeId> parent(tree.n_nodes(), -1);
  for (std::size_t i = 0; i < tree.n_nodes(); ++i)
    for (std::int32_t c = tree.child_start[i]; c < tree.child_start[i + 1]; ++c)
      parent[static_cast<std::size_t>(tree.child_nodes[static_cast<std::size_t>(c)])] = static_cast<NodeId>(i);
  return parent;
}

// The leaves below each node, numbered in the order in which a walk from the root meets them.
struct LeafRange {
  LeafId begin = 0, end = 0;
};

std::vector<LeafRange> leaf_ranges(const Tree& tree) {
  std::vector<LeafRange> ranges(tree.n_nodes());
  LeafId n_met = 0;
  std::vector<NodeId> pending{0};  // ~node: all of it has been met
  while (!pending.empty()) {
    const NodeId top = pending.back();
    pending.pop_back();
    if (top < 0) {
      ranges[static_cast<std::size_t>(~top)].end = n_met;
      continue;
    }
    const auto node = static_cast<std::size_t>(top);
    ranges[node].begin = n_met;
    if (tree.feature[node] < 0) ++n_met;
    pending.push_back(~top);
    for (std::int32_t c = tree.child_start[node]; c < tree.child_start[node + 1]; ++c)
      pending.push_back(tree.child_nodes[static_cast<std::size_t>(c)]);
  }
  return ranges;
}

LeafCounts counts_of(const std::vector<double>& node_table, const std::vector<NodeId>& nodes, int n_columns) {
  const auto width = static_cast<std::size_t>(n_columns);
  std::vector<double> rows;
  for (const NodeId node : nodes) {
    const auto begin = node_table.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(node) * width);
    rows.insert(rows.end(), begin, begin + n_columns);
  }
  return LeafCounts(rows.data(), nodes.size(), n_columns);
}

}  // namespace

std::vector<NodeId> leaves_of(const Tree& tree) {
  std::vector<NodeId> leaves;
  for (std::size_t i = 0; i < tree.n_nodes(); ++i)
    if (tree.feature[i] < 0) leaves.push_back(static_cast<NodeId>(i));
  return leaves;
}

std::vector<ClassId> leaf_votes(const Tree& tree, const std::vector<double>& node_counts, const std::vector<double>& prior) {
  const std::vector<NodeId> parent = parents_of(tree);
  std::vector<ClassId> votes;
  const std::size_t width = prior.size();
  for (NodeId node : leaves_of(tree)) {
    const double* counts = nullptr;
    for (; node >= 0; node = parent[static_cast<std::size_t>(node)]) {
      counts = node_counts.data() + static_cast<std::size_t>(node) * width;
      if (std::any_of(counts, counts + width, [](double n) { return n > 0; })) break;
    }
    Vote vote(prior);
    for (std::size_t k = 0; k < width; ++k) vote.consider(static_cast<ClassId>(k), counts[k]);
    votes.push_back(vote.winner());
  }
  return votes;
}

std::vector<CountedLeaves> leaf_counts(const PackedTree& packed, int n_classes, CountedRows rows, double* out) {
  const auto width = static_cast<std::size_t>(n_classes);
  const std::size_t n_leaves = packed.vote.size();
  const auto is_enough = [&](const double* counts) { return rows.is_enough(std::accumulate(counts, counts + width, 0.0)); };
  packed.in_bag.add(rows.in_bag, n_classes, out);
  packed.out_of_bag.add(rows.out_of_bag, n_classes, out);
  if (rows.least <= 0) return {};
  std::size_t n_enough = 0;
  while (n_enough < n_leaves && is_enough(out + n_enough * width)) ++n_enough;
  if (n_enough == n_leaves) return {};
  const Tree tree = unpack(packed, n_classes, false);
  std::vector<double> counts(tree.n_nodes() * width, 0.0);
  const auto add = [&](const LeafCounts& of, double scale) {
    if (scale == 0) return;
    const std::vector<double> more = node_counts(tree, of, n_classes);
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += scale * more[i];
  };
  add(packed.in_bag, rows.in_bag);
  add(packed.out_of_bag, rows.out_of_bag);
  const std::vector<NodeId> parent = parents_of(tree);
  const std::vector<LeafRange> below = leaf_ranges(tree);
  std::vector<CountedLeaves> counted;
  for (NodeId node : leaves_of(tree)) {
    const LeafId position = below[static_cast<std::size_t>(node)].begin;
    const double* of_node = nullptr;
    for (;; node = parent[static_cast<std::size_t>(node)]) {
      of_node = counts.data() + static_cast<std::size_t>(node) * width;
      if (node == 0 || is_enough(of_node)) break;
    }
    out = std::copy_n(of_node, width, out);
    counted.push_back({position, below[static_cast<std::size_t>(node)].begin, below[static_cast<std::size_t>(node)].end});
  }
  return counted;
}

PackedTree pack(const Tree& tree, const std::vector<double>& out_of_bag_node_counts, const std::vector<double>& prior) {
  const auto leaves = leaves_of(tree);
  LeafFacts facts;
  const auto n_classes = static_cast<int>(prior.size());
  facts.in_bag = counts_of(tree.counts, leaves, n_classes);
  if (!out_of_bag_node_counts.empty()) facts.out_of_bag = counts_of(out_of_bag_node_counts, leaves, n_classes);
  if (!tree.spread_weights.empty()) facts.spread_weights = counts_of(tree.spread_weights, leaves, 1);
  facts.votes = leaf_votes(tree, tree.counts, prior);
  return pack(tree, std::move(facts));
}

}  // namespace petiole
