#include "boost/grow.hpp"

#include <algorithm>
#include <numeric>

#include "base/random.hpp"
#include "tree/order.hpp"

namespace petiole::boosting {
namespace {

// Starting threads takes as long as this many additions to histograms.
constexpr std::size_t kWorkPerStart = 1 << 16;
constexpr double kLeastCurvature = 1e-12;

template <class F>
void run_if_worthwhile(ThreadPool& pool, std::size_t work, int n_items, F&& body) {
  if (work >= kWorkPerStart)
    pool.run(n_items, [&](int, int item) { body(item); });
  else
    for (int item = 0; item < n_items; ++item) body(item);
}

}  // namespace

void GrownTree::append_to(BoostedTrees& trees, const BoostColumns& columns) const {
  for (const Node& node : nodes) {
    trees.add_node();
    trees.value.back() = node.value;
    trees.weight.back() = node.weight;
    if (node.left >= 0) {
      const BoostColumns::Column& column = columns[node.split.column];
      trees.feature.back() = node.split.column;
      trees.left.back() = node.left;
      trees.gain.back() = node.split.gain;
      trees.missing_right.back() = node.right.back();
      if (column.categorical) {
        trees.category_right.insert(trees.category_right.end(), node.right.begin(), node.right.end() - 1);
      } else {
        const auto n_left =
            static_cast<std::uint32_t>(std::find(node.right.begin(), node.right.end() - 1, 1) - node.right.begin());
        trees.threshold.back() =
            n_left < column.n_codes ? column.threshold_after(n_left - 1) : std::numeric_limits<double>::infinity();
      }
    }
    trees.category_start.push_back(static_cast<std::int32_t>(trees.category_right.size()));
  }
  trees.node_start.push_back(static_cast<std::int32_t>(trees.feature.size()));
}

// Codes take the place of values: those up to the last on the left of a cut are not larger than it.
void GrownTree::make_monotone(const BoostColumns& columns, const std::vector<std::int8_t>& signs) {
  SplitTree splits;
  splits.n_columns = columns.n_columns();
  splits.nodes.resize(nodes.size());
  bool any = false;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (node.left < 0) continue;
    SplitTree::Node& to = splits.nodes[i];
    to.column = node.split.column;
    to.sign = signs[static_cast<std::size_t>(to.column)];
    to.first_child = static_cast<std::int32_t>(splits.children.size());
    to.n_children = 2;
    to.missing_child = node.right.back();
    splits.children.insert(splits.children.end(), {node.left, node.left + 1});
    any |= to.sign != 0;
    if (columns[to.column].categorical) {
      to.first_category = static_cast<std::int32_t>(splits.branch_of_category.size());
      to.n_categories = static_cast<std::int32_t>(node.right.size()) - 1;
      splits.branch_of_category.insert(splits.branch_of_category.end(), node.right.begin(), node.right.end() - 1);
    } else {
      to.threshold = static_cast<double>(std::find(node.right.begin(), node.right.end() - 1, 1) - node.right.begin()) - 1;
      // A cut after the last code tells known values from missing ones.
      if (to.threshold + 2 > static_cast<double>(node.right.size()) - 1)
        to.threshold = std::numeric_limits<double>::infinity();
    }
  }
  if (!any) return;
  const CellOrder order = cell_order(splits);
  std::vector<double> values, weights;
  for (const NodeId cell : order.cells) {
    values.push_back(nodes[static_cast<std::size_t>(cell)].value);
    weights.push_back(std::max(nodes[static_cast<std::size_t>(cell)].curvature, kLeastCurvature));
  }
  const Pooled pooled = pool_violators(order, values, weights);
  for (std::size_t i = 0; i < order.cells.size(); ++i)
    nodes[static_cast<std::size_t>(order.cells[i])].value = pooled.value[i];
}

void RowWindows::start(std::vector<RowId>&& rows) {
  rows_ = std::move(rows);
  spare_.resize(rows_.size());
  windows_.assign(1, {0, rows_.size()});
}

