// Growing a forest: samples, trees in parallel, and the rows outside each sample counted at its leaves.
#include <algorithm>
#include <atomic>

#include "forest/tree_counter.hpp"

namespace petiole {
namespace {

// Whether rows may be divided over branches while trees are grown.
bool may_spread(const Dataset& dataset, const GrowOptions& options) {
  return options.missing == Missing::fractional &&
         std::any_of(dataset.columns.begin(), dataset.columns.end(), [](const Column& c) { return c.has_missing; });
}

// Runs body(thread, item, interrupt): only the calling thread may poll for interrupts, the others read its result.
template <class F>
void run_trees(int n_trees, ThreadPool& pool, Interrupt& interrupt, F&& body) {
  std::atomic<bool> stopped{false};
  // One for each thread and all its trees: a single small tree does too little work for a poll.
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
  const TreeCounter counter(dataset, forest);
  const bool placed = !may_spread(dataset, options);
  const auto n_threads = static_cast<std::size_t>(pool.n_threads());
  std::vector<TreeCounter::Scratch> scratch(n_threads);
  std::vector<std::unique_ptr<ThreadPool>> alone;
  std::vector<std::unique_ptr<TreeGrower>> growers;
  for (std::size_t thread = 0; thread < n_threads; ++thread) {
    alone.push_back(std::make_unique<ThreadPool>(1));
    growers.push_back(std::make_unique<TreeGrower>(dataset, options, *alone.back()));
  }
  run_trees(n_trees, pool, interrupt, [&](std::size_t thread, std::size_t item, Interrupt& of_thread) {
    const std::uint64_t index = forest.first_tree + item;
    TreeCounter::Scratch& mine = scratch[thread];
    counter.sampler().draw(sample_key(options.seed, index), mine.copies);
    Tree tree =
        growers[thread]->grow(mine.copies, tree_key(options.seed, index), of_thread, placed ? &mine.placement : nullptr);
    Members::OfTree* members = forest.keep_members ? &grown.members.trees[item] : nullptr;
    grown.forest.trees[item] = placed ? counter.count_placed(tree, mine, members) : counter.count(tree, mine, members);
  });
  return grown;
}

GrownForest count_forest(const Dataset& dataset, const std::vector<Tree>& trees, std::uint64_t seed,
                         const ForestOptions& forest, ThreadPool& pool, Interrupt& interrupt) {
  GrownForest grown = room_for(dataset, trees.size(), forest);
  const TreeCounter counter(dataset, forest);
  std::vector<TreeCounter::Scratch> scratch(static_cast<std::size_t>(pool.n_threads()));
  run_trees(static_cast<int>(trees.size()), pool, interrupt, [&](std::size_t thread, std::size_t item, Interrupt& of_thread) {
    TreeCounter::Scratch& mine = scratch[thread];
    counter.sampler().draw(sample_key(seed, forest.first_tree + item), mine.copies);
    Tree tree = trees[item];
    grown.forest.trees[item] = counter.count(tree, mine, forest.keep_members ? &grown.members.trees[item] : nullptr);
    of_thread.check(std::uint64_t{dataset.n_rows()} * 64);
  });
  return grown;
}

}  // namespace petiole
