// A tree as a game: what it says if only some columns of a row are known.
//
// At every split a player says where the row goes: a column or, at an oblique split, the sum of several. Where the player is
// known, the row takes the branch of its value, or is divided if that is missing; where it is not known, the row is divided.
// So the worth of a leaf to a set S of players is a product, in which each player of the leaf's path has one factor:
//
//   worth(S)  =  value  ·  Π over j in S of known_j  ·  Π over j not in S of unknown_j
#pragma once

#include <vector>

#include "forest/leaf_tables.hpp"
#include "tree/tree.hpp"

namespace petiole {

// What the leaves of one tree hold. With few outputs the numbers of leaves are added up on the way to the root; with many,
// most of which are zero, each leaf gives its own to the players of its path.
struct LeafValues {
  const LeafTables& tables;
  std::size_t tree;
  std::vector<double> dense;  // n_outputs for each leaf; empty if there are many

  static constexpr std::size_t kFew = 16;

  LeafValues(const LeafTables& all, std::size_t t)
      : tables(all), tree(t), dense(all.n_columns() <= kFew ? all.table(t) : std::vector<double>{}) {}

  std::size_t n_outputs() const { return tables.n_columns(); }
  bool are_few() const { return n_outputs() <= kFew; }
  const double* of(LeafId leaf) const { return dense.data() + static_cast<std::size_t>(leaf) * n_outputs(); }
  void add(LeafId leaf, double share, double* to) const { tables.add_row(tree, leaf, share, to); }
};

// Laid out with children adjacent, like a Router.
class GameTree {
 public:
  static constexpr std::int32_t kDivided = -1;

  struct Node {
    double threshold;
    std::int32_t feature, player;
    std::int32_t first_child, n_children;  // 0: leaf
    std::int32_t missing_branch;
    std::int32_t category_start, n_categories;
    std::int32_t term_start, n_terms;
    LeafId leaf;  // in order of node id
  };

  // Players are the columns, and from n_columns on the sums of oblique splits.
  GameTree(const Tree& tree, std::int64_t n_columns);

  const std::vector<Node>& nodes() const { return nodes_; }
  // The part of a divided row that a child gets of its parent's.
  double share(std::int32_t node) const { return share_[static_cast<std::size_t>(node)]; }
  std::size_t n_players() const { return n_columns_ + sums_.size(); }
  std::size_t n_columns() const { return n_columns_; }
  // The columns of each sum.
  const std::vector<std::vector<std::int32_t>>& sums() const { return sums_; }
  int depth() const { return depth_; }
  int most_players() const { return most_players_; }  // on one path
  LeafId n_leaves() const { return n_leaves_; }
  int n_features_needed() const { return n_features_needed_; }

  // The branch that a row takes at each split, or kDivided. Returns whether it is divided at none.
  template <class T>
  bool decide(const T* row, std::int64_t column_stride, std::int32_t* taken) const;

 private:
  std::int32_t player_of(const Tree& tree, std::size_t id);
  void measure_paths();
  template <class T>
  std::int32_t branch(const Node& node, const T* row, std::int64_t column_stride) const;

  std::vector<Node> nodes_;
  std::vector<double> share_;
  std::vector<std::int32_t> category_branch_;
  std::vector<ProjectionTerm> projection_;
  std::vector<std::vector<std::int32_t>> sums_;
  std::size_t n_columns_;
  int depth_ = 0, most_players_ = 0, n_features_needed_ = 0;
  LeafId n_leaves_ = 0;
};

}  // namespace petiole
