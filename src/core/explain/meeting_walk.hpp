// Shapley values of one row in one tree against many background rows at once, none of which is divided.
//
// A row and a background row go down together. Where a player sends them apart, it decides between two subtrees: from there
// on its value is the row's in one and the background row's in the other. A leaf that is reached with a players of the
// first kind and b of the second is worth its value to all sets that have the first and lack the second, which gives each
// of the first (a-1)! b! / (a+b)! of it, and each of the second as much as -a! (b-1)! / (a+b)!.
//
// Background rows are bits: those that the same players have sent apart are walked together.
#pragma once

#include <bit>
#include <vector>

#include "explain/game_tree.hpp"

namespace petiole {

// The background rows that take each branch, as bits; the same for all rows that are explained.
class BackgroundBits {
 public:
  // taken: for each background row the branches at all nodes; rows that are divided are left out.
  BackgroundBits(const GameTree& tree, const std::vector<std::vector<std::int32_t>>& taken)
      : n_words_((taken.size() + 63) / 64), went_(tree.nodes().size() * n_words_, 0), all_(n_words_, 0) {
    for (std::size_t row = 0; row < taken.size(); ++row) {
      const std::uint64_t bit = std::uint64_t{1} << (row % 64);
      all_[row / 64] |= bit;
      for (std::size_t i = 0; i < tree.nodes().size(); ++i) {
        if (tree.nodes()[i].n_children == 0) continue;
        const auto child = static_cast<std::size_t>(tree.nodes()[i].first_child + taken[row][i]);
        went_[child * n_words_ + row / 64] |= bit;
      }
    }
  }

  std::size_t n_words() const { return n_words_; }
  const std::uint64_t* all() const { return all_.data(); }
  // Those that would go to a child if they came to its parent.
  const std::uint64_t* went(std::int32_t child) const { return went_.data() + static_cast<std::size_t>(child) * n_words_; }

 private:
  std::size_t n_words_;
  std::vector<std::uint64_t> went_, all_;
};

class MeetingWalk {
 public:
  MeetingWalk(const GameTree& tree, const BackgroundBits& background, const LeafValues& leaves)
      : tree_(tree),
        background_(background),
        leaves_(leaves),
        n_outputs_(leaves.n_outputs()),
        whose_(tree.n_players(), Whose::both),
        width_(static_cast<std::size_t>(tree.most_players()) + 1),
        share_(width_ * width_, 0.0),
        bits_((2 * static_cast<std::size_t>(tree.depth()) + 2) * background.n_words()),
        sums_(leaves.are_few() ? (static_cast<std::size_t>(tree.depth()) + 2) * 2 * leaves.n_outputs() : 0) {
    // share(a, b) = (a-1)! b! / (a+b)!, from share(1, 0) = 1 by ratios of neighbours.
    for (std::size_t a = 1; a < width_; ++a)
      for (std::size_t b = 0; b < width_; ++b) {
        const auto x = static_cast<double>(a), y = static_cast<double>(b);
        if (b > 0)
          share_[a * width_ + b] = share_[a * width_ + b - 1] * y / (x + y);
        else
          share_[a * width_] = 1 / x;
      }
  }

  // Adds the sum over background rows to values (player x output). `taken` are the row's branches; it is not divided.
  void add(const std::int32_t* taken, double scale, double* values) {
    taken_ = taken;
    scale_ = scale;
    values_ = values;
    std::copy_n(background_.all(), background_.n_words(), bits_.begin());
    std::fill(sums_.begin(), sums_.end(), 0.0);
    if (tree_.nodes()[0].n_children > 0 && any(bits_.data())) visit(0, bits_.data(), {0, 0, 0});
  }

 private:
  enum class Whose : std::uint8_t { both, row, background };
  struct Met {
    std::size_t n_row, n_background;  // players whose value is the row's, or the background row's
    std::size_t depth;
  };

  bool any(const std::uint64_t* bits) const {
    std::uint64_t found = 0;
    for (std::size_t w = 0; w < background_.n_words(); ++w) found |= bits[w];
    return found != 0;
  }
  std::uint64_t* room(std::size_t depth, std::size_t which) {
    return bits_.data() + (2 * depth + which) * background_.n_words();
  }
  double* sums(std::size_t depth) { return sums_.data() + depth * 2 * n_outputs_; }

