// The best cut of a numeric feature between two classes: one of the inner loops.
//
// The rows are read once into counters indexed by code, and then the codes that are present are walked in order: nothing
// is sorted, and the work is linear in the rows.
#pragma once

#include <bit>

#include "grow/cut.hpp"

namespace petiole {

// The weights of two classes at one code: two counts packed into one integer, each half of its width.
template <class Bits>
struct Packed {
  using Weight = std::uint32_t;
  static constexpr int kHalf = static_cast<int>(sizeof(Bits)) * 4;
  static constexpr std::uint64_t kMost = (std::uint64_t{1} << kHalf) - 1;  // a count this large still fits
  Bits bits = 0;
  static Packed of(ClassId y, Weight w) { return {static_cast<Bits>(static_cast<std::uint64_t>(w) << (kHalf * y))}; }
  Weight zero() const { return static_cast<Weight>(bits & kMost); }
  Weight one() const { return static_cast<Weight>(bits >> kHalf); }
  bool used() const { return bits != 0; }
  static bool both_classes(Packed a, Packed b) {
    const std::uint64_t bits = a.bits | b.bits;
    return ((bits & kMost) != 0) & ((bits >> kHalf) != 0);
  }
  static Packed first_used(Packed a, Packed b) {  // without a branch
    const auto mask = static_cast<Bits>(-static_cast<Bits>(a.bits != 0));
    return {static_cast<Bits>(a.bits | (b.bits & ~mask))};
  }
  void add(Packed other) { bits = static_cast<Bits>(bits + other.bits); }
};

struct RealPair {
  using Weight = double;
  double of_zero = 0, of_one = 0;
  static RealPair of(ClassId y, Weight w) { return y == 0 ? RealPair{w, 0} : RealPair{0, w}; }
  Weight zero() const { return of_zero; }
  Weight one() const { return of_one; }
  bool used() const { return of_zero > 0 || of_one > 0; }
  static bool both_classes(RealPair a, RealPair b) {
    return (a.of_zero > 0 || b.of_zero > 0) && (a.of_one > 0 || b.of_one > 0);
  }
  static RealPair first_used(RealPair a, RealPair b) { return a.used() ? a : b; }
  void add(RealPair other) {
    of_zero += other.of_zero;
    of_one += other.of_one;
  }
};

// With this many codes per row or fewer, walking all counters is cheaper than remembering which are in use. Blocks of
// narrow counters are quicker to walk.
template <class Pair>
constexpr std::uint32_t kDenseCodes = sizeof(Pair) == sizeof(std::uint16_t) && kHasCodeBlocks ? 8 : 2;

template <class Pair>
bool walks_all_codes(std::uint32_t n_rows, const FrameColumn& column) {
  return column.n_codes / kDenseCodes<Pair> <= n_rows;
}

// Adds the rows to the counters of their codes; takes out and returns the missing rows. Known codes are marked present
// unless all codes will be walked.
template <class Pair, class W, class Code>
Pair count_two_classes(const NodeView<W>& node, const FrameColumn& column, const Code* codes, SearchScratch<W>& scratch) {
  Pair* counters = counters_for<Pair>(column, scratch);
  if (walks_all_codes<Pair>(node.n, column)) {
    for (std::uint32_t i = 0; i < node.n; ++i) {
      const Entry<W>& entry = node.entries[i];
      counters[codes[entry.row]].add(Pair::of(entry.label, entry.weight));
    }
  } else {
    for (std::uint32_t i = 0; i < node.n; ++i) {
      const Entry<W>& entry = node.entries[i];
      const std::uint32_t code = codes[entry.row];
      counters[code].add(Pair::of(entry.label, entry.weight));
      scratch.present.insert(code);
    }
    scratch.present.erase(column.n_codes);
  }
  return column.has_missing ? std::exchange(counters[column.n_codes], Pair{}) : Pair{};
}

template <class W>
struct ClassPair {
  W zero{0}, one{0};
  W sum() const { return zero + one; }
};

// The weights to the left of a cut, and a code from which codes are on its right.
template <class W>
struct Boundary {
  W zero, one;
  std::uint32_t code;
};

// The first and the last cut that leave enough on both sides.
template <class W>
struct Ends {
  bool any = false;
  Boundary<W> first{}, last{};
  std::uint32_t n_outside = 0;  // codes in use before the first cut and after the last
};

template <class Pair, class W>
Ends<W> find_ends(const Pair* counters, std::uint32_t n_codes, ClassPair<W> known, W least) {
  Ends<W> ends;
  const W total = known.sum();
  if (total < least) return ends;
  std::uint32_t code = 0;
  for (; ends.first.zero + ends.first.one < least && code < n_codes; ++code) {
    const Pair here = counters[code];
    if (!here.used()) continue;
    ends.first = {ends.first.zero + here.zero(), ends.first.one + here.one(), code + 1};
    ++ends.n_outside;
  }
  // Both sides are counted, not taken from the total: with heavy fractional weights the total of no rows at all may be
  // what rounding left of a difference.
  const W first = ends.first.zero + ends.first.one;
  if (first < least || total - first < least) return ends;
  ClassPair<W> right;
  code = n_codes;
  while (right.sum() < least && code > 0) {
    const Pair here = counters[--code];
    if (!here.used()) continue;
    right = {right.zero + here.zero(), right.one + here.one()};
    ++ends.n_outside;
  }
  while (code > 0 && !counters[code - 1].used()) --code;
  if (right.sum() < least || code < ends.first.code) return ends;
  ends.last = {known.zero - right.zero, known.one - right.one, code};
  ends.any = true;
  return ends;
}

// Boundaries wait in a block of this many, which stays in the first cache, until they are evaluated.
constexpr std::uint32_t kBoundaryBlock = 512;

// Walks the codes in order, empties the counters and hands blocks of boundaries to evaluate(n): the cuts between codes
// that do not hold the same single class, and now and then another. No other cut is the best, because impurity is concave
// (Fayyad & Irani 1992), except where the ends forbid those.
template <class Pair, class W, class F>
class BoundaryWalk {
 public:
  BoundaryWalk(SearchScratch<W>& scratch, F& evaluate)
      : counters_(reinterpret_cast<Pair*>(scratch.counters.data())), evaluate_(evaluate) {
    scratch.boundaries.resize(kBoundaryBlock);
    zero_ = scratch.boundaries.zero.data();
    one_ = scratch.boundaries.one.data();
    code_ = scratch.boundaries.code.data();
  }

