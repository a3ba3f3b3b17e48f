// The two inner loops: the best cut of an ordered attribute.
//
// With two classes the rows are read once into counters indexed by code, and then the codes that are present are walked in
// order: nothing is sorted, and the work is linear in the rows. With more classes the rows are grouped by code first, and
// the groups are walked in a given order.
#pragma once

#include "split.hpp"

namespace petiole {

// Bounds on a cut.
struct CutLimits {
  double min_side = 0;    // known true weight each side must have
  double tie_weight = 0;  // node weight in the criterion's scale: gain * tie_weight is a mass
};

struct Cut {
  bool found = false;
  std::uint32_t position = 0;  // walk_two_classes: the last code on the left; walk_groups: how many groups are left
  std::uint32_t tries = 0;
  double mass = 0;  // of the two sides
  double left = 0;  // weight on the left, in the criterion's scale
};

// The weights of two classes, packed where they are counts.
struct PackedSmall {  // counts below 65,536
  using Weight = std::uint32_t;
  std::uint32_t bits = 0;
  static PackedSmall of(ClassId y, Weight w) { return {w << (16 * y)}; }
  static PackedSmall both(Weight zero, Weight one) { return {zero | one << 16}; }
  Weight zero() const { return bits & 0xffff; }
  Weight one() const { return bits >> 16; }
  void add(PackedSmall other) { bits += other.bits; }
};

struct PackedLarge {  // counts below 2^32
  using Weight = std::uint32_t;
  std::uint64_t bits = 0;
  static PackedLarge of(ClassId y, Weight w) { return {static_cast<std::uint64_t>(w) << (32 * y)}; }
  static PackedLarge both(Weight zero, Weight one) { return {zero | static_cast<std::uint64_t>(one) << 32}; }
  Weight zero() const { return static_cast<Weight>(bits); }
  Weight one() const { return static_cast<Weight>(bits >> 32); }
  void add(PackedLarge other) { bits += other.bits; }
};

struct RealPair {
  using Weight = double;
  double of_zero = 0, of_one = 0;
  static RealPair of(ClassId y, Weight w) { return y == 0 ? RealPair{w, 0} : RealPair{0, w}; }
  static RealPair both(Weight zero, Weight one) { return {zero, one}; }
  Weight zero() const { return of_zero; }
  Weight one() const { return of_one; }
  void add(RealPair other) {
    of_zero += other.of_zero;
    of_one += other.of_one;
  }
};

// Weights as the criterion sees them: true weights times the class's scale. Counts are never scaled.
struct NoScale {
  std::uint32_t operator()(int, std::uint32_t weight) const { return weight; }
};

struct ClassScale {
  const double* scale;
  double operator()(int k, double weight) const { return scale[k] * weight; }
};

template <class W>
auto scale_of(const NodeView<W>& node) {
  if constexpr (std::is_same_v<W, double>)
    return ClassScale{node.class_scale.data()};
  else
    return NoScale{};
}

// The least weight that counts as min_side.
template <class W>
W weight_bound(double min_side) {
  if constexpr (std::is_same_v<W, double>)
    return min_side - kWeightSlack;
  else
    return static_cast<W>(std::ceil(min_side - kWeightSlack));
}

template <class Pair, class W>
Pair* counters_for(const FrameColumn& column, SearchScratch<W>& scratch) {
  const std::size_t n_codes = std::size_t{column.n_codes} + 1;
  const std::size_t n_words = n_codes * sizeof(Pair) / sizeof(std::uint64_t) + 1;
  if (scratch.counters.size() < n_words) scratch.counters.resize(n_words);
  scratch.present.reserve(static_cast<std::uint32_t>(n_codes));
  return reinterpret_cast<Pair*>(scratch.counters.data());
}

// Adds the rows to the counters of their codes and marks the known codes present; takes out and returns the missing rows.
template <class Pair, class W, class Code>
Pair count_two_classes(const NodeView<W>& node, const FrameColumn& column, const Code* codes,
                       SearchScratch<W>& scratch) {
  Pair* counters = counters_for<Pair>(column, scratch);
  std::uint64_t* present = scratch.present.words();
  for (std::uint32_t i = 0; i < node.n; ++i) {
    const std::uint32_t code = codes[node.rows[i]];
    counters[code].add(Pair::of(node.labels[i], node.weights[i]));
    present[code >> 6] |= std::uint64_t{1} << (code & 63);
  }
  if (!column.has_missing) return Pair{};
  present[column.n_codes >> 6] &= ~(std::uint64_t{1} << (column.n_codes & 63));
  return std::exchange(counters[column.n_codes], Pair{});
}

// Finds the cut with the least mass, the first of equals, and leaves counters and code set empty.
template <class Pair, class W, class C>
Cut walk_two_classes(const NodeView<W>& node, const FrameColumn& column, Pair known, const C& criterion,
                     CutLimits limits, SearchScratch<W>& scratch) {
  Pair* counters = reinterpret_cast<Pair*>(scratch.counters.data());
  const auto scale = scale_of(node);
  const W total = known.zero() + known.one();
  const W least = weight_bound<W>(limits.min_side);
  const typename C::Mass slack = criterion.slack(limits.tie_weight);
  Cut cut;
  typename C::Mass best{};
  Pair left{}, best_left{};
  scratch.present.drain(column.n_codes, [&](std::uint32_t code) {
    left.add(std::exchange(counters[code], Pair{}));
    const W zero = left.zero(), one = left.one();
    if (zero + one < least || total - (zero + one) < least) return;
    ++cut.tries;
    const auto mass = criterion.of_two(scale(0, zero), scale(1, one)) +
                      criterion.of_two(scale(0, known.zero() - zero), scale(1, known.one() - one));
    if (cut.found && !(mass < best - slack)) return;
    cut.found = true;
    cut.position = code;
    best = mass;
    best_left = left;
  });
  cut.mass = criterion.real(best);
  cut.left = static_cast<double>(scale(0, best_left.zero())) + static_cast<double>(scale(1, best_left.one()));
  return cut;
}

// Groups the rows by code, in order of code. A small table of code x class is used where the rows would fill it;
// otherwise the rows are put in order by counting.
template <class W, class Code>
void group_by_code(const NodeView<W>& node, const FrameColumn& column, const Code* codes, SearchScratch<W>& scratch) {
  Groups<W>& groups = scratch.groups;
  groups.code.clear();
  groups.start.clear();
  const auto n_classes = static_cast<std::uint32_t>(node.n_classes());
  const std::uint64_t n_codes = std::uint64_t{column.n_codes} + 1;
  if (n_codes * n_classes <= std::uint64_t{2} * node.n) {
    scratch.table.assign(n_codes * n_classes, W{0});
    groups.label.resize(n_codes * n_classes);
    groups.weight.resize(n_codes * n_classes);
    for (std::uint32_t i = 0; i < node.n; ++i)
      scratch.table[std::size_t{codes[node.rows[i]]} * n_classes + node.labels[i]] += node.weights[i];
    std::uint32_t end = 0;
    for (std::uint32_t code = 0; code < n_codes; ++code) {
      const std::uint32_t start = end;
      for (std::uint32_t k = 0; k < n_classes; ++k) {
        const W weight = scratch.table[std::size_t{code} * n_classes + k];
        groups.label[end] = static_cast<ClassId>(k);
        groups.weight[end] = weight;
        end += weight > 0;
      }
      if (end == start) continue;
      groups.code.push_back(code);
      groups.start.push_back(start);
    }
    groups.start.push_back(end);
    return;
  }
  std::uint32_t* next = counters_for<std::uint32_t>(column, scratch);
  groups.label.resize(node.n);
  groups.weight.resize(node.n);
  for (std::uint32_t i = 0; i < node.n; ++i) {
    const std::uint32_t code = codes[node.rows[i]];
    ++next[code];
    scratch.present.insert(code);
  }
  std::uint32_t end = 0;
  scratch.present.drain(static_cast<std::uint32_t>(n_codes), [&](std::uint32_t code) {
    groups.code.push_back(code);
    groups.start.push_back(end);
    end += std::exchange(next[code], end);
  });
  groups.start.push_back(end);
  for (std::uint32_t i = 0; i < node.n; ++i) {
    const std::uint32_t to = next[codes[node.rows[i]]]++;
    groups.label[to] = node.labels[i];
    groups.weight[to] = node.weights[i];
  }
  for (const std::uint32_t code : groups.code) next[code] = 0;
}

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

