// Which cuts of an ordered feature are allowed, if the share of a class must not fall along it, or must not rise.
#pragma once

#include "grow/split.hpp"

namespace petiole {

// All of them.
struct AnyCut {
  template <class W>
  void move_left(ClassId, W) {}
  template <class W>
  bool allows(W, W) const {
    return true;
  }
};

// Those on whose two sides the shares are in the order that is demanded, or equal.
class OrderedCut {
 public:
  // `of_class` is the true weight of the class on both sides together.
  OrderedCut(int sign, int label, double of_class) : sign_(sign), label_(label), right_(of_class) {}

  template <class W>
  void move_left(ClassId label, W true_weight) {
    if (label != label_) return;
    left_ += static_cast<double>(true_weight);
    right_ -= static_cast<double>(true_weight);
  }

  // Given the true weights of both sides.
  template <class W>
  bool allows(W left, W total) const {
    const auto on_left = static_cast<double>(left), on_right = static_cast<double>(total - left);
    const double slack = kWeightSlack * on_left * on_right;
    return sign_ * (right_ * on_left - left_ * on_right) >= -slack;
  }

 private:
  int sign_, label_;
  double left_ = 0, right_;
};

}  // namespace petiole
