#include "forest/counts.hpp"

#include "forest/leaf_tally.hpp"

namespace petiole {
namespace {

// Counts the rows of one tree for which weight_of(copies, weight) is positive.
template <class F>
LeafCounts count_tree(const Members::OfTree& tree, std::size_t n_rows, TrainingRows rows, int n_classes,
                      LeafTally<double>& tally, F&& weight_of) {
  tally.add_up(static_cast<std::size_t>(tree.n_leaves), n_classes, [&](auto&& add) {
    for (std::size_t row = 0; row < n_rows; ++row) {
      const double weight = weight_of(tree.copies_of(row), rows.weight(row));
      if (weight <= 0) continue;
      tree.reach.visit(row, [&](LeafId leaf, double share) { add(leaf, rows.labels[row], share * weight); });
    }
  });
  LeafEntries<double> entries;
  return packed_counts(tally, entries);
}

}  // namespace

ForestCounts count_members(const Members& members, TrainingRows rows, int n_classes, bool distinct, ThreadPool& pool) {
  ForestCounts counts{n_classes, std::vector<ForestCounts::OfTree>(members.trees.size())};
  std::vector<LeafTally<double>> tallies(static_cast<std::size_t>(pool.n_threads()));
  pool.run(static_cast<int>(members.trees.size()), [&](int thread, int item) {
    const auto t = static_cast<std::size_t>(item);
    const auto count = [&](auto&& weight_of) {
      return count_tree(members.trees[t], members.n_rows, rows, n_classes, tallies[static_cast<std::size_t>(thread)],
                        weight_of);
    };
    counts.trees[t].in_bag =
        count([distinct](std::uint16_t copies, double weight) { return distinct && copies > 0 ? weight : copies * weight; });
    counts.trees[t].out_of_bag = count([](std::uint16_t copies, double weight) { return copies == 0 ? weight : 0.0; });
  });
  return counts;
}

ForestCounts ForestCounts::plus(const ForestCounts& more, double scale, ThreadPool& pool) const {
  ForestCounts sum{n_classes, std::vector<OfTree>(trees.size())};
  pool.run(static_cast<int>(trees.size()), [&](int, int item) {
    const auto t = static_cast<std::size_t>(item);
    sum.trees[t] = {trees[t].in_bag.plus(more.trees[t].in_bag, scale),
                    trees[t].out_of_bag.plus(more.trees[t].out_of_bag, scale)};
  });
  return sum;
}

ForestCounts ForestCounts::out_of_bag_alone() const {
  ForestCounts alone = *this;
  for (OfTree& tree : alone.trees) tree.in_bag = LeafCounts();
  return alone;
}

bool are_alike(const ForestCounts& one, const ForestCounts& two) {
  const auto same_size = [](const LeafCounts& a, const LeafCounts& b) {
    return a.n_entries().empty() || b.n_entries().empty() || a.n_entries().size() == b.n_entries().size();
  };
  const auto same_tree = [&](const ForestCounts::OfTree& a, const ForestCounts::OfTree& b) {
    return same_size(a.in_bag, b.in_bag) && same_size(a.out_of_bag, b.out_of_bag);
  };
  return one.n_classes == two.n_classes &&
         std::equal(one.trees.begin(), one.trees.end(), two.trees.begin(), two.trees.end(), same_tree);
}

ForestCounts counts_of(const Forest& forest) {
  ForestCounts counts{forest.n_classes, {}};
  for (const PackedTree& tree : forest.trees) counts.trees.push_back({tree.in_bag, tree.out_of_bag});
  return counts;
}

Forest with_counts(const Forest& forest, const ForestCounts& counts, const std::vector<double>& prior, ThreadPool& pool) {
  Forest counted = forest;
  pool.run(static_cast<int>(counted.trees.size()), [&](int, int item) {
    PackedTree& tree = counted.trees[static_cast<std::size_t>(item)];
    const ForestCounts::OfTree& of_tree = counts.trees[static_cast<std::size_t>(item)];
    if (!of_tree.in_bag.n_entries().empty()) {
      if (tree.spread_weights.n_entries().empty()) tree.spread_weights = tree.in_bag.summed();
      tree.in_bag = of_tree.in_bag;
    }
    if (!of_tree.out_of_bag.n_entries().empty()) tree.out_of_bag = of_tree.out_of_bag;
    if (prior.empty()) return;
    const Tree structure = unpack(tree, counted.n_classes, true);
    tree.vote = to_codes(leaf_votes(structure, structure.counts, prior));
  });
  return counted;
}

}  // namespace petiole
