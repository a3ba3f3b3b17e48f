// The two inner loops: the best cut of an ordered attribute.
//
// With two classes the rows are read once into counters indexed by code, and then the codes that are present are walked in
// order: nothing is sorted, and the work is linear in the rows. With more classes the rows are grouped by code first, and
// the groups are walked in a given order.
#pragma once

#include <bit>
#include <initializer_list>
#include <type_traits>

#include "grow/code_block.hpp"
#include "grow/split.hpp"

namespace petiole {

// Bounds on a cut.
struct CutLimits {
  double min_side = 0;    // known true weight each side must have
  double tie_weight = 0;  // node weight in the criterion's scale: gain * tie_weight is a mass
};

struct Cut {
  bool found = false;
  std::uint32_t position = 0;  // walk_two_classes: codes up to this one are on the left; walk_groups: how many groups are
  std::uint32_t tries = 0;
  double mass = 0;  // of the two sides
  double left = 0;  // weight on the left, in the criterion's scale
  double left_of_two[2] = {0, 0};  // walk_two_classes: true weights of the classes on the left
};

// C4.5 asks more of both sides of a numeric cut in large nodes: a tenth of the mean class size, at most 25.
double least_side(const SearchContext& context, double known_weight);

double split_info(std::initializer_list<double> branches);

// C4.5: a numeric attribute pays for the choice among its cuts.
void correct_gain(Candidate& candidate, std::uint32_t tries, double node_weight);

// The candidate of a numeric attribute without missing values: `mass` is the node's, `split_weight` its weight in the
// criterion's scale.
Candidate numeric_candidate(const SearchContext& context, const Cut& cut, double mass, double split_weight,
                            double node_weight);

// Calls f with the criterion for weights of type W.
template <class W, class F>
decltype(auto) with_criterion(const SearchContext& context, F&& f) {
  constexpr bool kReal = std::is_same_v<W, double>;
  switch (context.options->criterion) {
    case Criterion::gini:
      return f(std::conditional_t<kReal, RealGini, CountGini>{});
    case Criterion::kearns_mansour:
      return f(KearnsMansour<W>{});
    default:
      if constexpr (kReal)
        return f(RealEntropy{});
      else
        return f(CountEntropy{context.log_table->data(), context.log_table->unit()});
  }
}

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
    return std::max(W{1}, static_cast<W>(std::ceil(min_side - kWeightSlack)));
}