void RowWindows::divide(std::size_t node, const BoostColumns& columns, int column, const std::vector<std::uint8_t>& right) {
  const std::size_t begin = windows_[node].begin, end = windows_[node].end;  // named, since clang 14 captures no bindings
  std::size_t n_left = begin, n_right = 0;
  columns.visit_group(column / BoostColumns::kGroup, [&, lane = column % BoostColumns::kGroup](const auto* words) {
    RowId* const rows = rows_.data();
    RowId* const spare = spare_.data();
    const std::uint8_t* const goes_right = right.data();
    for (std::size_t i = begin; i < end; ++i) {
      const RowId row = rows[i];
      const std::size_t side = goes_right[BoostColumns::code(words[row], lane)];
      rows[n_left] = row;  // is overwritten by the next row unless this one stays
      spare[n_right] = row;
      n_left += 1 - side;
      n_right += side;
    }
  });
  std::copy_n(spare_.begin(), n_right, rows_.begin() + static_cast<std::ptrdiff_t>(n_left));
  windows_.push_back({begin, n_left});
  windows_.push_back({n_left, end});
}

void TreeGrower::draw_columns(std::uint64_t key) {
  const auto n = static_cast<std::size_t>(columns_.n_columns());
  drawn_.resize(n);
  std::iota(drawn_.begin(), drawn_.end(), 0);
  wanted_.assign(n, 1);
  const auto n_wanted = static_cast<std::size_t>(options_.max_features);
  if (n_wanted == 0 || n_wanted >= n) return;
  Random random(key);
  for (std::size_t i = 0; i < n_wanted; ++i)
    std::swap(drawn_[i], drawn_[i + random.below(static_cast<std::uint32_t>(n - i))]);
  drawn_.resize(n_wanted);
  std::sort(drawn_.begin(), drawn_.end());
  wanted_.assign(n, 0);
  for (const int j : drawn_) wanted_[static_cast<std::size_t>(j)] = 1;
}

GrownTree TreeGrower::grow(const std::vector<Sum>& sums, RowWindows& training, RowWindows& followers, std::uint64_t key,
                           ThreadPool& pool) {
  draw_columns(key);
  open_.clear();
  GrownTree tree;
  tree.nodes.emplace_back();
  const auto rows = training.rows(0);
  Sum total{};
  for (const RowId row : rows) total += sums[row];
  tree.nodes[0].value = search_.leaf_value(total);
  tree.nodes[0].weight = search_.weight(total);
  tree.nodes[0].curvature = search_.curvature(total);
  Leaf root{0, 0, total, {}, {}, 0};
  if (may_split(total, 0)) root.histogram = count(rows, sums, pool);
  add_leaf(std::move(root), pool);
  const auto most = options_.max_leaf_nodes > 0 ? static_cast<std::size_t>(options_.max_leaf_nodes) : SIZE_MAX;
  for (std::size_t n_leaves = 1; n_leaves < most && !open_.empty(); ++n_leaves) {
    const std::size_t best = best_leaf();
    Leaf leaf = std::move(open_[best]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(best));
    if (n_leaves + 1 == most) {  // the children of the last split are leaves
      for (Leaf& other : open_) spare_.push_back(std::move(other.histogram));
      open_.clear();
      leaf.depth = std::numeric_limits<int>::max() - 1;
    }
    split_leaf(std::move(leaf), sums, training, followers, tree, pool);
  }
  for (Leaf& leaf : open_) spare_.push_back(std::move(leaf.histogram));
  if (!options_.signs.empty()) tree.make_monotone(columns_, options_.signs);
  return tree;
}

bool TreeGrower::may_split(const Sum& total, int depth) const {
  const bool at_the_bottom =
      depth == std::numeric_limits<int>::max() || (options_.max_depth > 0 && depth >= options_.max_depth);
  return !at_the_bottom && search_.is_large_enough(total);
}

