// A twig: a subtree of at most 64 rows, grown to its leaves in one go.
//
// Most nodes of a full tree are in twigs, and their cost is mostly bookkeeping, not rows. The rows of a twig get slots,
// a set of them is one machine word, and a node is such a set: splitting it is an `and`, and nothing is moved or allocated.
#pragma once

#include <array>
#include <bit>

#include "grow/two_sides.hpp"

namespace petiole {

using Slots = std::uint64_t;  // a set of slots: bit i is slot i

inline constexpr std::uint32_t kTwigRows = 64;

inline std::uint32_t first_slot(Slots slots) { return static_cast<std::uint32_t>(std::countr_zero(slots)); }

// Calls f(slot) for every slot of the set in increasing order.
template <class F>
void for_each_slot(Slots slots, F&& f) {
  for (; slots != 0; slots &= slots - 1) f(first_slot(slots));
}

// Where a numeric candidate cuts a node of a twig: the codes next to the cut.
struct TwigCut {
  std::uint32_t low = 0, high = 0;
};

// By slot. Where a value is missing the code means nothing.
struct TwigCodes {
  alignas(16) std::array<std::uint8_t, kTwigRows> of{};
};

// The effect of the cut.
struct TwigSides {
  Slots left = 0;
  std::uint32_t low = 0, high = 0;  // slots with the largest value on the left and the smallest on the right
};

// The rows of a twig and the search for numeric cuts in it. A column is ranked the first time it is searched.
template <class W>
class Twig {
 public:
  void open(const SearchContext& context, const Window<W>& window);

  Slots all() const { return n_ == kTwigRows ? ~Slots{0} : (Slots{1} << n_) - 1; }
  RowId row(std::uint32_t slot) const { return row_[slot]; }  // of the frame
  ClassId label(std::uint32_t slot) const { return label_[slot]; }
  W weight(std::uint32_t slot) const { return weight_[slot]; }
  Entry<W> entry(std::uint32_t slot) const {
    return {row_[slot], label_[slot], static_cast<typename Entry<W>::Stored>(weight_[slot])};
  }
  const Frame& frame() const { return *frame_; }

  // Whether all these slots are of one class.
  bool is_pure(Slots node) const { return node == 0 || (node & ~slots_of_class_[local_label_[first_slot(node)]]) == 0; }

  // Makes these slots the node that is searched.
  void enter(Slots node);
  double node_weight() const { return static_cast<double>(true_total_); }
  double heaviest_class() const { return static_cast<double>(heaviest_); }

  // The slots without a value in a column.
  Slots missing(std::int32_t column) { return ranked(static_cast<std::size_t>(column)).missing; }

  // For a numeric column with a value in every slot of the node; `sign` as those of GrowOptions.
  Candidate find(std::int32_t column, TwigCut& cut, int sign = 0);
  TwigSides sides_of(std::int32_t column, TwigCut cut);
  // The same for codes that were made for this node, below kTwigRows.
  Candidate find(const TwigCodes& codes, TwigCut& cut, int sign = 0);
  TwigSides sides_of(const TwigCodes& codes, TwigCut cut) const;

 private:
  struct RankedColumn {
    std::uint64_t twig = 0;  // the twig that the codes are of
    Slots missing = 0;
    TwigCodes codes;
  };

  const RankedColumn& ranked(std::size_t column);
  void rank(const FrameColumn& column, RankedColumn& ranked);
  template <class C>
  Candidate best_cut(const C& criterion, const std::uint8_t* codes, TwigCut& cut, int sign);
  template <class C>
  Cut cut_two_classes(const C& criterion, const std::uint8_t* codes, TwigCut& cut);
  template <class C>
  Cut cut_cells(const C& criterion, const std::uint8_t* codes, TwigCut& cut);
  template <class C, class Allowed>
  Cut cut_groups(const C& criterion, const std::uint8_t* codes, TwigCut& cut, Allowed allowed);
  double weight_of_class(int label) const;  // at the node
  void group(const std::uint8_t* codes);
  template <class C>
  void prepare_search(const C& criterion);

  const SearchContext* context_ = nullptr;
  const Frame* frame_ = nullptr;
  std::uint32_t n_ = 0;
  std::uint64_t n_opened_ = 0;
  std::array<RowId, kTwigRows> row_;
  std::array<ClassId, kTwigRows> label_, local_label_;  // of the dataset; among the classes of the twig
  std::array<W, kTwigRows> weight_, scaled_;            // true, and as the criterion sees them
  std::vector<ClassId> local_class_;
  std::uint32_t n_classes_ = 0;  // in the twig
  std::array<Slots, kTwigRows> slots_of_class_;
  std::vector<RankedColumn> columns_;

  Slots node_ = 0;
  std::array<W, kTwigRows> class_weight_{}, class_scaled_{};  // by class of the twig; all zero between calls
  std::array<std::uint8_t, kTwigRows> label_at_node_;         // of the twig's classes
  std::uint32_t n_present_ = 0;
  W true_total_{0}, heaviest_{0};
  // Data for the search of every column, computed when the first is searched.
  bool prepared_ = false;
  double weight_of_node_ = 0, mass_ = 0;            // as the criterion sees them
  W least_side_{0};                                 // what each side of a cut must weigh
  std::array<std::uint8_t, kTwigRows> node_label_;  // among the classes of the node
  std::array<W, kTwigRows> node_totals_;            // of these classes, as the criterion sees them

  // By code; all empty between calls.
  std::array<Slots, kTwigRows> slots_of_code_{};
  std::array<std::uint32_t, kTwigRows> pairs_{};  // two classes' weights, 16 bits each
  std::array<Cell, kTwigRows * kTwigRows> cells_{};
  std::array<Cell, kTwigRows> cell_totals_, cell_left_;

  std::array<Slots, kTwigRows> groups_;  // slots of equal value, in order of value
  std::array<std::uint32_t, kTwigRows> group_code_;
  std::uint32_t n_groups_ = 0;
  std::vector<W> left_, right_;
  CompactScratch rank_scratch_;
};

}  // namespace petiole