template <class Pair, class W>
Pair* counters_for(const FrameColumn& column, SearchScratch<W>& scratch) {
  const std::size_t n_codes = std::size_t{column.n_codes} + 1;
  // With room for a whole block of counters after the last.
  const std::size_t n_words = (n_codes + kBlockCodes) * sizeof(Pair) / sizeof(std::uint64_t) + 1;
  if (scratch.counters.size() < n_words) scratch.counters.resize(n_words);
  scratch.present.reserve(static_cast<std::uint32_t>(n_codes));
  return reinterpret_cast<Pair*>(scratch.counters.data());
}

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
Pair count_two_classes(const NodeView<W>& node, const FrameColumn& column, const Code* codes,
                       SearchScratch<W>& scratch) {
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
std::uint32_t walk_boundaries(const NodeView<W>& node, const FrameColumn& column, SearchScratch<W>& scratch,
                              F&& evaluate) {
  BoundaryWalk<Pair, W, F> walk(scratch, evaluate);
  if (walks_all_codes<Pair>(node.n, column))
    walk.visit_all(column.n_codes);
  else
    scratch.present.drain(column.n_codes, [&](std::uint32_t code) { walk.visit(code); });
  return walk.finish();
}

// The cut of least mass among boundaries that come block by block, the first of equals.
template <class W, class C>
class BestBoundary {
 public:
  BestBoundary(const NodeView<W>& node, ClassPair<W> known, const C& criterion, double tie_weight, const Ends<W>& ends)
      : scale_(scale_of(node)), known_(known), criterion_(criterion), slack_(criterion.slack(tie_weight)), ends_(ends),
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
    return criterion_.of_sides(scale_(0, zero), scale_(1, one), scale_(0, known_.zero - zero),
                               scale_(1, known_.one - one));
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

// Finds the cut with the least mass, the first of equals.
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

// Cells (code x class) per row up to which rows are added up in a table of cells.
constexpr std::uint64_t kCellsPerRow = 32;

// Cells per row up to which all cells are walked: cheaper than remembering which are in use.
constexpr std::uint32_t kDenseCells = 2;

// Groups by adding up the rows in a table of cells and walking the cells in use.
template <class W, class Code>
void group_by_cells(const NodeView<W>& node, std::uint32_t n_cells, const Code* codes, SearchScratch<W>& scratch) {
  Groups<W>& groups = scratch.groups;
  const auto n_classes = static_cast<std::uint32_t>(node.n_classes());
  if (scratch.cells.size() < n_cells) scratch.cells.resize(n_cells);
  W* cells = scratch.cells.data();
  std::uint32_t end = 0, end_of_code = 0;
  const auto take = [&](std::uint32_t cell) {
    if (cell >= end_of_code) {
      const std::uint32_t code = cell / n_classes;
      end_of_code = (code + 1) * n_classes;
      groups.start_group(code, end);
    }
    groups.label[end] = static_cast<ClassId>(cell + n_classes - end_of_code);
    groups.weight[end++] = std::exchange(cells[cell], W{0});
  };
  if (n_cells <= kDenseCells * node.n) {
    for (std::uint32_t i = 0; i < node.n; ++i) {
      const Entry<W>& entry = node.entries[i];
      cells[codes[entry.row] * n_classes + entry.label] += entry.weight;
    }
    for (std::uint32_t cell = 0; cell < n_cells; ++cell)
      if (cells[cell] != W{0}) take(cell);
  } else {
    scratch.present.reserve(n_cells);
    for (std::uint32_t i = 0; i < node.n; ++i) {
      const Entry<W>& entry = node.entries[i];
      const std::uint32_t cell = codes[entry.row] * n_classes + entry.label;
      cells[cell] += entry.weight;
      scratch.present.insert(cell);
    }
    scratch.present.drain(n_cells, take);
  }
  groups.finish(end);
}

// Groups by putting the rows in order, for attributes of so many values that a table would be mostly empty.
template <class W, class Code>
void group_by_sorting(const NodeView<W>& node, const FrameColumn& column, const Code* codes, SearchScratch<W>& scratch) {
  Groups<W>& groups = scratch.groups;
  std::uint32_t* next = counters_for<std::uint32_t>(column, scratch);
  for (std::uint32_t i = 0; i < node.n; ++i) {
    const std::uint32_t code = codes[node.entries[i].row];
    ++next[code];
    scratch.present.insert(code);
  }
  std::uint32_t end = 0;
  scratch.present.drain(column.n_codes + 1, [&](std::uint32_t code) {
    groups.start_group(code, end);
    end += std::exchange(next[code], end);
  });
  groups.finish(end);
  for (std::uint32_t i = 0; i < node.n; ++i) {
    const Entry<W>& entry = node.entries[i];
    const std::uint32_t to = next[codes[entry.row]]++;
    groups.label[to] = entry.label;
    groups.weight[to] = entry.weight;
  }
  for (std::uint32_t g = 0; g < groups.size(); ++g) next[groups.code[g]] = 0;
}

// Groups the rows by code, in order of code.
template <class W, class Code>
void group_by_code(const NodeView<W>& node, const FrameColumn& column, const Code* codes, SearchScratch<W>& scratch) {
  scratch.groups.reserve(node.n);
  const std::uint64_t n_cells = (std::uint64_t{column.n_codes} + 1) * static_cast<std::uint64_t>(node.n_classes());
  if (n_cells <= kCellsPerRow * node.n)
    group_by_cells(node, static_cast<std::uint32_t>(n_cells), codes, scratch);
  else
    group_by_sorting(node, column, codes, scratch);
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
  void copy_left(Weight* to) const { std::copy(left_.begin(), left_.end(), to); }

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

// Cells per row up to which the table of 16-bit cells is used: all of it is walked, eight cells at a time.
constexpr std::uint64_t kNarrowCellsPerRow = 8;
// Tables of several columns are filled in one pass over the rows, as many as stay in the first cache.
constexpr std::uint32_t kCellsAtOnce = 8192;
constexpr std::size_t kColumnsAtOnce = 4;

// A column's table: the cells of code c begin at cells + c * width, those of missing rows are the last.
struct CellColumn {
  const FrameColumn* column = nullptr;
  std::size_t position = 0;  // among the candidates
  Cell* cells = nullptr;
};

// Adds the rows to the tables of kColumns columns. kLookUp: the labels are still to be numbered.
template <int kColumns, bool kLookUp, class W, class Code>
void count_cells(const NodeView<W>& node, const CellColumn* columns, std::uint32_t width) {
  const Code* codes[kColumns];
  Cell* cells[kColumns];
  for (int c = 0; c < kColumns; ++c) {
    columns[c].column->codes->visit([&](const auto* of_column) { codes[c] = reinterpret_cast<const Code*>(of_column); });
    cells[c] = columns[c].cells;
  }
  const Entry<W>* entries = node.entries;
  const ClassId* local_class = node.local_class;
  const std::uint32_t n = node.n;
  for (std::uint32_t i = 0; i < n; ++i) {
    const Entry<W> entry = entries[i];
    const ClassId label = kLookUp ? local_class[entry.label] : entry.label;
    for (int c = 0; c < kColumns; ++c) {
      Cell& cell = cells[c][std::size_t{codes[c][entry.row]} * width + label];
      cell = static_cast<Cell>(cell + static_cast<Cell>(entry.weight));
    }
  }
}

// Finds the cut with the least mass, the first of equals, and empties the cells of known rows. scratch.right_counts holds
// the class weights of these rows, `total` their sum; scratch.best_left gets those on the left of the cut.
template <class C>
Cut walk_cells(const C& criterion, const CellColumn& table, std::uint32_t width, std::uint32_t total, CutLimits limits,
               SearchScratch<std::uint32_t>& scratch) {
  const auto least = weight_bound<std::uint32_t>(limits.min_side);
  const typename C::Mass slack = criterion.slack(limits.tie_weight);
  Cut cut;
  typename C::Mass best{};
  const auto consider = [&](std::uint32_t code, std::uint32_t left, const auto& sides) {
    if (left < least || total - left < least) return;
    ++cut.tries;
    const typename C::Mass mass = sides.mass();
    if (cut.found && !(mass < best - slack)) return;
    cut.found = true;
    cut.position = code;
    cut.left = left;
    best = mass;
    sides.copy_left(scratch.best_left.data());
  };
  if (scratch.best_left.size() < width) scratch.best_left.resize(width);
  if constexpr (std::is_same_v<C, CountGini>) {
    scratch.cell_totals.assign(width, 0);
    scratch.cell_left.resize(width);
    std::copy(scratch.right_counts.begin(), scratch.right_counts.end(), scratch.cell_totals.begin());
    with_gini_cells(scratch.cell_totals.data(), scratch.cell_left.data(), width, total, [&](auto sides) {
      for (std::uint32_t code = 0; code < table.column->n_codes; ++code)
        consider(code, sides.take(table.cells + std::size_t{code} * width), sides);
    });
  } else {
    TwoSides sides(criterion, NoScale{}, scratch.left_counts, scratch.right_counts);
    std::uint32_t left = 0;
    for (std::uint32_t code = 0; code < table.column->n_codes; ++code) {
      const std::uint32_t before = left;
      take_cells(table.cells + std::size_t{code} * width, width, [&](std::uint32_t k, std::uint32_t weight) {
        sides.move_left(static_cast<ClassId>(k), weight);
        left += weight;
      });
      if (left > before) consider(code, left, sides);
    }
  }
  cut.mass = criterion.real(best);
  return cut;
}

}  // namespace petiole
