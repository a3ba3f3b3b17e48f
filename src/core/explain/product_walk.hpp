// Shapley values of one row in one tree, by an integral.
//
// At a leaf the worth of a set of players is a product, value · Π known_j · Π unknown_j. If each player is known with
// probability t, its mean is a product, too: value · Π f_j(t) with f_j(t) = t · known_j + (1 - t) · unknown_j. The Shapley
// value of player j is the integral from 0 to 1 of its slope (Owen 1972),
//
//   value · (known_j - unknown_j) · Π over i ≠ j of f_i(t),
//
// a polynomial in t, so that a few points of Gauss and Legendre give it exactly. No term is subtracted from another: the
// result is as precise as the products.
//
// The walk goes through all leaves. On the way down it has Π f_i(t) at kPoints points; on the way up, sums over the leaves
// below. With slope_j(t) = (known_j - unknown_j) / f_j(t), player j gets at each edge the integral of the sum below times
// the change of slope_j at this edge; over the edges of j on a path the changes add up to slope_j at the leaf. Where there
// are many outputs, of which a leaf has few, the players of a path get theirs at the leaf instead.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "explain/game_tree.hpp"
#include "explain/quadrature.hpp"

namespace petiole {

constexpr std::size_t kPoints = 4;
using Points = std::array<double, kPoints>;

// kPoints of the points that a tree needs.
struct PointBatch {
  Points t, weight;
};

inline std::vector<PointBatch> point_batches(int most_players) {
  const std::size_t n = (static_cast<std::size_t>(std::max(most_players, 1)) + 1) / 2;
  const std::size_t n_batches = (n + kPoints - 1) / kPoints;
  const Quadrature all(static_cast<int>(n_batches * kPoints));
  std::vector<PointBatch> batches(n_batches);
  for (std::size_t i = 0; i < n_batches * kPoints; ++i) {
    batches[i / kPoints].t[i % kPoints] = all.point[i];
    batches[i / kPoints].weight[i % kPoints] = all.weight[i];
  }
  return batches;
}

// What a child's player is worth unknown where rows are divided: the product of the shares of its splits on the path.
std::vector<double> unknown_by_shares(const GameTree& tree);

class ProductWalk {
 public:
  ProductWalk(const GameTree& tree, const LeafValues& leaves)
      : tree_(tree),
        leaves_(leaves),
        n_outputs_(leaves.n_outputs()),
        players_(tree.n_players()),
        frames_(static_cast<std::size_t>(tree.depth()) + 1),
        sums_(leaves.are_few() ? (static_cast<std::size_t>(tree.depth()) + 1) * leaves.n_outputs() * kPoints : 0) {
    Player unmet{1, 1, false, {}, {}};
    unmet.inverse.fill(1);
    std::fill(players_.begin(), players_.end(), unmet);
  }

  // Adds to values (player x output). `taken` are a row's branches, `other` those of a background row; null: what is not
  // known is divided, and `unknown` has its products.
  void add(const PointBatch& batch, const std::int32_t* taken, const std::int32_t* other, const double* unknown, double scale,
           double* values) {
    batch_ = &batch;
    taken_ = taken;
    other_ = other;
    unknown_ = unknown;
    values_ = values;
    Points start;
    start.fill(scale);
    for (std::size_t i = 0; i < kPoints; ++i) {
      rest_[i] = 1 - batch.t[i];
      rest_inverse_[i] = 1 / rest_[i];
    }
    if (tree_.nodes()[0].n_children == 0) return;
    if (leaves_.are_few())
      descend<true>(0, start, 0);
    else
      descend<false>(0, start, 0);
  }

 private:
  struct Player {
    double known, unknown;
    bool met = false;       // has a split on the path
    Points inverse, slope;  // 1 / f and (known - unknown) / f
  };

  double part(const std::int32_t* taken, std::int32_t node, std::int32_t branch, std::int32_t child) const {
    const std::int32_t to = taken[node];
    return to == branch ? 1.0 : to == GameTree::kDivided ? tree_.share(child) : 0.0;
  }

