// One table per tree with a row of numbers for each leaf.
//
// Most leaves of a large tree hold few of many classes. A table is kept as lists of what is not zero where that is much
// smaller, and as it is otherwise: with two classes lists would not be smaller.
#pragma once

#include <algorithm>
#include <numeric>

#include "base/prefetch.hpp"
#include "forest/forest.hpp"

namespace petiole {

class LeafTables {
 public:
  // All zero.
  LeafTables(std::size_t n_columns, const std::vector<std::size_t>& n_leaves) : n_columns_(n_columns) {
    for (const std::size_t n : n_leaves) trees_.push_back({n, std::vector<double>(n * n_columns, 0.0), {}, {}});
  }

  // Without tables yet: each tree has to be set.
  static LeafTables unset(std::size_t n_columns, const std::vector<std::size_t>& n_leaves) {
    LeafTables tables(n_columns, {});
    for (const std::size_t n : n_leaves) tables.trees_.push_back({n, {}, {}, {}});
    return tables;
  }

  // A table for each of several trees, each of n_leaves x n_columns numbers.
  static LeafTables of(std::size_t n_columns, const std::vector<std::size_t>& n_leaves,
                       const std::vector<const double*>& tables) {
    LeafTables all = unset(n_columns, n_leaves);
    for (std::size_t t = 0; t < tables.size(); ++t) all.set(t, tables[t]);
    return all;
  }

  std::size_t n_columns() const { return n_columns_; }
  std::size_t n_trees() const { return trees_.size(); }
  std::size_t n_leaves(std::size_t tree) const { return trees_[tree].n_leaves; }

  // Takes over a table of n_leaves x n_columns numbers.
  void set(std::size_t tree, const double* table) {
    OfTree& of_tree = trees_[tree];
    const std::size_t size = of_tree.n_leaves * n_columns_;
    const auto n_items = size - static_cast<std::size_t>(std::count(table, table + size, 0.0));
    of_tree = {of_tree.n_leaves, {}, {}, {}};
    if (!lists_pay(of_tree.n_leaves, n_items)) {
      of_tree.dense.assign(table, table + size);
      return;
    }
    of_tree.items.reserve(n_items);
    of_tree.start.reserve(of_tree.n_leaves + 1);
    of_tree.start.push_back(0);
    for (std::size_t leaf = 0; leaf < of_tree.n_leaves; ++leaf) {
      for (std::size_t k = 0; k < n_columns_; ++k)
        if (*table++ != 0) of_tree.items.push_back({*(table - 1), static_cast<std::uint32_t>(k)});
      of_tree.start.push_back(static_cast<std::uint32_t>(of_tree.items.size()));
    }
  }

  // Takes over a tree's counts if each leaf has enough of its own, never a whole table in between. Returns whether it did.
  bool set_own_counts(std::size_t tree, const PackedTree& packed, CountedRows rows) {
    OfTree lists{n_leaves(tree), {}, {0}, {}};
    lists.start.reserve(lists.n_leaves + 1);
    const LeafCounts none;
    const LeafCounts& in_bag = rows.in_bag == 0 ? none : packed.in_bag;
    const LeafCounts& out_of_bag = rows.out_of_bag == 0 ? none : packed.out_of_bag;
    lists.items.reserve(in_bag.classes().size() + out_of_bag.classes().size());
    double of_leaf = 0;
    bool enough = true;
    const auto add = [&](ClassId label, double weight) {
      lists.items.push_back({weight, label});
      of_leaf += weight;
    };
    const auto next_leaf = [&] {
      enough &= rows.is_enough(of_leaf);
      of_leaf = 0;
      lists.start.push_back(static_cast<std::uint32_t>(lists.items.size()));
    };
    in_bag.visit_sum(rows.in_bag, out_of_bag, rows.out_of_bag, add, next_leaf);
    if (!enough || lists.start.size() != lists.n_leaves + 1) return false;
    trees_[tree] = std::move(lists);
    if (!lists_pay(n_leaves(tree), trees_[tree].items.size())) of_tree(tree);
    return true;
  }

