// Dual perturb and combine (Geurts 2001): predictions of trees for queries whose values are perturbed, in closed form.
#pragma once

#include "base/interrupt.hpp"
#include "forest/out_of_bag.hpp"
#include "forest/router.hpp"
#include "soft/tree.hpp"

namespace petiole {

class SoftRouter {
 public:
  explicit SoftRouter(const Tree& tree) { add(SoftTree(tree)); }
  SoftRouter(const Forest& forest, ThreadPool& pool);

  std::size_t n_trees() const { return trees_.size(); }
  std::size_t n_leaves(std::size_t tree) const { return trees_[tree].n_leaves(); }
  int n_features_needed() const { return n_features_needed_; }

  // For each row the mean over trees of the tables' rows, weighted by the masses of its leaves. Where `counted` is given it
  // has the same rows without noise: they take part only in trees whose sample they are not in; NaN where there is none.
  void average(const Matrix& queries, const LeafTables& tables, const Perturbation& perturbation, const Members* counted,
               ThreadPool& pool, Interrupt& interrupt, double* out) const;

  // The leaves of each row and their masses, as members that are in no sample, or in those of `counted`.
  Members members(const Matrix& queries, const Perturbation& perturbation, const Members* counted, ThreadPool& pool,
                  Interrupt& interrupt) const;

  // The weighted sum of -ln of the probability that the mean over trees gives to each row's label, probabilities raised
  // to `floor`; `slopes` gets its derivative by the logarithm of each feature's scale. Rows that all trees have seen
  // are skipped.
  double loss(const Matrix& queries, TrainingRows rows, const LeafTables& tables, const Perturbation& perturbation,
              const Members* counted, double floor, ThreadPool& pool, Interrupt& interrupt, double* slopes) const;

 private:
  void add(SoftTree&& tree);
  std::vector<SoftTree::Drawn> drawn(const Perturbation& perturbation) const;

  std::vector<SoftTree> trees_;
  int n_features_needed_ = 0;
};

}  // namespace petiole
