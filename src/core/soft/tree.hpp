// A tree laid out for queries whose values are perturbed: in what proportion they go to the children of a node.
//
// Known values are perturbed each on its own: numbers by Gaussian noise, categories by drawing them again with some
// probability. What is missing stays missing. A path passes several tests on the same feature, and these are not
// independent: what counts is the probability that the perturbed value passes all of them (or, if tests are to be taken
// as independent, their product).
#pragma once

#include "tree/reach.hpp"
#include "tree/tree.hpp"

namespace petiole {

struct Perturbation {
  bool independent_tests = false;
  double tolerance = 1e-6;                       // of the mass that may go the wrong way, all branches of a tree together
  std::vector<double> scale;                     // per feature: the standard deviation of the noise
  std::vector<double> swap;                      // per feature: the probability that a category is drawn anew
  std::vector<std::vector<double>> frequencies;  // per feature: what it is drawn from, sums to 1; empty: it is kept

  double swap_of(std::size_t feature) const { return frequencies[feature].empty() ? 0.0 : swap[feature]; }
};

class SoftTree {
 public:
  explicit SoftTree(const Tree& tree);

  struct Node {
    double threshold;
    std::int32_t feature;
    std::int32_t first_child;  // children are adjacent
    std::int32_t n_children;   // 0: leaf
    std::int32_t missing_branch;
    std::int32_t category_start;
    std::int32_t n_categories;  // 0: numeric
    LeafId leaf;                // -1: inner node
    // The last node on the path here that was reached by a test on the feature of this one; -1: there is none.
    std::int32_t last = -1;
    // The bounds of a number by these tests: low < x <= high; and the threshold moved to where it lies between the two.
    double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
    double inner_threshold = 0;
  };

  const Node& node(std::int32_t index) const { return nodes_[static_cast<std::size_t>(index)]; }
  std::size_t n_leaves() const { return n_leaves_; }
  int n_features_needed() const { return n_features_needed_; }
  int depth() const { return depth_; }

  // The share of a missing value that a child gets from its parent where missing values are spread.
  double share(std::int32_t child) const { return share_[static_cast<std::size_t>(child)]; }

  // The share of a known category that a branch of a categorical node gets: all, nothing, or a part where it is spread.
  double share_of_category(const Node& node, std::int32_t branch, std::size_t category) const {
    std::int32_t taken = -1;
    if (category < static_cast<std::size_t>(node.n_categories))
      taken = category_branch_[static_cast<std::size_t>(node.category_start) + category];
    if (taken < 0) taken = node.missing_branch;
    return taken < 0 ? share(node.first_child + branch) : static_cast<double>(taken == branch);
  }

  // The share of a known category that passes all tests on its feature on the way to a categorical node.
  double share_before(const Node& node, std::size_t category) const {
    double share = 1;
    for (std::int32_t at = node.last; at >= 0;) {
      const Node& above = parent(at);
      share *= share_of_category(above, at - above.first_child, category);
      at = above.last;
    }
    return share;
  }

  // For a category that is drawn anew, the probability that it passes the tests on its feature.
  struct Drawn {
    std::vector<double> before;  // per categorical node: all on the way to it
    std::vector<double> after;   // per child of a categorical node: these and the one that leads to the child
  };
  // If tests are independent those on the way do not count. Empty if no category is drawn anew.
  Drawn drawn(const Perturbation& perturbation) const;

 private:
  const Node& parent(std::int32_t at) const { return node(parent_[static_cast<std::size_t>(at)]); }
  template <class Enter, class Leave>
  void over_paths(Enter&& enter, Leave&& leave) const;
  void find_repeated_tests();
  void set_bounds();

  std::vector<Node> nodes_;
  std::vector<double> share_;
  std::vector<std::int32_t> parent_;
  std::vector<std::int32_t> category_branch_;
  std::size_t n_leaves_ = 0;
  int n_features_needed_ = 0;
  int depth_ = 0;
};

}  // namespace petiole