  // The whole table of a tree, to be read or, after turning lists into it, written.
  std::vector<double> table(std::size_t tree) const {
    if (!trees_[tree].is_list()) return trees_[tree].dense;
    std::vector<double> dense(n_leaves(tree) * n_columns_, 0.0);
    for (std::size_t leaf = 0; leaf < n_leaves(tree); ++leaf)
      visit(tree, leaf, [&](std::size_t k, double value) { dense[leaf * n_columns_ + k] = value; });
    return dense;
  }
  double* of_tree(std::size_t tree) {
    if (trees_[tree].is_list()) trees_[tree] = {n_leaves(tree), table(tree), {}, {}};
    return trees_[tree].dense.data();
  }

  // A leaf's row: where it is kept, or written into `room`.
  const double* row(std::size_t tree, LeafId leaf, std::vector<double>& room) const {
    const auto at = static_cast<std::size_t>(leaf);
    if (!trees_[tree].is_list()) return trees_[tree].dense.data() + at * n_columns_;
    room.assign(n_columns_, 0.0);
    visit(tree, at, [&](std::size_t k, double value) { room[k] = value; });
    return room.data();
  }

  // Adds share times a leaf's row.
  void add_row(std::size_t tree, LeafId leaf, double share, double* to) const {
    visit(tree, static_cast<std::size_t>(leaf), [&](std::size_t k, double value) { to[k] += share * value; });
  }

  // Adds a leaf's row for each of the leaves, at to, to + n_columns, ...; a negative leaf is left out.
  void add_rows(std::size_t tree, const LeafId* leaves, std::size_t n, double* to) const {
    const OfTree& of_tree = trees_[tree];
    for (std::size_t r = 0; r < n; ++r, to += n_columns_) {
      if (r + kAhead < n && leaves[r + kAhead] >= 0) prefetch(of_tree.address(leaves[r + kAhead], n_columns_));
      if (leaves[r] < 0) continue;
      const auto leaf = static_cast<std::size_t>(leaves[r]);
      if (of_tree.is_list()) {
        for (std::uint32_t i = of_tree.start[leaf]; i < of_tree.start[leaf + 1]; ++i)
          to[of_tree.items[i].column] += of_tree.items[i].value;
      } else {
        const double* from = of_tree.dense.data() + leaf * n_columns_;
        for (std::size_t k = 0; k < n_columns_; ++k) to[k] += from[k];
      }
    }
  }

  // Leaves may hold the counts of a common ancestor; by default each has its own. A tree's list may be empty: each has.
  void set_counted(std::vector<std::vector<CountedLeaves>> counted) { counted_ = std::move(counted); }
  bool has_own_counts() const { return counted_.empty(); }
  // Whether the counts of one leaf include those of another.
  bool holds(std::size_t tree, LeafId leaf, LeafId other) const {
    const auto& of_tree = counted_[tree];
    if (of_tree.empty()) return leaf == other;
    return of_tree[static_cast<std::size_t>(leaf)].holds(of_tree[static_cast<std::size_t>(other)]);
  }

  // Adds a row of numbers per tree, n_trees x n_columns, to all leaves of the tree.
  void add(const double* rows) {
    for (std::size_t t = 0; t < n_trees(); ++t, rows += n_columns_) {
      double* to = of_tree(t);
      for (std::size_t leaf = 0; leaf < n_leaves(t); ++leaf, to += n_columns_)
        for (std::size_t k = 0; k < n_columns_; ++k) to[k] += rows[k];
    }
  }

  // Divides every row by its sum; a row of zeros stays as it is.
  void normalise() {
    for (OfTree& tree : trees_)
      for (std::size_t leaf = 0; leaf < tree.n_leaves; ++leaf) {
        const double sum = sum_of(tree, leaf);
        if (sum > 0) change(tree, leaf, [sum](double& value) { value /= sum; });
      }
  }

  std::vector<std::size_t> trees_with_empty_rows() const {
    std::vector<std::size_t> found;
    for (std::size_t t = 0; t < n_trees(); ++t) {
      bool any = false;
      for (std::size_t leaf = 0; leaf < n_leaves(t) && !any; ++leaf) {
        bool empty = true;
        visit(t, leaf, [&](std::size_t, double value) { empty &= value == 0; });
        any = empty;
      }
      if (any) found.push_back(t);
    }
    return found;
  }

  // One column: the sums of rows.
  LeafTables row_sums() const {
    LeafTables sums(1, sizes());
    for (std::size_t t = 0; t < n_trees(); ++t)
      for (std::size_t leaf = 0; leaf < n_leaves(t); ++leaf) sums.trees_[t].dense[leaf] = sum_of(trees_[t], leaf);
    return sums;
  }

