#include "twig.hpp"

#include <algorithm>

namespace petiole {
namespace {

// More codes than this are ranked by sorting: walking a set of them would take longer.
constexpr std::uint32_t kMostWalkedCodes = 1 << 13;

// The two sides of a moving cut at a node of two classes.
template <class C>
class TwoClassSides {
 public:
  using Weight = typename C::Weight;
  TwoClassSides(const C& criterion, Slots second, Weight zero, Weight one)
      : criterion_(criterion), second_(second), right_{zero, one} {}

  void move_left(std::uint32_t slot, ClassId, Weight weight) {
    const auto k = (second_ >> slot) & 1;
    left_[k] += weight;
    right_[k] = right_[k] > weight ? right_[k] - weight : Weight{0};
  }
  typename C::Mass mass() const {
    return criterion_.of_two(left_[0], left_[1]) + criterion_.of_two(right_[0], right_[1]);
  }
  double left_weight() const { return static_cast<double>(left_[0]) + static_cast<double>(left_[1]); }

 private:
  const C& criterion_;
  Slots second_;
  Weight left_[2] = {0, 0}, right_[2];
};

// Likewise for any number of classes.
template <class C>
class ManyClassSides {
 public:
  using Weight = typename C::Weight;
  ManyClassSides(const C& criterion, std::vector<Weight>& left, std::vector<Weight>& right)
      : sides_(criterion, Unscaled{}, left, right) {}

  void move_left(std::uint32_t, ClassId label, Weight weight) { sides_.move_left(label, weight); }
  typename C::Mass mass() const { return sides_.mass(); }
  double left_weight() const { return sides_.left_weight(); }

