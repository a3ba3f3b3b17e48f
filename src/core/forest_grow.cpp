// Growing a forest: samples, trees in parallel, and the rows outside each sample counted at its leaves.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "forest.hpp"
#include "leaf_tally.hpp"
#include "narrow_steps.hpp"

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

// What one thread needs to count trees.
struct CountScratch {
  std::vector<std::uint32_t> copies;
  Placement placement;
  std::vector<RowId> unseen;
  std::vector<NarrowStep> steps;
  std::vector<LeafId> leaf_index;
  LeafTally tally;
  ClassTally of_leaf;
  LeafEntries in_bag, grown;
  Members::OfTree members;  // of the tree at hand, unless they are kept
};

class ForestCounter {
 public:
  ForestCounter(const Dataset& dataset, const ForestOptions& options)
      : dataset_(dataset), options_(options), sampler_(options.bootstrap, dataset.labels, dataset.n_classes),
        prior_(static_cast<std::size_t>(dataset.n_classes), 0.0) {
    for (RowId row = 0; row < dataset.n_rows(); ++row) prior_[dataset.labels[row]] += dataset.weight(row);
    for (const Column& column : dataset.columns) {
      any_missing_ |= column.has_missing;
      can_spread_ |= column.nominal || column.has_missing;
    }
  }

  const Sampler& sampler() const { return sampler_; }

  // Counts a tree that has just been grown and has no counts yet: scratch.placement says where its sample is.
  PackedTree count_placed(Tree& tree, CountScratch& scratch, Members::OfTree& members) const {
    start(tree, scratch, members);
    LeafFacts facts = facts_of_sample(tree, scratch, members);
    list_unseen(scratch);
    if (can_spread_ || !dataset_.matrix.is_float32 || !NarrowStep::fits(tree.n_nodes(), dataset_.matrix.n_columns))
      Router(tree).reach(dataset_.matrix, scratch.unseen.data(), scratch.unseen.size(), !any_missing_, members.reach);
    else
      reach_narrow(tree, scratch, members.reach);
    if (sampler_.draws()) facts.out_of_bag = count_rows(members, scratch, [](std::uint16_t) { return true; });
    return pack(tree, std::move(facts));
  }

  // Counts a tree with counts of its own.
  PackedTree count(Tree& tree, CountScratch& scratch, Members::OfTree& members) const {
    start(tree, scratch, members);
    scratch.unseen.resize(dataset_.n_rows());
    std::iota(scratch.unseen.begin(), scratch.unseen.end(), RowId{0});
    tree.spread_weights = sums_of_leaves(tree);
    Router(tree).reach(dataset_.matrix, scratch.unseen.data(), scratch.unseen.size(), false, members.reach);
    LeafFacts facts = facts_as_grown(tree, members, scratch);
    if (sampler_.draws())
      facts.out_of_bag = count_rows(members, scratch, [](std::uint16_t copies) { return copies == 0; });
    return pack(tree, std::move(facts));
  }

 private:
  bool counts_once() const { return options_.distinct && sampler_.draws(); }

  void start(const Tree& tree, const CountScratch& scratch, Members::OfTree& members) const {
    members.n_leaves = static_cast<LeafId>(std::count(tree.feature.begin(), tree.feature.end(), -1));
    members.copies.clear();
    members.copies.reserve(scratch.copies.size());
    for (const std::uint32_t copies : scratch.copies)
      members.copies.push_back(static_cast<std::uint16_t>(std::min<std::uint32_t>(copies, 65535)));
    members.reach.reset(dataset_.n_rows());
  }

  // The rows outside the sample, which are still to be sent down the tree.
  void list_unseen(CountScratch& scratch) const {
    scratch.unseen.resize(scratch.copies.size() + 1);
    std::size_t n = 0;
    for (RowId row = 0; row < scratch.copies.size(); ++row) {
      scratch.unseen[n] = row;  // written and then kept or overwritten: no branch to mispredict
      n += scratch.copies[row] == 0;
    }
    scratch.unseen.resize(n);
  }