  // The columns of several tables with the same leaves, one after the other.
  static LeafTables side_by_side(const std::vector<const LeafTables*>& parts) {
    std::size_t width = 0;
    for (const LeafTables* part : parts) {
      width += part->n_columns_;
      if (part->sizes() != parts.at(0)->sizes()) throw std::invalid_argument("the tables have other leaves");
    }
    LeafTables all = unset(width, parts.at(0)->sizes());
    std::vector<double> table;
    for (std::size_t t = 0; t < all.n_trees(); ++t) {
      table.assign(all.n_leaves(t) * width, 0.0);
      std::size_t column = 0;
      for (const LeafTables* part : parts) {
        for (std::size_t leaf = 0; leaf < all.n_leaves(t); ++leaf)
          part->visit(t, leaf, [&](std::size_t k, double value) { table[leaf * width + column + k] = value; });
        column += part->n_columns_;
      }
      all.set(t, table.data());
    }
    return all;
  }

 private:
  static constexpr std::size_t kAhead = 8;  // rows between the prefetch of a leaf's numbers and their use

  struct Item {
    double value;
    std::uint32_t column;
  };
  struct OfTree {
    std::size_t n_leaves = 0;
    std::vector<double> dense;
    std::vector<std::uint32_t> start;  // of each leaf's items, and their end; empty: the table is dense
    std::vector<Item> items;

    bool is_list() const { return !start.empty(); }
    const void* address(LeafId leaf, std::size_t n_columns) const {
      const auto at = static_cast<std::size_t>(leaf);
      if (is_list()) return items.data() + start[at];
      return dense.data() + at * n_columns;
    }
  };

  bool lists_pay(std::size_t n_leaves, std::size_t n_items) const {
    const std::size_t bytes = n_items * sizeof(Item) + n_leaves * sizeof(std::uint32_t);
    return 2 * bytes <= n_leaves * n_columns_ * sizeof(double);
  }

  // Calls f(column, value) for a leaf's numbers, in order of column; zeros may be left out.
  template <class F>
  void visit(std::size_t tree, std::size_t leaf, F&& f) const {
    const OfTree& of_tree = trees_[tree];
    if (of_tree.is_list()) {
      for (std::uint32_t i = of_tree.start[leaf]; i < of_tree.start[leaf + 1]; ++i)
        f(std::size_t{of_tree.items[i].column}, of_tree.items[i].value);
    } else {
      const double* from = of_tree.dense.data() + leaf * n_columns_;
      for (std::size_t k = 0; k < n_columns_; ++k) f(k, from[k]);
    }
  }

  // Calls f(value) for a leaf's numbers, which it may change.
  template <class F>
  void change(OfTree& tree, std::size_t leaf, F&& f) const {
    if (tree.is_list())
      for (std::uint32_t i = tree.start[leaf]; i < tree.start[leaf + 1]; ++i) f(tree.items[i].value);
    else
      for (std::size_t i = leaf * n_columns_; i < (leaf + 1) * n_columns_; ++i) f(tree.dense[i]);
  }

  double sum_of(const OfTree& tree, std::size_t leaf) const {
    double sum = 0;
    if (tree.is_list())
      for (std::uint32_t i = tree.start[leaf]; i < tree.start[leaf + 1]; ++i) sum += tree.items[i].value;
    else
      for (std::size_t i = leaf * n_columns_; i < (leaf + 1) * n_columns_; ++i) sum += tree.dense[i];
    return sum;
  }

  std::vector<std::size_t> sizes() const {
    std::vector<std::size_t> n;
    for (const OfTree& tree : trees_) n.push_back(tree.n_leaves);
    return n;
  }

  std::size_t n_columns_;
  std::vector<OfTree> trees_;
  std::vector<std::vector<CountedLeaves>> counted_;
};

// The counts at the leaves of a forest, or at their nearest ancestors that have enough of them; trees in parallel.
LeafTables tables_of_counts(const Forest& forest, CountedRows rows, ThreadPool& pool);

// Whether two objects with an entry for each leaf can belong to the same trees.
template <class One, class Other>
bool same_leaves(const One& one, const Other& other) {
  bool same = one.n_trees() == other.n_trees();
  for (std::size_t t = 0; same && t < one.n_trees(); ++t) same = one.n_leaves(t) == other.n_leaves(t);
  return same;
}

}  // namespace petiole
