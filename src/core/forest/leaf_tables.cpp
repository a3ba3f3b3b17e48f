#include "forest/leaf_tables.hpp"

namespace petiole {

LeafTables tables_of_counts(const Forest& forest, CountedRows rows, ThreadPool& pool) {
  const auto width = static_cast<std::size_t>(forest.n_classes);
  const std::size_t n_trees = forest.trees.size();
  std::vector<std::size_t> n_leaves;
  for (const PackedTree& tree : forest.trees) n_leaves.push_back(tree.vote.size());
  LeafTables tables = LeafTables::unset(width, n_leaves);
  std::vector<std::vector<CountedLeaves>> counted(n_trees);
  std::vector<std::vector<double>> rooms(static_cast<std::size_t>(pool.n_threads()));
  pool.run(static_cast<int>(n_trees), [&](int thread, int item) {
    const auto t = static_cast<std::size_t>(item);
    if (tables.set_own_counts(t, forest.trees[t], rows)) return;
    std::vector<double>& table = rooms[static_cast<std::size_t>(thread)];
    table.assign(tables.n_leaves(t) * width, 0.0);
    counted[t] = leaf_counts(forest.trees[t], forest.n_classes, rows, table.data());
    tables.set(t, table.data());
  });
  const bool all_own = std::all_of(counted.begin(), counted.end(), [](const auto& of_tree) { return of_tree.empty(); });
  if (!all_own) tables.set_counted(std::move(counted));
  return tables;
}

}  // namespace petiole