  // Whether there is a boundary is as random as the labels, so each is written and then kept or overwritten: no branch to
  // mispredict.
  void visit(std::uint32_t code) {
    const Pair here = std::exchange(counters_[code], Pair{});
    write(left_.zero, left_.one, code);
    n_ += Pair::both_classes(here, last_);
    left_.zero += here.zero();
    left_.one += here.one();
    n_used_ += here.used();
    last_ = Pair::first_used(here, last_);
    make_room(1);
  }

  void visit_all(std::uint32_t n_codes) {
    if constexpr (sizeof(Pair) == sizeof(std::uint16_t) && kHasCodeBlocks)
      for (std::uint32_t code = 0; code < n_codes; code += kBlockCodes) visit_block(code);
    else
      for (std::uint32_t code = 0; code < n_codes; ++code) visit(code);
  }

  // Returns the number of codes in use.
  std::uint32_t finish() {
    evaluate_(n_);
    return n_used_;
  }

 private:
  void visit_block(std::uint32_t first) {
    CodeBlock block;
    block.take(reinterpret_cast<std::uint16_t*>(counters_ + first));
    make_room(kBlockCodes);
    for (std::uint64_t cuts = block.cuts; cuts != 0; cuts &= cuts - 1) {
      const auto i = static_cast<std::uint32_t>(std::countr_zero(cuts));
      write(left_.zero + block.zero[i], left_.one + block.one[i], first + i);
      ++n_;
    }
    left_.zero += block.zero[kBlockCodes];
    left_.one += block.one[kBlockCodes];
    n_used_ += block.n_used;
  }

  void write(W zero, W one, std::uint32_t code) {
    zero_[n_] = zero;
    one_[n_] = one;
    code_[n_] = code;
  }

  void make_room(std::uint32_t n) {
    if (n_ + n < kBoundaryBlock) return;
    evaluate_(n_);
    n_ = 0;
  }

