// Tests that are drawn for one node: a sum of two columns, or a single cut of one.
//
// The search then reads codes that are made for the rows of the node, in place of the column's own: ranks of the sums,
// or the sides of the cut. So a drawn test is evaluated, and its rows are routed, like those of any numeric column.
// What is drawn for a column depends on the node's key and the column's feature alone.
#pragma once

#include "grow/twig.hpp"
#include "tree/tree.hpp"

namespace petiole {

// The draws: for which columns, and for a node.
class DrawnTests {
 public:
  DrawnTests(const Dataset& dataset, const GrowOptions& options);

  bool any() const { return any_; }
  bool draws_cuts() const { return options_.splits == Splits::random; }
  // Whether the search uses other codes than those of this column.
  bool replaces(const FrameColumn& column) const { return any() && is_drawn(column); }

  // A numeric column together with another, each divided by about its standard deviation.
  void draw_projection(std::uint64_t test_key, std::int32_t feature, std::vector<ProjectionTerm>& projection) const;
  // In which direction the share of the ordered class must go along a column or a sum.
  int sign_of(std::int32_t feature, const std::vector<ProjectionTerm>& projection) const;

  const Dataset& dataset() const { return dataset_; }
  bool missing_is_a_category() const { return options_.missing == Missing::separate; }

 private:
  bool is_drawn(const FrameColumn& column) const;

  const Dataset& dataset_;
  const GrowOptions& options_;
  bool any_;
  std::vector<double> weight_;          // of each feature in a sum; 0: it is never part of one
  std::vector<std::int32_t> summable_;  // features with a weight
  std::vector<std::size_t> position_;   // of each feature among them
};

// A test drawn for the rows of a node, and their codes under it.
class DrawnColumn {
 public:
  // The rows of a node, for all its columns: row i of n is row_of(i) of the dataset.
  template <class RowOf>
  void enter(std::uint32_t n, RowOf&& row_of) {
    row_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) row_[i] = row_of(i);
  }

  void make(const DrawnTests& tests, std::uint64_t node_key, const FrameColumn& column);

  std::uint32_t n_codes() const { return n_codes_; }  // that many means missing
  bool has_missing() const { return has_missing_; }
  int sign() const { return sign_; }
  const std::vector<std::uint32_t>& codes() const { return code_; }

  // Describes the test of a cut: codes up to this one are on the left.
  void describe(std::uint32_t cut, SplitRule& rule) const;
  // The same for a candidate, whose rule has a threshold already if the test is whether a value is known.
  void describe(const Candidate& candidate, SplitRule& rule) const;

 private:
  template <class T>
  void read_values(const T* data);
  double place_of(double category) const;
  void code_by_rank();
  void count_smaller();
  void rank_in_buckets();
  void code_by_cut();
  double threshold(std::uint32_t cut) const;
  void describe_subset(SplitRule& rule) const;

  struct Placed {
    double value;
    std::uint32_t at;
  };

  const DrawnTests* tests_ = nullptr;
  const Column* column_ = nullptr;
  std::int32_t feature_ = -1;
  std::uint64_t key_ = 0;
  std::vector<ProjectionTerm> projection_;  // empty: the column alone
  std::vector<RowId> row_;
  std::vector<double> value_;     // NaN: missing
  std::vector<double> category_;  // of categorical columns, whose values are random numbers
  bool varies_ = false;           // the column itself does, in these rows
  bool has_missing_ = false;
  std::vector<std::uint32_t> code_;
  std::uint32_t n_codes_ = 0;
  int sign_ = 0;
  double cut_ = 0;  // where values are not ranked
  std::vector<std::uint32_t> bucket_, start_;
  std::vector<Placed> sorted_;
};

// A drawn column by rows of a frame, as the search and the partition read columns.
class MadeColumn {
 public:
  // Prepares for another node.
  void leave() { entered_ = false; }

  template <class W>
  const FrameColumn& make(const DrawnTests& tests, std::uint64_t node_key, const Frame& frame, const FrameColumn& column,
                          const Entry<W>* entries, std::uint32_t n) {
    if (!std::exchange(entered_, true)) drawn.enter(n, [&](std::uint32_t i) { return frame.dataset_row(entries[i].row); });
    drawn.make(tests, node_key, column);
    make_room(frame.n_rows, drawn.n_codes());
    const std::uint32_t* made = drawn.codes().data();
    codes_.visit([&](auto* codes) {
      using Code = std::remove_pointer_t<decltype(codes)>;
      for (std::uint32_t i = 0; i < n; ++i) codes[entries[i].row] = static_cast<Code>(made[i]);
    });
    column_ = {&codes_, drawn.n_codes(), column.feature, false, drawn.has_missing(), kUnknownWeight, true, drawn.sign()};
    return column_;
  }

  DrawnColumn drawn;

 private:
  static constexpr double kUnknownWeight = std::numeric_limits<double>::infinity();

  void make_room(RowId n_rows, std::uint32_t n_codes) {
    Codes fresh(0, std::uint64_t{n_codes} + 1);
    if (codes_.size() < n_rows || codes_.width() != fresh.width()) codes_ = Codes(n_rows, std::uint64_t{n_codes} + 1);
  }

  bool entered_ = false;
  Codes codes_;
  FrameColumn column_;
};

// The same by slots of a twig's node.
class MadeTwigColumn {
 public:
  void leave() { entered_ = false; }

  // Returns whether no value is missing; else there are no codes.
  template <class W>
  bool make(const DrawnTests& tests, std::uint64_t node_key, const Twig<W>& twig, const FrameColumn& column, Slots node) {
    if (!std::exchange(entered_, true)) {
      std::uint32_t n = 0;
      for_each_slot(node, [&](std::uint32_t slot) { slot_of_[n++] = static_cast<std::uint8_t>(slot); });
      drawn.enter(n, [&](std::uint32_t i) { return twig.frame().dataset_row(twig.row(slot_of_[i])); });
    }
    drawn.make(tests, node_key, column);
    if (drawn.has_missing()) return false;
    const std::vector<std::uint32_t>& made = drawn.codes();
    for (std::size_t i = 0; i < made.size(); ++i) codes.of[slot_of_[i]] = static_cast<std::uint8_t>(made[i]);
    return true;
  }

  DrawnColumn drawn;
  TwigCodes codes;

 private:
  bool entered_ = false;
  std::array<std::uint8_t, kTwigRows> slot_of_;
};

}  // namespace petiole
