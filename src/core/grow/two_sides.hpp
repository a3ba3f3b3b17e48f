// The classes on both sides of a cut while it moves: a criterion that is a sum over classes changes by one term at a time.
#pragma once

#include <algorithm>

#include "grow/cut.hpp"

namespace petiole {

// The classes' weights on both sides of a moving cut, and their mass.
template <class C, class Scale>
class TwoSides {
 public:
  using Weight = typename C::Weight;
  using Mass = typename C::Mass;

  // `right` holds the true class weights and is scaled in place; `left` is zeroed.
  TwoSides(const C& criterion, Scale scale, std::vector<Weight>& left, std::vector<Weight>& right)
      : criterion_(criterion), scale_(scale), left_(left), right_(right) {
    left_.assign(right_.size(), Weight{0});
    for (std::size_t k = 0; k < right_.size(); ++k) {
      right_[k] = scale_(static_cast<int>(k), right_[k]);
      n_right_ += right_[k];
      if constexpr (C::kAdditive) right_sum_ += criterion_.term(right_[k]);
    }
  }

  void move_left(ClassId label, Weight true_weight) {
    const Weight weight = scale_(label, true_weight);
    Weight& l = left_[label];
    Weight& r = right_[label];
    if constexpr (C::kAdditive) {
      left_sum_ -= criterion_.term(l);
      right_sum_ -= criterion_.term(r);
    }
    l += weight;
    r = r > weight ? r - weight : Weight{0};
    n_left_ += weight;
    n_right_ = n_right_ > weight ? n_right_ - weight : Weight{0};
    if constexpr (C::kAdditive) {
      left_sum_ += criterion_.term(l);
      right_sum_ += criterion_.term(r);
    }
  }

  Mass mass() const {
    if constexpr (C::kAdditive) {
      return criterion_.of_sum(n_left_, left_sum_) + criterion_.of_sum(n_right_, right_sum_);
    } else {
      Mass mass = 0;
      for (std::size_t k = 0; k < left_.size(); ++k)
        mass += criterion_.of_class(left_[k], n_left_) + criterion_.of_class(right_[k], n_right_);
      return mass;
    }
  }

  double left_weight() const { return static_cast<double>(n_left_); }
  void copy_left(Weight* to) const { std::copy(left_.begin(), left_.end(), to); }

 private:
  const C& criterion_;
  Scale scale_;
  std::vector<Weight>& left_;
  std::vector<Weight>& right_;
  Weight n_left_{0}, n_right_{0};
  typename C::Sum left_sum_{0}, right_sum_{0};
};

}  // namespace petiole
