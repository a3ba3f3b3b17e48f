// Growing a forest: samples, trees in parallel, and the rows outside each sample counted at its leaves.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "forest.hpp"
#include "leaf_tally.hpp"
#include "route.hpp"

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
  std::vector<NodeId> leaf_of_row;
  std::vector<RowId> unseen;
  LeafTally tally;
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

  // Counts a tree that has just been grown. leaf_of_row has the leaves of the rows in its sample and the tree no counts;
  // or, where rows were divided while it was grown, the other way round.
  PackedTree count_grown(Tree& tree, bool leaves_known, CountScratch& scratch, Members::OfTree& members) const {
    if (!leaves_known) return count(tree, scratch, members);
    start(tree, scratch, members);
    place_sample(tree, scratch, members);
    LeafFacts facts = facts_of_sample(tree, members, scratch.tally);
    Router router(tree);
    router.reach(dataset_.matrix, scratch.unseen.data(), scratch.unseen.size(), !any_missing_, members.reach);
    return finish(tree, members, std::move(facts), scratch.tally);
  }

  // Counts a tree with counts of its own.
  PackedTree count(Tree& tree, CountScratch& scratch, Members::OfTree& members) const {
    start(tree, scratch, members);
    scratch.unseen.resize(dataset_.n_rows());
    std::iota(scratch.unseen.begin(), scratch.unseen.end(), RowId{0});
    tree.spread_weights = sums_of_leaves(tree);
    Router(tree).reach(dataset_.matrix, scratch.unseen.data(), scratch.unseen.size(), false, members.reach);
    return finish(tree, members, facts_as_grown(tree, members, scratch.tally), scratch.tally);
  }

 private:
  bool counts_once() const { return options_.distinct && sampler_.draws(); }

  void start(const Tree& tree, const CountScratch& scratch, Members::OfTree& members) const {
    members.n_leaves = static_cast<LeafId>(std::count(tree.feature.begin(), tree.feature.end(), -1));
    members.copies.reserve(scratch.copies.size());
    for (const std::uint32_t copies : scratch.copies)
      members.copies.push_back(static_cast<std::uint16_t>(std::min<std::uint32_t>(copies, 65535)));
    members.reach.reset(dataset_.n_rows());
  }

  // Puts the rows of the sample into their leaves; the others are still to be sent down the tree.
  void place_sample(const Tree& tree, CountScratch& scratch, Members::OfTree& members) const {
    std::vector<LeafId> leaf_index;
    LeafId n_leaves = 0;
    leaf_index.reserve(tree.n_nodes());
    for (const std::int32_t feature : tree.feature) leaf_index.push_back(feature < 0 ? n_leaves++ : -1);
    scratch.unseen.clear();
    for (RowId row = 0; row < dataset_.n_rows(); ++row) {
      if (scratch.leaf_of_row[row] >= 0)
        members.reach.leaves()[row] = leaf_index[static_cast<std::size_t>(scratch.leaf_of_row[row])];
      else
        scratch.unseen.push_back(row);
    }
  }

  LeafFacts facts_of_sample(Tree& tree, const Members::OfTree& members, LeafTally& tally) const {
    tally_sample(members, tally);
    LeafFacts facts;
    LeafEntries in_bag, grown;
    bool any_empty = false;
    tally.visit([&](std::size_t, const std::vector<ClassId>& classes, const double* once, const double* copies) {
      in_bag.add_leaf();
      grown.add_leaf();
      Vote vote(prior_);
      for (const ClassId k : classes) {
        if (counts_once()) in_bag.add(k, once[k]);
        grown.add(k, copies[k]);
        vote.consider(k, copies[k]);
      }
      facts.votes.push_back(vote.winner());
      any_empty |= classes.empty();
    });
    LeafCounts of_growth = std::move(grown).packed();
    if (any_empty) facts.votes = leaf_votes(tree, node_counts(tree, of_growth, dataset_.n_classes), prior_);
    const LeafCounts sums = of_growth.summed();
    // A category that a node has not seen is spread, and so is a missing value.
    tree.spread_weights = can_spread_ ? node_counts(tree, sums, 1) : std::vector<double>(tree.n_nodes(), 1.0);
    facts.in_bag = counts_once() ? std::move(in_bag).packed() : std::move(of_growth);
    if (counts_once()) facts.spread_weights = sums;
    return facts;
  }

  LeafFacts facts_as_grown(const Tree& tree, const Members::OfTree& members, LeafTally& tally) const {
    const auto width = static_cast<std::size_t>(dataset_.n_classes);
    LeafEntries grown;
    for (const NodeId leaf : leaves_of(tree)) {
      grown.add_leaf();
      const double* counts = tree.counts.data() + static_cast<std::size_t>(leaf) * width;
      for (std::size_t k = 0; k < width; ++k)
        if (counts[k] != 0) grown.add(static_cast<ClassId>(k), counts[k]);
    }
    LeafFacts facts;
    facts.votes = leaf_votes(tree, tree.counts, prior_);
    facts.in_bag = std::move(grown).packed();
    if (!counts_once()) return facts;
    facts.spread_weights = facts.in_bag.summed();
    tally_sample(members, tally);
    facts.in_bag = entries_of(tally);
    return facts;
  }

  PackedTree finish(const Tree& tree, const Members::OfTree& members, LeafFacts facts, LeafTally& tally) const {
    if (sampler_.draws()) facts.out_of_bag = out_of_bag(members, tally);
    return pack(tree, std::move(facts));
  }

  void tally_sample(const Members::OfTree& members, LeafTally& tally) const {
    tally_rows(members, tally, [](std::uint16_t copies) { return copies > 0; });
  }

  // Adds up the rows of which counts(copies) is true.
  template <class F>
  void tally_rows(const Members::OfTree& members, LeafTally& tally, F&& counts) const {
    tally.add_up(static_cast<std::size_t>(members.n_leaves), dataset_.n_classes, [&](auto&& add) {
      for (RowId row = 0; row < dataset_.n_rows(); ++row) {
        const std::uint16_t copies = members.copies_of(row);
        if (!counts(copies)) continue;
        const double weight = dataset_.weight(row);
        members.reach.visit(row, [&](LeafId leaf, double share) {
          add(leaf, dataset_.labels[row], share * weight, share * weight * copies);
        });
      }
    });
  }

  LeafCounts out_of_bag(const Members::OfTree& members, LeafTally& tally) const {
    tally_rows(members, tally, [](std::uint16_t copies) { return copies == 0; });
    return entries_of(tally);
  }

  static LeafCounts entries_of(LeafTally& tally) {
    LeafEntries entries;
    tally.visit([&](std::size_t, const std::vector<ClassId>& classes, const double* counted, const double*) {
      entries.add_leaf();
      for (const ClassId k : classes) entries.add(k, counted[k]);
    });
    return std::move(entries).packed();
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
  const bool leaves_known = !may_spread(dataset, options);
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
    Tree tree = growers[thread]->grow(mine.copies, tree_key(options.seed, index), of_thread,
                                      leaves_known ? &mine.leaf_of_row : nullptr);
    Members::OfTree members;
    grown.forest.trees[item] = counter.count_grown(tree, leaves_known, mine, members);
    if (forest.keep_members) grown.members.trees[item] = std::move(members);
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
    Members::OfTree members;
    grown.forest.trees[item] = counter.count(tree, mine, members);
    if (forest.keep_members) grown.members.trees[item] = std::move(members);
    of_thread.check(std::uint64_t{dataset.n_rows()} * 64);
  });
  return grown;
}

}  // namespace petiole