  // Sends the rows outside the sample down a tree of thresholds, none of them with a missing value.
  void reach_narrow(const Tree& tree, CountScratch& scratch, TreeReach& reach) const {
    scratch.steps.clear();
    scratch.steps.reserve(tree.n_nodes());
    scratch.leaf_index.resize(tree.n_nodes());
    LeafId n_leaves = 0;
    for (std::size_t i = 0; i < tree.n_nodes(); ++i) {
      const bool leaf = tree.feature[i] < 0;
      scratch.leaf_index[i] = n_leaves;
      n_leaves += leaf;
      if (leaf)
        scratch.steps.emplace_back(std::numeric_limits<double>::infinity(), 0, static_cast<std::int32_t>(i));
      else
        scratch.steps.emplace_back(tree.threshold[i], tree.feature[i],
                                   tree.child_nodes[static_cast<std::size_t>(tree.child_start[i])]);
    }
    const Matrix& matrix = dataset_.matrix;
    const auto* data = static_cast<const float*>(matrix.data);
    const auto& rows = scratch.unseen;
    Lanes lanes;
    for (std::size_t begin = 0; begin < rows.size(); begin += kBlock) {
      const std::size_t n = std::min<std::size_t>(kBlock, rows.size() - begin);
      for (std::size_t i = 0; i < kBlock; ++i) lanes.row[i] = data + rows[begin + std::min(i, n - 1)] * matrix.row_stride;
      if (matrix.column_stride == 1)
        lanes.walk<true>(scratch.steps.data(), Contiguous{});
      else
        lanes.walk<true>(scratch.steps.data(), matrix.column_stride);
      for (std::size_t i = 0; i < n; ++i) reach.leaves()[rows[begin + i]] = scratch.leaf_index[lanes.node[i]];
    }
  }

  // Which group of the placement each leaf has.
  static std::vector<std::uint32_t> groups_by_leaf(const Tree& tree, const Placement& placement) {
    std::vector<std::uint32_t> group_of_node(tree.n_nodes()), groups;
    for (std::uint32_t g = 0; g < placement.leaf.size(); ++g) group_of_node[static_cast<std::size_t>(placement.leaf[g])] = g;
    groups.reserve(placement.leaf.size());
    for (std::size_t i = 0; i < tree.n_nodes(); ++i)
      if (tree.feature[i] < 0) groups.push_back(group_of_node[i]);
    return groups;
  }

  // Puts the sample into its leaves and counts it there.
  LeafFacts facts_of_sample(Tree& tree, CountScratch& scratch, Members::OfTree& members) const {
    const Placement& placement = scratch.placement;
    scratch.of_leaf.reset(dataset_.n_classes);
    scratch.in_bag.clear();
    scratch.grown.clear();
    LeafFacts facts;
    bool any_empty = false;
    LeafId leaf = 0;
    for (const std::uint32_t group : groups_by_leaf(tree, placement)) {
      for (std::uint32_t i = placement.start[group]; i < placement.start[group + 1]; ++i) {
        const Placement::Row& placed = placement.rows[i];
        members.reach.leaves()[placed.row] = leaf;
        scratch.of_leaf.add(placed.label, dataset_.weight(placed.row), placed.weight);
      }
      ++leaf;
      scratch.in_bag.add_leaf();
      scratch.grown.add_leaf();
      Vote vote(prior_);
      scratch.of_leaf.take([&](ClassId k, double once, double copies) {
        if (counts_once()) scratch.in_bag.add(k, once);
        scratch.grown.add(k, copies);
        vote.consider(k, copies);
      });
      facts.votes.push_back(vote.winner());
      any_empty |= placement.start[group] == placement.start[group + 1];
    }
    LeafCounts of_growth = scratch.grown.packed();
    if (any_empty) facts.votes = leaf_votes(tree, node_counts(tree, of_growth, dataset_.n_classes), prior_);
    const LeafCounts sums = of_growth.summed();
    // A category that a node has not seen is spread, and so is a missing value.
    tree.spread_weights = can_spread_ ? node_counts(tree, sums, 1) : std::vector<double>(tree.n_nodes(), 1.0);
    facts.in_bag = counts_once() ? scratch.in_bag.packed() : std::move(of_growth);
    if (counts_once()) facts.spread_weights = sums;
    return facts;
  }

  LeafFacts facts_as_grown(const Tree& tree, const Members::OfTree& members, CountScratch& scratch) const {
    const auto width = static_cast<std::size_t>(dataset_.n_classes);
    scratch.grown.clear();
    for (const NodeId leaf : leaves_of(tree)) {
      scratch.grown.add_leaf();
      const double* counts = tree.counts.data() + static_cast<std::size_t>(leaf) * width;
      for (std::size_t k = 0; k < width; ++k)
        if (counts[k] != 0) scratch.grown.add(static_cast<ClassId>(k), counts[k]);
    }
    LeafFacts facts;
    facts.votes = leaf_votes(tree, tree.counts, prior_);
    facts.in_bag = scratch.grown.packed();
    if (!counts_once()) return facts;
    facts.spread_weights = facts.in_bag.summed();
    facts.in_bag = count_rows(members, scratch, [](std::uint16_t copies) { return copies > 0; });
    return facts;
  }