  Pair* counters_;
  F& evaluate_;
  W *zero_, *one_;
  std::uint32_t* code_;
  std::uint32_t n_ = 0;
  ClassPair<W> left_;
  Pair last_{};  // of the last code in use
  std::uint32_t n_used_ = 0;
};

template <class Pair, class W, class F>
std::uint32_t walk_boundaries(const NodeView<W>& node, const FrameColumn& column, SearchScratch<W>& scratch, F&& evaluate) {
  BoundaryWalk<Pair, W, F> walk(scratch, evaluate);
  if (walks_all_codes<Pair>(node.n, column))
    walk.visit_all(column.n_codes);
  else
    scratch.present.drain(column.n_codes, [&](std::uint32_t code) { walk.visit(code); });
  return walk.finish();
}

// The cut of least mass (in a tie, the first) among boundaries that come block by block.
template <class W, class C>
class BestBoundary {
 public:
  BestBoundary(const NodeView<W>& node, ClassPair<W> known, const C& criterion, double tie_weight, const Ends<W>& ends)
      : scale_(scale_of(node)),
        known_(known),
        criterion_(criterion),
        slack_(criterion.slack(tie_weight)),
        ends_(ends),
        at_(ends.first) {
    if (ends.any) mass_ = mass_at(at_.zero, at_.one);
  }

  void consider(SearchScratch<W>& scratch, std::uint32_t n) {
    if (!ends_.any) return;
    const auto& [zero, one, code] = scratch.boundaries;
    std::uint32_t begin = 0, end = n;
    while (begin < end && code[begin] <= ends_.first.code) ++begin;
    while (begin < end && code[end - 1] >= ends_.last.code) --end;
    // All masses first: a loop without branches, which runs several cuts side by side.
    Mass* masses = masses_of(scratch);
    const W* zeros = zero.data();
    const W* ones = one.data();
    for (std::uint32_t i = begin; i < end; ++i) masses[i] = mass_at(zeros[i], ones[i]);
    for (std::uint32_t i = begin; i < end; ++i)
      if (masses[i] < mass_ - slack_) take({zeros[i], ones[i], code[i]}, masses[i]);
  }

  Boundary<W> finish() {
    const auto mass = mass_at(ends_.last.zero, ends_.last.one);
    if (mass < mass_ - slack_) take(ends_.last, mass);
    return at_;
  }

  double mass() const { return criterion_.real(mass_); }

 private:
  using Mass = typename C::Mass;

  Mass mass_at(W zero, W one) const {
    return criterion_.of_sides(scale_(0, zero), scale_(1, one), scale_(0, known_.zero - zero), scale_(1, known_.one - one));
  }

  static Mass* masses_of(SearchScratch<W>& scratch) {
    if constexpr (std::is_same_v<Mass, double>) {
      scratch.masses.resize(kBoundaryBlock);
      return scratch.masses.data();
    } else {
      scratch.whole_masses.resize(kBoundaryBlock);
      return scratch.whole_masses.data();
    }
  }

  void take(Boundary<W> at, Mass mass) {
    at_ = at;
    mass_ = mass;
  }

  decltype(scale_of(std::declval<const NodeView<W>&>())) scale_;
  ClassPair<W> known_;
  const C& criterion_;
  Mass slack_;
  const Ends<W>& ends_;
  Boundary<W> at_;
  Mass mass_{};
};

// Finds the cut with the least mass; in a tie, the first.
template <class Pair, class W, class C>
Cut walk_two_classes(const NodeView<W>& node, const FrameColumn& column, ClassPair<W> known, const C& criterion,
                     CutLimits limits, SearchScratch<W>& scratch) {
  const Ends<W> ends = find_ends(reinterpret_cast<const Pair*>(scratch.counters.data()), column.n_codes, known,
                                 weight_bound<W>(limits.min_side));
  BestBoundary<W, C> best(node, known, criterion, limits.tie_weight, ends);
  const std::uint32_t n_used =
      walk_boundaries<Pair>(node, column, scratch, [&](std::uint32_t n) { best.consider(scratch, n); });
  Cut cut;
  if (!ends.any) return cut;
  const Boundary<W> at = best.finish();
  const auto scale = scale_of(node);
  cut.found = true;
  cut.tries = n_used + 1 - ends.n_outside;
  cut.position = at.code - 1;
  cut.mass = best.mass();
  cut.left = static_cast<double>(scale(0, at.zero)) + static_cast<double>(scale(1, at.one));
  cut.left_of_two[0] = static_cast<double>(at.zero);
  cut.left_of_two[1] = static_cast<double>(at.one);
  return cut;
}

}  // namespace petiole
