#include "forest/ordered_counts.hpp"

namespace petiole {
namespace {

// Leaves without rows have this weight, so that they follow all others.
constexpr double kNoRows = 1e-6;

struct TwoWeights {
  double others = 0, target = 0;

  double sum() const { return others + target; }
  TwoWeights& operator+=(const TwoWeights& more) {
    others += more.others;
    target += more.target;
    return *this;
  }
};

std::vector<NodeId> nodes_top_down(const Tree& tree) {
  std::vector<NodeId> nodes{0};
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const auto node = static_cast<std::size_t>(nodes[at]);
    for (std::int32_t c = tree.child_start[node]; c < tree.child_start[node + 1]; ++c)
      nodes.push_back(tree.child_nodes[static_cast<std::size_t>(c)]);
  }
  return nodes;
}

// The weights at all nodes of one tree.
class ClassWeights {
 public:
  ClassWeights(const PackedTree& packed, const Tree& tree, int n_classes, CountedRows rows, int target)
      : tree_(tree), top_down_(nodes_top_down(tree)), weights_(tree.n_nodes()) {
    const auto width = static_cast<std::size_t>(n_classes), k = static_cast<std::size_t>(target);
    std::vector<double> table(packed.vote.size() * width, 0.0);
    leaf_counts(packed, n_classes, {rows.in_bag, rows.out_of_bag, 0}, table.data());
    const double* row = table.data();
    for (std::size_t i = 0; i < tree.n_nodes(); ++i) {
      if (tree.feature[i] >= 0) continue;
      for (std::size_t c = 0; c < width; ++c) (c == k ? weights_[i].target : weights_[i].others) += row[c];
      row += width;
    }
    for (std::size_t at = top_down_.size(); at-- > 0;)
      over_children(top_down_[at],
                    [&](std::size_t child) { weights_[static_cast<std::size_t>(top_down_[at])] += weights_[child]; });
  }

  // Whether a node is to be a leaf, because of a child with rows, but too few.
  std::vector<std::uint8_t> closed(double least) const {
    std::vector<std::uint8_t> closed(weights_.size(), 0);
    for (const NodeId node : top_down_)
      over_children(node, [&](std::size_t child) {
        const double weight = weights_[child].sum();
        closed[static_cast<std::size_t>(node)] |= weight > 0 && weight < least * (1 - kWeightSlack);
      });
    return closed;
  }

  // Nodes without rows get a trace of the shares of their parents; a tree without rows, those given.
  void fill(double share_of_nothing) {
    if (weights_[0].sum() <= 0) weights_[0] = {kNoRows * (1 - share_of_nothing), kNoRows * share_of_nothing};
    for (const NodeId node : top_down_) {
      const TwoWeights own = weights_[static_cast<std::size_t>(node)];
      over_children(node, [&](std::size_t child) {
        if (weights_[child].sum() <= 0)
          weights_[child] = {kNoRows * own.others / own.sum(), kNoRows * own.target / own.sum()};
      });
    }
  }

  const TwoWeights& of(NodeId node) const { return weights_[static_cast<std::size_t>(node)]; }

 private:
  template <class F>
  void over_children(NodeId node, F&& f) const {
    const auto at = static_cast<std::size_t>(node);
    for (std::int32_t c = tree_.child_start[at]; c < tree_.child_start[at + 1]; ++c)
      f(static_cast<std::size_t>(tree_.child_nodes[static_cast<std::size_t>(c)]));
  }

  const Tree& tree_;
  std::vector<NodeId> top_down_;
  std::vector<TwoWeights> weights_;
};

std::vector<double> ordered_table(const PackedTree& packed, int n_classes, CountedRows rows, const ClassOrder& order) {
  const Tree tree = unpack(packed, n_classes, false);
  ClassWeights weights(packed, tree, n_classes, rows, order.target);
  const CellOrder cells = cell_order(split_tree(tree, order.signs, weights.closed(rows.least)));
  weights.fill(1.0 / n_classes);
  std::vector<double> shares, sizes;
  for (const NodeId cell : cells.cells) {
    sizes.push_back(weights.of(cell).sum());
    shares.push_back(weights.of(cell).target / sizes.back());
  }
  const Pooled pooled = pool_violators(cells, shares, sizes);
  std::vector<TwoWeights> of_block(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) of_block[pooled.block[i]] += weights.of(cells.cells[i]);
  std::vector<double> table;
  const auto cell_of = cells_of_nodes(tree, cells);
  for (const NodeId leaf : leaves_of(tree)) {
    const TwoWeights& block = of_block[pooled.block[cell_of[static_cast<std::size_t>(leaf)]]];
    table.push_back(block.others);
    table.push_back(block.target);
  }
  return table;
}

}  // namespace

LeafTables ordered_counts(const Forest& forest, CountedRows rows, const ClassOrder& order, ThreadPool& pool) {
  std::vector<std::size_t> n_leaves;
  for (const PackedTree& tree : forest.trees) n_leaves.push_back(tree.vote.size());
  LeafTables tables = LeafTables::unset(2, n_leaves);
  pool.run(static_cast<int>(forest.trees.size()), [&](int, int item) {
    const auto t = static_cast<std::size_t>(item);
    tables.set(t, ordered_table(forest.trees[t], forest.n_classes, rows, order).data());
  });
  return tables;
}

std::vector<double> ordered_shares(const Tree& tree, Signs signs, std::span<const double> shares,
                                   std::span<const double> weights) {
  const CellOrder cells = cell_order(split_tree(tree, signs));
  const auto cell_of = cells_of_nodes(tree, cells);
  const std::vector<NodeId> leaves = leaves_of(tree);
  std::vector<double> means(cells.cells.size(), 0.0), sizes(cells.cells.size(), 0.0);
  std::vector<std::uint32_t> n_leaves(means.size(), 0);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::size_t cell = cell_of[static_cast<std::size_t>(leaves[i])];
    const double weight = std::max(weights[i], kNoRows), size = sizes[cell] + weight;
    means[cell] = n_leaves[cell]++ == 0 ? shares[i] : (means[cell] * sizes[cell] + shares[i] * weight) / size;
    sizes[cell] = size;
  }
  const Pooled pooled = pool_violators(cells, means, sizes);
  std::vector<double> ordered;
  for (const NodeId leaf : leaves) ordered.push_back(pooled.value[cell_of[static_cast<std::size_t>(leaf)]]);
  return ordered;
}

}  // namespace petiole