  // Counts those of the rows in scratch.unseen of which counts(copies) is true, each once.
  template <class F>
  LeafCounts count_rows(const Members::OfTree& members, CountScratch& scratch, F&& counts) const {
    scratch.tally.add_up(static_cast<std::size_t>(members.n_leaves), dataset_.n_classes, [&](auto&& add) {
      for (const RowId row : scratch.unseen) {
        if (!counts(members.copies_of(row))) continue;
        const double weight = dataset_.weight(row);
        members.reach.visit(row, [&](LeafId leaf, double share) { add(leaf, dataset_.labels[row], share * weight); });
      }
    });
    return packed_counts(scratch.tally, scratch.in_bag);
  }

  const Dataset& dataset_;
  const ForestOptions& options_;
  Sampler sampler_;
  std::vector<double> prior_;
  bool any_missing_ = false, can_spread_ = false;  // as far as columns are coded, which growing needs and counting does not
};

// Whether rows may be divided over branches while trees are grown.
bool may_spread(const Dataset& dataset, const GrowOptions& options) {
  return options.missing == Missing::fractional &&
         std::any_of(dataset.columns.begin(), dataset.columns.end(), [](const Column& c) { return c.has_missing; });
}

// Runs body(thread, item, interrupt): only the calling thread may ask whether to stop, the others look at what it found.
template <class F>
void run_trees(int n_trees, ThreadPool& pool, Interrupt& interrupt, F&& body) {
  std::atomic<bool> stopped{false};
  // One for each thread and all its trees: small trees do too little work to be asked one by one.
  std::vector<Interrupt> of_threads;
  for (int t = 0; t < pool.n_threads(); ++t)
    of_threads.emplace_back([&, t] {
      if (t == 0 && interrupt.requested()) stopped = true;
      return stopped.load();
    });
  pool.run(n_trees, [&](int thread, int item) {
    if (stopped) throw Interrupted();
    const auto mine = static_cast<std::size_t>(thread);
    body(mine, static_cast<std::size_t>(item), of_threads[mine]);
  });
}

GrownForest room_for(const Dataset& dataset, std::size_t n_trees, const ForestOptions& options) {
  GrownForest grown;
  grown.forest.n_classes = dataset.n_classes;
  grown.forest.trees.resize(n_trees);
  grown.members.n_rows = dataset.n_rows();
  if (options.keep_members) grown.members.trees.resize(n_trees);
  return grown;
}

}  // namespace

GrownForest grow_forest(const Dataset& dataset, int n_trees, const GrowOptions& options, const ForestOptions& forest,
                        ThreadPool& pool, Interrupt& interrupt) {
  GrownForest grown = room_for(dataset, static_cast<std::size_t>(n_trees), forest);
  const ForestCounter counter(dataset, forest);
  const bool placed = !may_spread(dataset, options);
  const auto n_threads = static_cast<std::size_t>(pool.n_threads());
  std::vector<CountScratch> scratch(n_threads);
  std::vector<std::unique_ptr<ThreadPool>> alone;
  std::vector<std::unique_ptr<TreeGrower>> growers;
  for (std::size_t thread = 0; thread < n_threads; ++thread) {
    alone.push_back(std::make_unique<ThreadPool>(1));
    growers.push_back(std::make_unique<TreeGrower>(dataset, options, *alone.back()));
  }
  run_trees(n_trees, pool, interrupt, [&](std::size_t thread, std::size_t item, Interrupt& of_thread) {
    const std::uint64_t index = forest.first_tree + item;
    CountScratch& mine = scratch[thread];
    counter.sampler().draw(sample_key(options.seed, index), mine.copies);
    Tree tree = growers[thread]->grow(mine.copies, tree_key(options.seed, index), of_thread, placed ? &mine.placement : nullptr);
    Members::OfTree& members = forest.keep_members ? grown.members.trees[item] : mine.members;
    grown.forest.trees[item] = placed ? counter.count_placed(tree, mine, members) : counter.count(tree, mine, members);
  });
  return grown;
}

GrownForest count_forest(const Dataset& dataset, const std::vector<Tree>& trees, std::uint64_t seed,
                         const ForestOptions& forest, ThreadPool& pool, Interrupt& interrupt) {
  GrownForest grown = room_for(dataset, trees.size(), forest);
  const ForestCounter counter(dataset, forest);
  std::vector<CountScratch> scratch(static_cast<std::size_t>(pool.n_threads()));
  run_trees(static_cast<int>(trees.size()), pool, interrupt, [&](std::size_t thread, std::size_t item, Interrupt& of_thread) {
    CountScratch& mine = scratch[thread];
    counter.sampler().draw(sample_key(seed, forest.first_tree + item), mine.copies);
    Tree tree = trees[item];
    grown.forest.trees[item] = counter.count(tree, mine, forest.keep_members ? grown.members.trees[item] : mine.members);
    of_thread.check(std::uint64_t{dataset.n_rows()} * 64);
  });
  return grown;
}

}  // namespace petiole