  // With kSums the sums over the leaves below a node are left at `depth`.
  template <bool kSums>
  void descend(std::int32_t node_id, const Points& product, std::size_t depth) {
    const GameTree::Node& node = tree_.nodes()[static_cast<std::size_t>(node_id)];
    const auto player = static_cast<std::size_t>(node.player);
    double* const sums = kSums ? sums_.data() + depth * n_outputs_ * kPoints : nullptr;
    double* const gained = values_ + player * n_outputs_;
    if (kSums) std::fill_n(sums, n_outputs_ * kPoints, 0.0);
    Frame& frame = frames_[depth];
    frame.before = players_[player];
    const Player& before = frame.before;
    if (!before.met) path_.push_back(player);
    for (std::int32_t branch = 0; branch < node.n_children; ++branch) {
      const std::int32_t child = node.first_child + branch;
      Player now;
      now.met = true;
      now.known = before.known * part(taken_, node_id, branch, child);
      now.unknown = other_ == nullptr ? unknown_[child] : before.unknown * part(other_, node_id, branch, child);
      if (now.known == 0 && now.unknown == 0) continue;
      Points& below = frame.product;
      Points change;
      const double difference = now.known - now.unknown;
      if (now.known == 0) {
        const double inverse = 1 / now.unknown;
        for (std::size_t i = 0; i < kPoints; ++i) {
          below[i] = product[i] * before.inverse[i] * (rest_[i] * now.unknown);
          now.inverse[i] = rest_inverse_[i] * inverse;
          now.slope[i] = -rest_inverse_[i];
        }
      } else {
        for (std::size_t i = 0; i < kPoints; ++i) {
          const double factor = batch_->t[i] * now.known + rest_[i] * now.unknown;
          below[i] = product[i] * before.inverse[i] * factor;
          now.inverse[i] = 1 / factor;
          now.slope[i] = difference * now.inverse[i];
        }
      }
      for (std::size_t i = 0; i < kPoints; ++i) change[i] = batch_->weight[i] * (now.slope[i] - before.slope[i]);
      const GameTree::Node& below_node = tree_.nodes()[static_cast<std::size_t>(child)];
      if (below_node.n_children == 0) {
        if (!kSums) {
          players_[player] = now;
          give_to_path(below_node.leaf, below);
          continue;
        }
        const double* const value = leaves_.of(below_node.leaf);
        double integral = 0;
        for (std::size_t i = 0; i < kPoints; ++i) integral += change[i] * below[i];
        for (std::size_t k = 0; k < n_outputs_; ++k) {
          gained[k] += integral * value[k];
          for (std::size_t i = 0; i < kPoints; ++i) sums[k * kPoints + i] += below[i] * value[k];
        }
        continue;
      }
      players_[player] = now;
      frame.change = change;
      const Points passed = below;
      descend<kSums>(child, passed, depth + 1);
      if (!kSums) continue;
      const double* const of_child = sums_.data() + (depth + 1) * n_outputs_ * kPoints;
      for (std::size_t k = 0; k < n_outputs_; ++k) {
        double integral = 0;
        for (std::size_t i = 0; i < kPoints; ++i) {
          integral += frame.change[i] * of_child[k * kPoints + i];
          sums[k * kPoints + i] += of_child[k * kPoints + i];
        }
        gained[k] += integral;
      }
    }
    players_[player] = before;
    if (!before.met) path_.pop_back();
  }

  void give_to_path(LeafId leaf, const Points& product) {
    for (const std::size_t player : path_) {
      double integral = 0;
      for (std::size_t i = 0; i < kPoints; ++i) integral += batch_->weight[i] * players_[player].slope[i] * product[i];
      if (integral != 0) leaves_.add(leaf, integral, values_ + player * n_outputs_);
    }
  }

  struct Frame {
    Player before;
    Points product, change;
  };

  const GameTree& tree_;
  const LeafValues& leaves_;
  std::size_t n_outputs_;
  const PointBatch* batch_ = nullptr;
  const std::int32_t *taken_ = nullptr, *other_ = nullptr;
  const double* unknown_ = nullptr;
  double* values_ = nullptr;
  Points rest_{}, rest_inverse_{};
  std::vector<Player> players_;
  std::vector<std::size_t> path_;  // the players met
  std::vector<Frame> frames_;
  std::vector<double> sums_;
};

}  // namespace petiole
