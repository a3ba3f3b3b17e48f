// Sums of the leaf values of boosted trees, which are the scores of rows.
#pragma once

#include <algorithm>

#include "base/parallel.hpp"
#include "boost/small_tree.hpp"
#include "boost/trees.hpp"
#include "tree/narrow_steps.hpp"

namespace petiole::boosting {

class BoostRouter {
 public:
  // Tree t adds to score t % n_scores.
  BoostRouter(const BoostedTrees& trees, int n_scores, int n_features);

  int n_scores() const { return n_scores_; }
  int n_features() const { return n_features_; }

  // Adds to out, a row of n_scores numbers for each query.
  void add_scores(const Matrix& queries, ThreadPool& pool, double* out) const;

 private:
  static constexpr std::size_t kLanes = SmallTree::kLanes;
  using Apart = std::integral_constant<std::int64_t, kLanes>;

  // A number that splits test: a feature whose missing values are less than everything, or more than everything. There is
  // one slot for each of the two, so that a walk need not test whether a value is missing.
  struct Slot {
    std::int32_t feature;
    float missing;
  };
  struct OneTree {
    std::size_t first, n_nodes;
    std::vector<NarrowStep> steps;  // empty: walk the arrays
    SmallTree small;                // set if there are few leaves
  };
  struct Scratch {
    std::vector<float> values;  // of kLanes rows after the other: slot after slot
    RowWalk walk;
  };

  bool is_narrow(const OneTree& tree) const;
  std::uint32_t slot_of(std::size_t node);
  void make_steps(OneTree& tree);
  template <class T>
  void load(const T* first_row, const Matrix& queries, std::size_t n, Scratch& scratch) const;
  template <class T>
  void add_block(const T* first_row, const Matrix& queries, std::size_t n, Scratch& scratch, double* out) const;
  // Leaves read a slot, too, though nothing depends on it.
  std::size_t n_slots() const { return std::max<std::size_t>(slots_.size(), 1); }
  // The values of row r; those of the next slots are kLanes apart.
  const float* values_of(const Scratch& scratch, std::size_t r) const {
    return scratch.values.data() + r / kLanes * kLanes * n_slots() + r % kLanes;
  }
  void walk_narrow(const OneTree& tree, std::size_t n, Scratch& scratch, double* out) const;
  void walk_trees(std::size_t r, const Scratch& scratch, double* out) const;
  template <class T>
  double walk_wide(const OneTree& tree, const T* row, std::int64_t stride) const;

  BoostedTrees arrays_;
  int n_scores_, n_features_;
  std::vector<Slot> slots_;
  std::vector<std::int32_t> slot_number_;  // of (feature, side of missing values); -1: none yet
  std::vector<OneTree> trees_;
  std::size_t n_wide_ = 0;  // trees that are walked through the arrays
};

}  // namespace petiole::boosting