 private:
  const C& criterion_;
  Scale scale_;
  std::vector<Weight>& left_;
  std::vector<Weight>& right_;
  Weight n_left_{0}, n_right_{0};
  typename C::Sum left_sum_{0}, right_sum_{0};
};

// Finds the cut with the least mass among the groups in the given order. scratch.right_counts holds the true class
// weights of all these groups.
template <class W, class C>
Cut walk_groups(const NodeView<W>& node, const std::vector<std::uint32_t>& order, const C& criterion, CutLimits limits,
                SearchScratch<W>& scratch) {
  const Groups<W>& groups = scratch.groups;
  W total{0}, left{0};
  for (const W weight : scratch.right_counts) total += weight;
  TwoSides sides(criterion, scale_of(node), scratch.left_counts, scratch.right_counts);
  const W least = weight_bound<W>(limits.min_side);
  const typename C::Mass slack = criterion.slack(limits.tie_weight);
  Cut cut;
  typename C::Mass best{};
  for (std::uint32_t g = 0; g + 1 < order.size(); ++g) {
    for (std::uint32_t i = groups.start[order[g]]; i < groups.start[order[g] + 1]; ++i) {
      sides.move_left(groups.label[i], groups.weight[i]);
      left += groups.weight[i];
    }
    if (left < least || total - left < least) continue;
    ++cut.tries;
    const auto mass = sides.mass();
    if (cut.found && !(mass < best - slack)) continue;
    cut.found = true;
    cut.position = g + 1;
    cut.left = sides.left_weight();
    best = mass;
  }
  cut.mass = criterion.real(best);
  return cut;
}

}  // namespace petiole
