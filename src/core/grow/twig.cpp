#include "grow/twig.hpp"

#include <algorithm>

#include "base/simd.hpp"
#include "grow/ordered_cut.hpp"

namespace petiole {
namespace {

// More codes than this are ranked by sorting: walking a set of them would take longer.
constexpr std::uint32_t kMostWalkedCodes = 1 << 13;

// The twig's weights are scaled already.
struct Unscaled {
  template <class W>
  W operator()(int, W weight) const {
    return weight;
  }
};

// The slots for which f is true of their codes. On SSE2 sixteen at a time: f tells of sixteen bytes which are to be taken.
#if defined(PETIOLE_SSE2)
template <class F>
Slots slots_where(const std::uint8_t* codes, F&& f) {
  Slots slots = 0;
  for (std::uint32_t i = 0; i < kTwigRows; i += 16) {
    const __m128i sixteen = _mm_load_si128(reinterpret_cast<const __m128i*>(codes + i));
    slots |= static_cast<Slots>(static_cast<std::uint32_t>(_mm_movemask_epi8(f(sixteen)))) << i;
  }
  return slots;
}

Slots slots_equal_to(const std::uint8_t* codes, std::uint32_t code) {
  return slots_where(codes, [code](__m128i of) { return _mm_cmpeq_epi8(of, _mm_set1_epi8(static_cast<char>(code))); });
}

Slots slots_up_to(const std::uint8_t* codes, std::uint32_t code) {
  const __m128i most = _mm_set1_epi8(static_cast<char>(code));
  return slots_where(codes, [most](__m128i of) { return _mm_cmpeq_epi8(_mm_max_epu8(of, most), most); });
}
#else
template <class F>
Slots slots_where(const std::uint8_t* codes, F&& f) {
  Slots slots = 0;
  for (std::uint32_t i = 0; i < kTwigRows; ++i) slots |= Slots{f(codes[i])} << i;
  return slots;
}

Slots slots_equal_to(const std::uint8_t* codes, std::uint32_t code) {
  return slots_where(codes, [code](std::uint8_t of) { return of == code; });
}

Slots slots_up_to(const std::uint8_t* codes, std::uint32_t code) {
  return slots_where(codes, [code](std::uint8_t of) { return of <= code; });
}
#endif

// The best cut so far; in a tie, the first.
template <class C>
class BestCut {
 public:
  using Weight = typename C::Weight;
  BestCut(const C& criterion, Weight least, Weight total, double tie_weight)
      : criterion_(criterion), least_(least), total_(total), slack_(criterion.slack(tie_weight)) {}

  // `left` and `scaled_left` are the weights on the left, mass() is asked only if both sides have enough. Returns whether
  // the cut is the best yet.
  template <class F>
  bool consider(Weight left, double scaled_left, F&& mass) {
    if (left < least_ || total_ - left < least_) return false;
    ++cut_.tries;
    const typename C::Mass here = mass();
    if (cut_.found && !(here < best_ - slack_)) return false;
    cut_.found = true;
    cut_.left = scaled_left;
    best_ = here;
    return true;
  }

  Cut finish() {
    cut_.mass = criterion_.real(best_);
    return cut_;
  }

