// Sums of gradients, Hessians and weights in fixed point.
//
// Each row's numbers are rounded once to multiples of small units, and sums of whole numbers are exact. So a histogram does
// not depend on the order of rows or threads, and a sibling by subtraction is the sibling itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace petiole::boosting {

// Of one row or of many. `rest` has the weight in its upper bits and the Hessian in its lower ones, so that a sum takes two
// additions, which a processor does as one. Sum{} is zero; a Sum without braces has no value yet.
struct alignas(16) Sum {
  std::int64_t gradient, rest;

  Sum& operator+=(const Sum& other) {
    gradient += other.gradient;
    rest += other.rest;
    return *this;
  }
  friend Sum operator+(Sum a, const Sum& b) { return a += b; }
  friend Sum operator-(const Sum& a, const Sum& b) { return {a.gradient - b.gradient, a.rest - b.rest}; }
  bool operator==(const Sum&) const = default;
};

// What a sum stands for.
struct Moments {
  double gradient, hessian, weight;
};

class FixedPoint {
 public:
  // For rows whose weights sum to `total` and are whole numbers or not. A gradient is at most its row's weight, and a
  // Hessian a quarter of it.
  FixedPoint(double total, bool whole_weights) {
    int size;  // total < 2^size
    std::frexp(total, &size);
    gradient_scale_ = std::ldexp(1.0, 61 - size);
    const int weight_bits = std::clamp(size + (whole_weights ? 0 : kFractionBits), kFractionBits, kWeightBits);
    weight_scale_ = std::ldexp(1.0, weight_bits - size);
    shift_ = 62 - weight_bits - 1;  // rounding up may carry the sum of weights to one more bit
    hessian_scale_ = std::ldexp(1.0, shift_ - size);
    gradient_unit_ = 1 / gradient_scale_;
    weight_unit_ = 1 / weight_scale_;
    hessian_unit_ = 1 / hessian_scale_;
  }

  Sum of(double gradient, double hessian, double weight) const {
    return {rounded(gradient * gradient_scale_),
            (rounded(weight * weight_scale_) << shift_) + static_cast<std::int64_t>(hessian * hessian_scale_ + 0.5)};
  }

  Moments moments(const Sum& sum) const { return {gradient(sum), hessian(sum), weight(sum)}; }
  double gradient(const Sum& sum) const { return static_cast<double>(sum.gradient) * gradient_unit_; }
  double hessian(const Sum& sum) const {
    return static_cast<double>(sum.rest & ((std::int64_t{1} << shift_) - 1)) * hessian_unit_;
  }
  double weight(const Sum& sum) const { return static_cast<double>(sum.rest >> shift_) * weight_unit_; }

 private:
  static constexpr int kWeightBits = 31, kFractionBits = 10;
  static std::int64_t rounded(double value) { return static_cast<std::int64_t>(value + std::copysign(0.5, value)); }

  double gradient_scale_, hessian_scale_, weight_scale_;  // powers of two
  double gradient_unit_, hessian_unit_, weight_unit_;
  int shift_;
};

}  // namespace petiole::boosting