Histogram TreeGrower::count(std::span<const RowId> rows, const std::vector<Sum>& sums, ThreadPool& pool) {
  Histogram histogram;
  if (!spare_.empty()) {
    histogram = std::move(spare_.back());
    spare_.pop_back();
  }
  histogram.resize(columns_.n_bins());
  gathered_.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) gathered_[i] = sums[rows[i]];
  run_if_worthwhile(pool, rows.size() * drawn_.size(), columns_.n_groups(),
                    [&](int group) { fill_group(columns_, group, wanted_, rows, gathered_.data(), histogram); });
  return histogram;
}

void TreeGrower::find_split(Leaf& leaf, ThreadPool& pool) const {
  std::vector<Split> found(drawn_.size());
  run_if_worthwhile(pool, columns_.n_bins() * 4, static_cast<int>(drawn_.size()), [&](int item) {
    const auto i = static_cast<std::size_t>(item);
    if (interactions_.allows(leaf.path, drawn_[i])) found[i] = search_.find(drawn_[i], leaf.total, leaf.histogram);
  });
  for (const Split& split : found) leaf.split = SplitSearch::better(leaf.split, split);
}

std::size_t TreeGrower::best_leaf() const {
  std::size_t best = 0;
  for (std::size_t i = 1; i < open_.size(); ++i)
    if (&SplitSearch::better(open_[best].split, open_[i].split) == &open_[i].split) best = i;
  return best;
}

// The rows of the smaller child are counted; the rest of the parent's histogram is the other child's.
void TreeGrower::split_leaf(Leaf&& leaf, const std::vector<Sum>& sums, RowWindows& training, RowWindows& followers,
                            GrownTree& tree, ThreadPool& pool) {
  GrownTree::Node& node = tree.nodes[leaf.node];
  node.split = leaf.split;
  node.right = search_.table(leaf.split, leaf.total, leaf.histogram);
  node.left = static_cast<std::int32_t>(tree.nodes.size());
  node.value = 0;
  training.divide(leaf.node, columns_, leaf.split.column, node.right);
  followers.divide(leaf.node, columns_, leaf.split.column, node.right);
  const auto first = static_cast<std::size_t>(node.left);
  const Interactions::Path path = interactions_.after(leaf.path, leaf.split.column);
  Leaf children[] = {{first, leaf.depth + 1, leaf.split.left, {}, {}, path},
                     {first + 1, leaf.depth + 1, leaf.total - leaf.split.left, {}, {}, path}};
  for (const Leaf& child : children) {
    GrownTree::Node& of_child = tree.nodes.emplace_back();
    of_child.value = search_.leaf_value(child.total);
    of_child.weight = search_.weight(child.total);
    of_child.curvature = search_.curvature(child.total);
  }
  const bool splittable[] = {may_split(children[0].total, children[0].depth),
                             may_split(children[1].total, children[1].depth)};
  const int smaller = training.rows(first).size() <= training.rows(first + 1).size() ? 0 : 1, larger = 1 - smaller;
  if (splittable[larger]) {
    Histogram counted = count(training.rows(children[smaller].node), sums, pool);
    subtract(columns_, drawn_, counted, leaf.histogram);
    children[larger].histogram = std::move(leaf.histogram);
    children[smaller].histogram = std::move(counted);
  } else {
    spare_.push_back(std::move(leaf.histogram));
    if (splittable[smaller]) children[smaller].histogram = count(training.rows(children[smaller].node), sums, pool);
  }
  for (const int child : {0, 1}) {
    if (splittable[child])
      add_leaf(std::move(children[child]), pool);
    else if (!children[child].histogram.empty())
      spare_.push_back(std::move(children[child].histogram));
  }
}

// Adds a leaf to those to be split if there is a split for it.
void TreeGrower::add_leaf(Leaf&& leaf, ThreadPool& pool) {
  if (leaf.histogram.empty()) return;
  find_split(leaf, pool);
  if (leaf.split.exists())
    open_.push_back(std::move(leaf));
  else
    spare_.push_back(std::move(leaf.histogram));
}

}  // namespace petiole::boosting