  // Adds to the sums at met.depth what the leaves below are worth to each player of the row, then to each of the background.
  void visit(std::int32_t id, const std::uint64_t* bits, Met met) {
    const GameTree::Node& node = tree_.nodes()[static_cast<std::size_t>(id)];
    if (node.n_children == 0) return reach(node.leaf, bits, met);
    const auto player = static_cast<std::size_t>(node.player);
    const std::int32_t own = node.first_child + taken_[id];
    switch (whose_[player]) {
      case Whose::row:
        visit(own, bits, met);
        return;
      case Whose::background:
        for (std::int32_t branch = 0; branch < node.n_children; ++branch) follow(node.first_child + branch, bits, met);
        return;
      case Whose::both:
        follow(own, bits, met);
        part(node, own, bits, met);
    }
  }

  // Those of the background rows that go to a child, with their players as they are.
  void follow(std::int32_t child, const std::uint64_t* bits, Met met) {
    std::uint64_t* const some = room(met.depth + 1, 0);
    const std::uint64_t* const went = background_.went(child);
    for (std::size_t w = 0; w < background_.n_words(); ++w) some[w] = bits[w] & went[w];
    if (any(some)) descend(child, some, met.n_row, met.n_background, met.depth);
  }

  void part(const GameTree::Node& node, std::int32_t own, const std::uint64_t* bits, Met met) {
    const auto player = static_cast<std::size_t>(node.player);
    std::uint64_t* const apart = room(met.depth, 1);
    const std::uint64_t* const went = background_.went(own);
    for (std::size_t w = 0; w < background_.n_words(); ++w) apart[w] = bits[w] & ~went[w];
    if (!any(apart)) return;
    double* const gained = values_ + player * n_outputs_;
    std::uint64_t* const next = room(met.depth + 1, 0);
    whose_[player] = Whose::row;
    apart_.push_back(player);
    std::copy_n(apart, background_.n_words(), next);
    const double* of_child = descend(own, next, met.n_row + 1, met.n_background, met.depth);
    if (leaves_.are_few())
      for (std::size_t k = 0; k < n_outputs_; ++k) gained[k] += of_child[k];
    whose_[player] = Whose::background;
    for (std::int32_t branch = 0; branch < node.n_children; ++branch) {
      const std::int32_t child = node.first_child + branch;
      if (child == own) continue;
      const std::uint64_t* const goes = background_.went(child);
      for (std::size_t w = 0; w < background_.n_words(); ++w) next[w] = apart[w] & goes[w];
      if (!any(next)) continue;
      of_child = descend(child, next, met.n_row, met.n_background + 1, met.depth);
      if (leaves_.are_few())
        for (std::size_t k = 0; k < n_outputs_; ++k) gained[k] -= of_child[n_outputs_ + k];
    }
    whose_[player] = Whose::both;
    apart_.pop_back();
  }

  // Visits a child, adds its sums to those at `depth`, and returns its own.
  const double* descend(std::int32_t child, const std::uint64_t* bits, std::size_t n_row, std::size_t n_background,
                        std::size_t depth) {
    double* const below = leaves_.are_few() ? sums(depth + 1) : nullptr;
    if (below == nullptr) {
      visit(child, bits, {n_row, n_background, depth + 1});
      return below;
    }
    std::fill_n(below, 2 * n_outputs_, 0.0);
    visit(child, bits, {n_row, n_background, depth + 1});
    double* const here = sums(depth);
    for (std::size_t k = 0; k < 2 * n_outputs_; ++k) here[k] += below[k];
    return below;
  }

  void reach(LeafId leaf, const std::uint64_t* bits, Met met) {
    if (met.n_row + met.n_background == 0) return;
    int n = 0;
    for (std::size_t w = 0; w < background_.n_words(); ++w) n += std::popcount(bits[w]);
    const double weight = scale_ * n;
    const double to_row = met.n_row > 0 ? weight * share_[met.n_row * width_ + met.n_background] : 0.0;
    const double to_background = met.n_background > 0 ? weight * share_[met.n_background * width_ + met.n_row] : 0.0;
    if (!leaves_.are_few()) {
      for (const std::size_t player : apart_)
        leaves_.add(leaf, whose_[player] == Whose::row ? to_row : -to_background, values_ + player * n_outputs_);
      return;
    }
    const double* const value = leaves_.of(leaf);
    double* const here = sums(met.depth);
    for (std::size_t k = 0; k < n_outputs_; ++k) {
      here[k] += to_row * value[k];
      here[n_outputs_ + k] += to_background * value[k];
    }
  }

  const GameTree& tree_;
  const BackgroundBits& background_;
  const LeafValues& leaves_;
  std::size_t n_outputs_;
  std::vector<Whose> whose_;
  std::vector<std::size_t> apart_;  // players whose value differs
  std::size_t width_;
  std::vector<double> share_;
  const std::int32_t* taken_ = nullptr;
  double scale_ = 1;
  double* values_ = nullptr;
  std::vector<std::uint64_t> bits_;
  std::vector<double> sums_;
};

}  // namespace petiole
