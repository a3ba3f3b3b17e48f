#include "forest/ordered_shares.hpp"

#include <algorithm>

namespace petiole {
namespace {

// Leaves without rows have this weight, so that they follow all others.
constexpr double kNoRows = 1e-6;
// So many trees are made monotone before rows are looked up in them.
constexpr std::size_t kTreesAtOnce = 32;
constexpr std::size_t kRowsPerItem = 2048;

struct TwoWeights {
  double others = 0, target = 0;

  double sum() const { return others + target; }
  void add(const TwoWeights& more, double scale) {
    others += scale * more.others;
    target += scale * more.target;
  }
};
using LeafWeights = std::vector<TwoWeights>;

// The weights of the rows at each leaf.
LeafWeights leaf_weights(const PackedTree& packed, int n_classes, double in_bag, double out_of_bag, int target) {
  const auto width = static_cast<std::size_t>(n_classes), k = static_cast<std::size_t>(target);
  std::vector<double> table(packed.vote.size() * width, 0.0);
  leaf_counts(packed, n_classes, {in_bag, out_of_bag, 0}, table.data());
  LeafWeights weights(packed.vote.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    TwoWeights& of_leaf = weights[i / width];
    (i % width == k ? of_leaf.target : of_leaf.others) += table[i];
  }
  return weights;
}

// The weights of out-of-bag rows at each leaf of a tree, fold by fold.
std::vector<LeafWeights> fold_weights(const Members::OfTree& tree, std::size_t n_rows, TrainingRows rows,
                                      ClassId target_label, Folds folds) {
  std::vector<LeafWeights> weights(folds.n, LeafWeights(static_cast<std::size_t>(tree.n_leaves)));
  for (std::size_t row = 0; row < n_rows; ++row) {
    if (tree.copies_of(row) > 0) continue;
    const TwoWeights one = rows.labels[row] == target_label ? TwoWeights{0, 1} : TwoWeights{1, 0};
    tree.reach.visit(row, [&](LeafId leaf, double share) {
      weights[folds.of_row[row]][static_cast<std::size_t>(leaf)].add(one, share * rows.weight(row));
    });
  }
  return weights;
}

// A tree, and which of its leaves are below which.
class OrderedTree {
 public:
  OrderedTree(const PackedTree& packed, int n_classes, Signs signs) : OrderedTree(unpack(packed, n_classes, false), signs) {}
  OrderedTree(Tree tree, Signs signs)
      : tree_(std::move(tree)),
        parent_(tree_.n_nodes(), -1),
        leaves_(leaves_of(tree_)),
        cells_(cell_order(split_tree(tree_, signs))),
        cell_of_(cells_of_nodes(tree_, cells_)) {
    top_down_.push_back(0);
    for (std::size_t at = 0; at < top_down_.size(); ++at) {
      const NodeId node = top_down_[at];
      for (std::int32_t c = tree_.child_start[index(node)]; c < tree_.child_start[index(node) + 1]; ++c) {
        top_down_.push_back(tree_.child_nodes[index(c)]);
        parent_[index(top_down_.back())] = node;
      }
    }
  }

  // The monotone share of the target at each leaf, from the weights of rows there; `nothing` is that of a tree without rows.
  std::vector<double> shares(const LeafWeights& of_leaves, double least, double nothing) const {
    std::vector<TwoWeights> weights(tree_.n_nodes());
    for (std::size_t i = 0; i < leaves_.size(); ++i) weights[index(leaves_[i])] = of_leaves[i];
    for (std::size_t at = top_down_.size(); --at > 0;)
      weights[index(parent_[index(top_down_[at])])].add(weights[index(top_down_[at])], 1.0);
    std::vector<double> share(tree_.n_nodes());
    for (const NodeId node : top_down_) {
      const double sum = weights[index(node)].sum();
      const bool enough = sum > 0 && sum >= least * (1 - kWeightSlack);
      const double above = node == 0 ? (sum > 0 ? weights[0].target / sum : nothing) : share[index(parent_[index(node)])];
      share[index(node)] = enough ? weights[index(node)].target / sum : above;
    }
    std::vector<double> values, sizes;
    for (const NodeId cell : cells_.cells) {
      values.push_back(share[index(cell)]);
      sizes.push_back(std::max(weights[index(cell)].sum(), kNoRows));
    }
    return at_leaves(pool_violators(cells_, values, sizes));
  }

  // The same for shares that are there already.
  std::vector<double> pooled(std::span<const double> shares, std::span<const double> weights) const {
    std::vector<double> means(cells_.cells.size(), 0.0), sizes(cells_.cells.size(), 0.0);
    std::vector<std::uint32_t> n_leaves(means.size(), 0);
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const std::size_t cell = cell_of_[index(leaves_[i])];
      const double weight = std::max(weights[i], kNoRows), size = sizes[cell] + weight;
      means[cell] = n_leaves[cell]++ == 0 ? shares[i] : (means[cell] * sizes[cell] + shares[i] * weight) / size;
      sizes[cell] = size;
    }
    return at_leaves(pool_violators(cells_, means, sizes));
  }

