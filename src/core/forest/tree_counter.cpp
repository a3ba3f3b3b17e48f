#include "forest/tree_counter.hpp"

#include <algorithm>
#include <numeric>

#include "base/prefetch.hpp"

namespace petiole {
namespace {

// The weight of every node as the packed tree will have it: added up from the leaves, to the last bit.
std::vector<double> sums_of_leaves(const Tree& tree) {
  std::vector<double> weights;
  const auto width = static_cast<std::size_t>(tree.n_classes);
  for (const NodeId leaf : leaves_of(tree)) {
    const double* counts = tree.counts.data() + static_cast<std::size_t>(leaf) * width;
    weights.push_back(std::accumulate(counts, counts + width, 0.0));
  }
  return node_counts(tree, LeafCounts(weights.data(), weights.size(), 1), 1);
}

// Which group of the placement each leaf has.
std::vector<std::uint32_t> groups_by_leaf(const Tree& tree, const Placement& placement) {
  std::vector<std::uint32_t> group_of_node(tree.n_nodes()), groups(tree.n_nodes());
  for (std::uint32_t g = 0; g < placement.leaf.size(); ++g) group_of_node[static_cast<std::size_t>(placement.leaf[g])] = g;
  std::size_t n = 0;
  for (std::size_t i = 0; i < tree.n_nodes(); ++i) {
    groups[n] = group_of_node[i];  // written and then kept or overwritten: the order of leaves cannot be predicted
    n += tree.feature[i] < 0;
  }
  groups.resize(n);
  return groups;
}

// The steps of a tree of thresholds with more than one node, and the number of each leaf.
void lay_steps(const Tree& tree, std::vector<NarrowStep>& steps, std::vector<LeafId>& leaf_index) {
  steps.clear();
  steps.reserve(tree.n_nodes());
  leaf_index.resize(tree.n_nodes());
  LeafId n_leaves = 0;
  for (std::size_t i = 0; i < tree.n_nodes(); ++i) {
    const bool leaf = tree.feature[i] < 0;
    const double thresholds[] = {tree.threshold[i], std::numeric_limits<double>::infinity()};
    const NodeId to[] = {tree.child_nodes[leaf ? 0 : static_cast<std::size_t>(tree.child_start[i])], static_cast<NodeId>(i)};
    steps.emplace_back(thresholds[leaf], leaf ? 0 : tree.feature[i], to[leaf]);
    leaf_index[i] = n_leaves;
    n_leaves += leaf;
  }
}

}  // namespace

TreeCounter::TreeCounter(const Dataset& dataset, const ForestOptions& options)
    : dataset_(dataset),
      options_(options),
      sampler_(options.bootstrap, dataset.labels, dataset.n_classes),
      prior_(static_cast<std::size_t>(dataset.n_classes), 0.0) {
  for (RowId row = 0; row < dataset.n_rows(); ++row) prior_[dataset.labels[row]] += dataset.weight(row);
  for (const Column& column : dataset.columns) {
    any_missing_ |= column.has_missing;
    can_spread_ |= column.categorical || column.has_missing;
  }
}

PackedTree TreeCounter::count_placed(Tree& tree, Scratch& scratch, Members::OfTree* members) const {
  return scratch.placement.is_whole ? count_placed_as<std::uint32_t>(tree, scratch, members)
                                    : count_placed_as<double>(tree, scratch, members);
}

template <class W>
PackedTree TreeCounter::count_placed_as(Tree& tree, Scratch& scratch, Members::OfTree* members) const {
  const std::size_t n_leaves = scratch.placement.leaf.size();
  if (members != nullptr) start(n_leaves, scratch, *members);
  LeafFacts facts = facts_of_sample<W>(tree, scratch, members);
  if (!sampler_.draws()) return pack(tree, std::move(facts));
  list_unseen(scratch);
  if (walks_narrow(tree)) {
    walk_unseen(tree, scratch);
    facts.out_of_bag = count_unseen<W>(scratch, n_leaves);
    if (members != nullptr)
      for (std::size_t i = 0; i < scratch.unseen.size(); ++i)
        members->reach.leaves()[scratch.unseen[i]] = scratch.unseen_leaf[i];
  } else {
    if (members == nullptr) start(n_leaves, scratch, *(members = &scratch.members));
    Router(tree).reach(dataset_.matrix, scratch.unseen.data(), scratch.unseen.size(), !any_missing_, members->reach);
    facts.out_of_bag = count_rows(*members, scratch, [](std::uint16_t) { return true; });
  }
  return pack(tree, std::move(facts));
}

PackedTree TreeCounter::count(Tree& tree, Scratch& scratch, Members::OfTree* members) const {
  if (members == nullptr) members = &scratch.members;
  start(static_cast<std::size_t>(std::count(tree.feature.begin(), tree.feature.end(), -1)), scratch, *members);
  scratch.unseen.resize(dataset_.n_rows());
  std::iota(scratch.unseen.begin(), scratch.unseen.end(), RowId{0});
  tree.spread_weights = sums_of_leaves(tree);
  Router(tree).reach(dataset_.matrix, scratch.unseen.data(), scratch.unseen.size(), false, members->reach);
  LeafFacts facts = facts_as_grown(tree, *members, scratch);
  if (sampler_.draws()) facts.out_of_bag = count_rows(*members, scratch, [](std::uint16_t copies) { return copies == 0; });
  return pack(tree, std::move(facts));
}

// Single-precision rows, all complete, through a tree of thresholds.
bool TreeCounter::walks_narrow(const Tree& tree) const {
  return !can_spread_ && dataset_.matrix.is_float32 && tree.n_nodes() > 1 && tree.projection.empty() &&
         NarrowStep::fits(tree.n_nodes(), dataset_.matrix.n_columns);
}

void TreeCounter::start(std::size_t n_leaves, const Scratch& scratch, Members::OfTree& members) const {
  members.n_leaves = static_cast<LeafId>(n_leaves);
  members.copies.resize(scratch.copies.size());
  std::transform(scratch.copies.begin(), scratch.copies.end(), members.copies.begin(),
                 [](std::uint32_t copies) { return static_cast<std::uint16_t>(std::min<std::uint32_t>(copies, 65535)); });
  members.reach.reset(dataset_.n_rows());
}

// The rows outside the sample, which are still to be sent down the tree.
void TreeCounter::list_unseen(Scratch& scratch) const {
  scratch.unseen.resize(scratch.copies.size() + 1);
  std::size_t n = 0;
  for (RowId row = 0; row < scratch.copies.size(); ++row) {
    scratch.unseen[n] = row;  // written and then kept or overwritten: no branch to mispredict
    n += scratch.copies[row] == 0;
  }
  scratch.unseen.resize(n);
}

// Sends the rows outside the sample down the tree.
void TreeCounter::walk_unseen(const Tree& tree, Scratch& scratch) const {
  lay_steps(tree, scratch.steps, scratch.leaf_index);
  const Matrix& matrix = dataset_.matrix;
  const auto* data = static_cast<const float*>(matrix.data);
  const std::vector<RowId>& rows = scratch.unseen;
  scratch.unseen_leaf.resize(rows.size());
  RowWalk walk;
  for (std::size_t begin = 0; begin < rows.size(); begin += RowWalk::kMostRows) {
    const std::size_t n = std::min(RowWalk::kMostRows, rows.size() - begin);
    for (std::size_t i = 0; i < n; ++i) {
      const float* row = data + rows[begin + i] * matrix.row_stride;
      prefetch(row);
      walk.set_row(i, row);
    }
    if (matrix.column_stride == 1)
      walk.walk<true>(scratch.steps.data(), n, Contiguous{});
    else
      walk.walk<true>(scratch.steps.data(), n, matrix.column_stride);
    for (std::size_t i = 0; i < n; ++i) scratch.unseen_leaf[begin + i] = scratch.leaf_index[walk.leaf(i)];
  }
}

// Puts the sample into its leaves and counts it there.
template <class W>
LeafFacts TreeCounter::facts_of_sample(Tree& tree, Scratch& scratch, Members::OfTree* members) const {
  const Placement& placement = scratch.placement;
  const Entry<W>* placed = scratch.placement.entries<W>().data();
  auto& [by_leaf, of_leaf, counted, grown, sums] = scratch.tallies<W>();
  of_leaf.reset(dataset_.n_classes);
  counted.clear();
  grown.clear();
  sums.clear();
  LeafFacts facts;
  bool any_empty = false;
  LeafId leaf = 0;
  for (const std::uint32_t group : groups_by_leaf(tree, placement)) {
    const std::uint32_t begin = placement.start[group], end = placement.start[group + 1];
    for (std::uint32_t i = begin; i < end; ++i) {
      if (members != nullptr) members->reach.leaves()[placed[i].row] = leaf;
      of_leaf.add(placed[i].label, static_cast<W>(dataset_.weight(placed[i].row)), placed[i].weight);
    }
    ++leaf;
    counted.add_leaf();
    grown.add_leaf();
    sums.add_leaf();
    Vote vote(prior_);
    W sum{0};
    // Named here because clang before 16 does not capture a structured binding by itself.
    of_leaf.take([&, &counted = counted, &grown = grown](ClassId k, W once, W copies) {
      if (counts_once()) counted.add(k, once);
      grown.add(k, copies);
      vote.consider(k, static_cast<double>(copies));
      sum += copies;
    });
    if (sum > 0) sums.add(0, sum);
    facts.votes.push_back(vote.winner());
    any_empty |= begin == end;
  }
  LeafCounts of_growth = grown.packed();
  if (any_empty) facts.votes = leaf_votes(tree, node_counts(tree, of_growth, dataset_.n_classes), prior_);
  // A category that a node has not seen is spread, and so is a missing value.
  tree.spread_weights = can_spread_ ? node_counts(tree, sums.packed(), 1) : std::vector<double>(tree.n_nodes(), 1.0);
  if (counts_once()) {
    facts.spread_weights = sums.packed();
    facts.in_bag = counted.packed();
  } else {
    facts.in_bag = std::move(of_growth);
  }
  return facts;
}

// Counts the rows outside the sample at the leaves that they have reached, each once.
template <class W>
LeafCounts TreeCounter::count_unseen(Scratch& scratch, std::size_t n_leaves) const {
  auto& [by_leaf, of_leaf, counted, grown, sums] = scratch.tallies<W>();
  by_leaf.add_up(n_leaves, dataset_.n_classes, [&](auto&& add) {
    for (std::size_t i = 0; i < scratch.unseen.size(); ++i) {
      const RowId row = scratch.unseen[i];
      add(scratch.unseen_leaf[i], dataset_.labels[row], static_cast<W>(dataset_.weight(row)));
    }
  });
  return packed_counts(by_leaf, counted);
}

LeafFacts TreeCounter::facts_as_grown(const Tree& tree, const Members::OfTree& members, Scratch& scratch) const {
  const auto width = static_cast<std::size_t>(dataset_.n_classes);
  LeafEntries<double>& grown = scratch.real.grown;
  grown.clear();
  for (const NodeId leaf : leaves_of(tree)) {
    grown.add_leaf();
    const double* counts = tree.counts.data() + static_cast<std::size_t>(leaf) * width;
    for (std::size_t k = 0; k < width; ++k)
      if (counts[k] != 0) grown.add(static_cast<ClassId>(k), counts[k]);
  }
  LeafFacts facts;
  facts.votes = leaf_votes(tree, tree.counts, prior_);
  facts.in_bag = grown.packed();
  if (!counts_once()) return facts;
  facts.spread_weights = facts.in_bag.summed();
  facts.in_bag = count_rows(members, scratch, [](std::uint16_t copies) { return copies > 0; });
  return facts;
}

// Counts those of the rows in scratch.unseen of which counts(copies) is true, each once.
template <class F>
LeafCounts TreeCounter::count_rows(const Members::OfTree& members, Scratch& scratch, F&& counts) const {
  LeafTally<double>& by_leaf = scratch.real.by_leaf;
  by_leaf.add_up(static_cast<std::size_t>(members.n_leaves), dataset_.n_classes, [&](auto&& add) {
    for (const RowId row : scratch.unseen) {
      if (!counts(members.copies_of(row))) continue;
      const double weight = dataset_.weight(row);
      members.reach.visit(row, [&](LeafId leaf, double share) { add(leaf, dataset_.labels[row], share * weight); });
    }
  });
  return packed_counts(by_leaf, scratch.real.counted);
}

}  // namespace petiole