 private:
  struct Unscaled {  // the twig's weights are scaled already
    Weight operator()(int, Weight weight) const { return weight; }
  };
  TwoSides<C, Unscaled> sides_;
};

}  // namespace

template <class W>
void Twig<W>::open(const SearchContext& context, const Window<W>& window) {
  context_ = &context;
  frame_ = window.frame.get();
  n_ = window.size();
  ++n_opened_;
  if (columns_.size() < frame_->columns.size()) columns_.resize(frame_->columns.size());
  for (std::uint32_t i = 0; i < n_; ++i) {
    const Entry<W>& entry = window.entries()[i];
    row_[i] = entry.row;
    label_[i] = entry.label;
    weight_[i] = entry.weight;
  }
  // Classes are numbered among those of the twig, in their order.
  constexpr ClassId kAbsent = std::numeric_limits<ClassId>::max();
  local_class_.assign(static_cast<std::size_t>(context.n_classes), kAbsent);
  for (std::uint32_t i = 0; i < n_; ++i) local_class_[label_[i]] = 0;
  n_classes_ = 0;
  for (ClassId& local : local_class_)
    if (local != kAbsent) local = static_cast<ClassId>(n_classes_++);
  std::fill_n(slots_of_class_.begin(), n_classes_, Slots{0});
  totals_.resize(n_classes_);
  const std::vector<double>& class_scale = context.options->class_scale;
  for (std::uint32_t i = 0; i < n_; ++i) {
    local_label_[i] = local_class_[label_[i]];
    slots_of_class_[local_label_[i]] |= Slots{1} << i;
    scaled_[i] = class_scale.empty() ? weight_[i] : static_cast<W>(class_scale[label_[i]] * static_cast<double>(weight_[i]));
  }
}

template <class W>
void Twig<W>::enter(Slots node) {
  node_ = node;
  n_present_ = 0;
  true_total_ = heaviest_ = 0;
  for (std::uint32_t k = 0; k < n_classes_; ++k) {
    const Slots here = slots_of_class_[k] & node;
    W total{0}, true_total{0};
    for_each_slot(here, [&](std::uint32_t slot) {
      total += scaled_[slot];
      true_total += weight_[slot];
    });
    totals_[k] = total;
    true_total_ += true_total;
    heaviest_ = std::max(heaviest_, true_total);
    if (here == 0) continue;
    second_class_ = here;
    ++n_present_;
  }
}

// Codes of the twig's rows from 0 to at most 63 that keep the order of the column's codes.
template <class W>
void Twig<W>::rank(const FrameColumn& column, RankedColumn& ranked) {
  std::uint8_t* ranks = ranked.codes.data();
  column.codes->visit([&](const auto* codes) {
    ranked.missing = 0;
    for (std::uint32_t i = 0; i < n_ && column.has_missing; ++i)
      ranked.missing |= Slots{codes[row_[i]] == column.n_codes} << i;
    const Slots known = all() & ~ranked.missing;
    if (column.nominal) return;  // searched by the codes that it has
    if (column.n_codes <= kTwigRows) {
      for_each_slot(known, [&](std::uint32_t i) { ranks[i] = static_cast<std::uint8_t>(codes[row_[i]]); });
      return;
    }
    if (column.n_codes > kMostWalkedCodes) {
      std::array<std::uint64_t, kTwigRows> sorted;
      std::uint32_t n = 0;
      for_each_slot(known, [&](std::uint32_t i) { sorted[n++] = std::uint64_t{codes[row_[i]]} * kTwigRows + i; });
      std::sort(sorted.begin(), sorted.begin() + n);
      std::uint8_t rank = 0;
      for (std::uint32_t i = 0; i < n; ++i) {
        if (i > 0 && sorted[i] / kTwigRows != sorted[i - 1] / kTwigRows) ++rank;
        ranks[sorted[i] % kTwigRows] = rank;
      }
      return;
    }
    auto& [present, new_code] = rank_scratch_;
    present.reserve(column.n_codes);
    if (new_code.size() < column.n_codes) new_code.resize(column.n_codes);
    for_each_slot(known, [&](std::uint32_t i) { present.insert(codes[row_[i]]); });
    std::uint32_t rank = 0;
    present.drain(column.n_codes, [&](std::uint32_t code) { new_code[code] = rank++; });
    for_each_slot(known, [&](std::uint32_t i) { ranks[i] = static_cast<std::uint8_t>(new_code[codes[row_[i]]]); });
  });
}

template <class W>
const typename Twig<W>::RankedColumn& Twig<W>::ranked(std::size_t column) {
  RankedColumn& cached = columns_[column];
  if (cached.twig != n_opened_) {
    rank(frame_->columns[column], cached);
    cached.twig = n_opened_;
  }
  return cached;
}

template <class W>
void Twig<W>::group(const std::uint8_t* codes) {
  std::uint64_t present = 0;
  for_each_slot(node_, [&](std::uint32_t slot) {
    slots_of_code_[codes[slot]] |= Slots{1} << slot;
    present |= std::uint64_t{1} << codes[slot];
  });
  n_groups_ = 0;
  for_each_slot(present, [&](std::uint32_t code) { groups_[n_groups_++] = std::exchange(slots_of_code_[code], Slots{0}); });
}

// Finds the cut with the least mass among the groups, the first of equals.
template <class W>
template <class C, class Sides>
Cut Twig<W>::walk(const C& criterion, Sides& sides, double node_weight) const {
  const W least = weight_bound<W>(least_side(*context_, static_cast<double>(true_total_)));
  const typename C::Mass slack = criterion.slack(node_weight);
  Cut cut;
  typename C::Mass best{};
  W left{0};
  for (std::uint32_t g = 0; g + 1 < n_groups_; ++g) {
    for_each_slot(groups_[g], [&](std::uint32_t slot) {
      sides.move_left(slot, local_label_[slot], scaled_[slot]);
      left += weight_[slot];
    });
    if (left < least) continue;
    if (true_total_ - left < least) break;
    ++cut.tries;
    const auto mass = sides.mass();
    if (cut.found && !(mass < best - slack)) continue;
    cut.found = true;
    cut.position = g;
    cut.left = sides.left_weight();
    best = mass;
  }
  cut.mass = criterion.real(best);
  return cut;
}

template <class W>
template <class C>
Candidate Twig<W>::best_cut(const C& criterion, TwigCut& twig_cut) {
  double node_weight = 0;
  for (const W total : totals_) node_weight += static_cast<double>(total);
  Cut cut;
  if (n_present_ == 2) {
    W zero{0}, one{0};
    for (std::uint32_t k = 0; k < n_classes_; ++k) ((slots_of_class_[k] & node_) == second_class_ ? one : zero) += totals_[k];
    TwoClassSides<C> sides(criterion, second_class_, zero, one);
    cut = walk(criterion, sides, node_weight);
  } else {
    right_ = totals_;
    ManyClassSides<C> sides(criterion, left_, right_);
    cut = walk(criterion, sides, node_weight);
  }
  if (!cut.found) return {};
  twig_cut = {};
  for (std::uint32_t g = 0; g <= cut.position; ++g) twig_cut.left |= groups_[g];
  twig_cut.low = first_slot(groups_[cut.position]);
  twig_cut.high = first_slot(groups_[cut.position + 1]);
  const double mass = criterion.real(mass_of(criterion, totals_.data(), static_cast<int>(n_classes_)));
  return numeric_candidate(*context_, cut, mass, node_weight, static_cast<double>(true_total_));
}

template <class W>
Candidate Twig<W>::find(std::int32_t column, TwigCut& cut) {
  group(ranked(static_cast<std::size_t>(column)).codes.data());
  Candidate candidate;
  if (n_groups_ > 1) candidate = with_criterion<W>(*context_, [&](const auto& c) { return best_cut(c, cut); });
  candidate.column = column;
  return candidate;
}

template class Twig<std::uint32_t>;
template class Twig<double>;

}  // namespace petiole