 private:
  const C& criterion_;
  Weight least_, total_;
  typename C::Mass slack_, best_{};
  Cut cut_;
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
  prepared_ = false;
  std::uint64_t present = 0;  // classes of the twig
  for_each_slot(node, [&](std::uint32_t slot) {
    const std::uint32_t k = local_label_[slot];
    class_weight_[k] += weight_[slot];
    if constexpr (std::is_same_v<W, double>) class_scaled_[k] += scaled_[slot];
    present |= std::uint64_t{1} << k;
  });
  for_each_slot(present, [&](std::uint32_t k) {
    const W weight = std::exchange(class_weight_[k], W{0});
    if constexpr (std::is_same_v<W, double>)
      node_totals_[n_present_] = std::exchange(class_scaled_[k], W{0});
    else
      node_totals_[n_present_] = weight;  // counts are never scaled
    true_total_ += weight;
    heaviest_ = std::max(heaviest_, weight);
    label_at_node_[k] = static_cast<std::uint8_t>(n_present_++);
  });
  for_each_slot(node, [&](std::uint32_t slot) { node_label_[slot] = label_at_node_[local_label_[slot]]; });
}

// Codes of the twig's rows from 0 to at most 63 that keep the order of the column's codes.
template <class W>
void Twig<W>::rank(const FrameColumn& column, RankedColumn& ranked) {
  std::uint8_t* ranks = ranked.codes.of.data();
  column.codes->visit([&](const auto* codes) {
    ranked.missing = 0;
    for (std::uint32_t i = 0; i < n_ && column.has_missing; ++i)
      ranked.missing |= Slots{codes[row_[i]] == column.n_codes} << i;
    const Slots known = all() & ~ranked.missing;
    if (column.categorical) return;  // searched by the codes that it has
    if (column.n_codes <= kTwigRows && !column.has_missing) {
      for (std::uint32_t i = 0; i < n_; ++i) ranks[i] = static_cast<std::uint8_t>(codes[row_[i]]);
      return;
    }
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
    auto& present = rank_scratch_.present;
    auto& new_code = rank_scratch_.new_code;
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
  for_each_slot(present, [&](std::uint32_t code) {
    group_code_[n_groups_] = code;
    groups_[n_groups_++] = std::exchange(slots_of_code_[code], Slots{0});
  });
}

// Finds the cut with the least mass by moving slot after slot to the left.
template <class W>
template <class C, class Allowed>
Cut Twig<W>::cut_groups(const C& criterion, const std::uint8_t* codes, TwigCut& cut, Allowed allowed) {
  group(codes);
  right_.assign(node_totals_.begin(), node_totals_.begin() + n_present_);
  TwoSides sides(criterion, Unscaled{}, left_, right_);
  BestCut<C> best(criterion, least_side_, true_total_, weight_of_node_);
  W left{0};
  for (std::uint32_t g = 0; g + 1 < n_groups_; ++g) {
    for_each_slot(groups_[g], [&](std::uint32_t slot) {
      sides.move_left(node_label_[slot], scaled_[slot]);
      allowed.move_left(label_[slot], weight_[slot]);
      left += weight_[slot];
    });
    if (!allowed.allows(left, true_total_)) continue;
    if (best.consider(left, sides.left_weight(), [&] { return sides.mass(); })) cut = {group_code_[g], group_code_[g + 1]};
  }
  return best.finish();
}

// The same for two classes with whole-number weights, by code.
template <class W>
template <class C>
Cut Twig<W>::cut_two_classes(const C& criterion, const std::uint8_t* codes, TwigCut& cut) {
  std::uint64_t present = 0;
  for_each_slot(node_, [&](std::uint32_t slot) {
    pairs_[codes[slot]] += static_cast<std::uint32_t>(weight_[slot]) << (16 * node_label_[slot]);
    present |= std::uint64_t{1} << codes[slot];
  });
  BestCut<C> best(criterion, least_side_, true_total_, weight_of_node_);
  const W zeros = node_totals_[0], ones = node_totals_[1];
  std::uint32_t left = 0;
  for (; present != 0; present &= present - 1) {
    const std::uint32_t code = first_slot(present);
    left += std::exchange(pairs_[code], 0u);
    const W zero = static_cast<W>(left & 0xffff), one = static_cast<W>(left >> 16);
    const auto mass = [&] { return criterion.of_two(zero, one) + criterion.of_two(zeros - zero, ones - one); };
    if (best.consider(zero + one, static_cast<double>(zero + one), mass)) cut = {code, first_slot(present & (present - 1))};
  }
  return best.finish();
}

// The same for any number of classes and the Gini index of whole-number weights.
template <class W>
template <class C>
Cut Twig<W>::cut_cells(const C& criterion, const std::uint8_t* codes, TwigCut& cut) {
  const std::uint32_t width = cell_width(n_present_);
  std::uint64_t present = 0;
  for_each_slot(node_, [&](std::uint32_t slot) {
    Cell& cell = cells_[codes[slot] * width + node_label_[slot]];
    cell = static_cast<Cell>(cell + static_cast<Cell>(weight_[slot]));
    present |= std::uint64_t{1} << codes[slot];
  });
  BestCut<C> best(criterion, least_side_, true_total_, weight_of_node_);
  with_gini_cells(cell_totals_.data(), cell_left_.data(), width, static_cast<std::uint32_t>(true_total_), [&](auto sides) {
    for (; present != 0; present &= present - 1) {
      const std::uint32_t code = first_slot(present);
      const std::uint32_t left = sides.take(&cells_[code * width]);
      if (best.consider(static_cast<W>(left), left, [&] { return sides.mass(); }))
        cut = {code, first_slot(present & (present - 1))};
    }
  });
  return best.finish();
}

template <class W>
template <class C>
void Twig<W>::prepare_search(const C& criterion) {
  if (prepared_) return;
  weight_of_node_ = 0;
  for (std::uint32_t k = 0; k < n_present_; ++k) weight_of_node_ += static_cast<double>(node_totals_[k]);
  mass_ = criterion.real(mass_of(criterion, node_totals_.data(), static_cast<int>(n_present_)));
  least_side_ = weight_bound<W>(least_side(*context_, static_cast<double>(true_total_)));
  if constexpr (!std::is_same_v<W, double>) {
    std::fill_n(cell_totals_.begin(), cell_width(n_present_), Cell{0});
    for (std::uint32_t k = 0; k < n_present_; ++k) cell_totals_[k] = static_cast<Cell>(node_totals_[k]);
  }
  prepared_ = true;
}

template <class W>
template <class C>
Candidate Twig<W>::best_cut(const C& criterion, const std::uint8_t* codes, TwigCut& twig_cut, int sign) {
  prepare_search(criterion);
  constexpr bool kCounts = !std::is_same_v<W, double>;
  const bool narrow = kCounts && static_cast<double>(true_total_) <= kMostCellWeight;
  const int label = context_->options->ordered_class;
  Cut cut;
  if (sign != 0)
    cut = cut_groups(criterion, codes, twig_cut, OrderedCut(sign, label, weight_of_class(label)));
  else if (narrow && n_present_ == 2)
    cut = cut_two_classes(criterion, codes, twig_cut);
  else if (narrow && std::is_same_v<C, CountGini>)
    cut = cut_cells(criterion, codes, twig_cut);
  else
    cut = cut_groups(criterion, codes, twig_cut, AnyCut());
  if (!cut.found) return {};
  return numeric_candidate(*context_, cut, mass_, weight_of_node_, static_cast<double>(true_total_));
}

template <class W>
double Twig<W>::weight_of_class(int label) const {
  double weight = 0;
  for_each_slot(node_,
                [&](std::uint32_t slot) { weight += label_[slot] == label ? static_cast<double>(weight_[slot]) : 0.0; });
  return weight;
}

template <class W>
Candidate Twig<W>::find(const TwigCodes& codes, TwigCut& cut, int sign) {
  return with_criterion<W>(*context_, [&](const auto& c) { return best_cut(c, codes.of.data(), cut, sign); });
}

template <class W>
Candidate Twig<W>::find(std::int32_t column, TwigCut& cut, int sign) {
  Candidate candidate = find(ranked(static_cast<std::size_t>(column)).codes, cut, sign);
  candidate.column = column;
  return candidate;
}

template <class W>
TwigSides Twig<W>::sides_of(std::int32_t column, TwigCut cut) {
  return sides_of(ranked(static_cast<std::size_t>(column)).codes, cut);
}

template <class W>
TwigSides Twig<W>::sides_of(const TwigCodes& codes, TwigCut cut) const {
  const std::uint8_t* of = codes.of.data();
  return {node_ & slots_up_to(of, cut.low), first_slot(node_ & slots_equal_to(of, cut.low)),
          first_slot(node_ & slots_equal_to(of, cut.high))};
}

template class Twig<std::uint32_t>;
template class Twig<double>;

}  // namespace petiole