 private:
  static std::size_t index(std::int32_t at) { return static_cast<std::size_t>(at); }

  std::vector<double> at_leaves(const Pooled& pooled) const {
    std::vector<double> values;
    for (const NodeId leaf : leaves_) values.push_back(pooled.value[cell_of_[index(leaf)]]);
    return values;
  }

  Tree tree_;
  std::vector<NodeId> parent_, leaves_;
  CellOrder cells_;
  std::vector<std::uint32_t> cell_of_;
  std::vector<NodeId> top_down_;
};

// The shares of a tree's leaves by which each fold is predicted; one list for all if out-of-bag rows do not count.
struct FoldShares {
  std::vector<std::vector<double>> of_fold;

  double at(LeafId leaf, std::size_t fold) const {
    return of_fold[of_fold.size() == 1 ? 0 : fold][static_cast<std::size_t>(leaf)];
  }
};

}  // namespace

LeafTables ordered_shares(const Forest& forest, CountedRows rows, const ClassOrder& order, ThreadPool& pool) {
  std::vector<std::size_t> n_leaves;
  for (const PackedTree& tree : forest.trees) n_leaves.push_back(tree.vote.size());
  LeafTables tables = LeafTables::unset(2, n_leaves);
  const bool target_first = forest.n_classes == 2 && order.target == 0;
  pool.run(static_cast<int>(forest.trees.size()), [&](int, int item) {
    const PackedTree& packed = forest.trees[static_cast<std::size_t>(item)];
    const OrderedTree tree(packed, forest.n_classes, order.signs);
    const auto weights = leaf_weights(packed, forest.n_classes, rows.in_bag, rows.out_of_bag, order.target);
    std::vector<double> table;
    for (const double share : tree.shares(weights, rows.least, 1.0 / forest.n_classes)) {
      table.push_back(target_first ? share : 1 - share);
      table.push_back(target_first ? 1 - share : share);
    }
    tables.set(static_cast<std::size_t>(item), table.data());
  });
  return tables;
}

void ordered_out_of_bag(const Forest& forest, const Members& members, TrainingRows training, ClassId target_label,
                        Folds folds, CountedRows rows, const ClassOrder& order, Asked asked, ThreadPool& pool,
                        Interrupt& interrupt, double* out) {
  std::fill(out, out + asked.n, 0.0);
  std::vector<double> weight(asked.n, 0.0);
  std::vector<FoldShares> trees(kTreesAtOnce);
  for (std::size_t first = 0; first < forest.trees.size(); first += kTreesAtOnce) {
    if (interrupt.requested()) throw Interrupted();
    const std::size_t n_here = std::min(kTreesAtOnce, forest.trees.size() - first);
    pool.run(static_cast<int>(n_here), [&](int, int item) {
      const auto t = static_cast<std::size_t>(item);
      const PackedTree& packed = forest.trees[first + t];
      const OrderedTree tree(packed, forest.n_classes, order.signs);
      const LeafWeights seen = leaf_weights(packed, forest.n_classes, rows.in_bag, 0, order.target);
      trees[t].of_fold.clear();
      if (rows.out_of_bag == 0) {
        trees[t].of_fold.push_back(tree.shares(seen, rows.least, 1.0 / forest.n_classes));
        return;
      }
      const auto unseen = fold_weights(members.trees[first + t], members.n_rows, training, target_label, folds);
      for (std::size_t fold = 0; fold < folds.n; ++fold) {
        LeafWeights without = seen;
        for (std::size_t other = 0; other < folds.n; ++other)
          for (std::size_t leaf = 0; other != fold && leaf < without.size(); ++leaf)
            without[leaf].add(unseen[other][leaf], rows.out_of_bag);
        trees[t].of_fold.push_back(tree.shares(without, rows.least, 1.0 / forest.n_classes));
      }
    });
    pool.run(static_cast<int>((asked.n + kRowsPerItem - 1) / kRowsPerItem), [&](int, int item) {
      const std::size_t begin = static_cast<std::size_t>(item) * kRowsPerItem;
      const std::size_t end = std::min(asked.n, begin + kRowsPerItem);
      for (std::size_t t = 0; t < n_here; ++t) {
        const Members::OfTree& tree = members.trees[first + t];
        for (std::size_t i = begin; i < end; ++i) {
          const std::size_t row = asked.row(i);
          if (tree.copies_of(row) > 0) continue;
          tree.reach.visit(row, [&](LeafId leaf, double share) {
            out[i] += share * trees[t].at(leaf, folds.of_row[row]);
            weight[i] += share;
          });
        }
      }
    });
  }
  for (std::size_t i = 0; i < asked.n; ++i)
    out[i] = weight[i] > 0 ? out[i] / weight[i] : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> ordered_shares(const Tree& tree, Signs signs, std::span<const double> shares,
                                   std::span<const double> weights) {
  return OrderedTree(tree, signs).pooled(shares, weights);
}

}  // namespace petiole
