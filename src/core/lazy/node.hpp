// One node of a lazy tree: its rows, and every test that could be made there with the gain it would have.
//
// For a feature the rows are put in groups of equal code, in order. A child is the groups on one side of a value, so
// walking the groups away from the query's place adds rows to a child and meets each test once. Two classes, which most
// nodes have, need two numbers for each group and nothing else.
#pragma once

#include "lazy/data.hpp"

namespace petiole {

// Class counts of a child that grows by groups of rows.
class GrowingChild {
 public:
  Units total = 0;

  void reset(std::size_t n_classes) {
    counts_.assign(n_classes, 0);
    total = 0;
    n_present_ = 0;
  }

  // Rows that are counted before `settle` cost an addition each.
  void count(std::size_t k, Units weight) {
    counts_[k] += weight;
    total += weight;
  }

  void settle(const NodeGain& gain) {
    sum_ = gain.prior() * static_cast<double>(counts_.size());
    term_sum_ = 0;
    n_present_ = 0;
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      sum_ += gain.share(k, counts_[k]);
      term_sum_ += gain.term(k, counts_[k]);
      n_present_ += counts_[k] > 0;
    }
  }

  void add(const NodeGain& gain, std::size_t k, Units weight) {
    const Units before = counts_[k], after = before + weight;
    counts_[k] = after;
    total += weight;
    sum_ += gain.share(k, weight);
    term_sum_ += gain.term(k, after) - gain.term(k, before);
    n_present_ += before == 0;
  }

  bool is_pure() const { return n_present_ == 1; }
  double estimate(const NodeGain& gain) const { return gain.from_sums(sum_, term_sum_); }

 private:
  std::vector<Units> counts_;
  double sum_ = 0, term_sum_ = 0;
  int n_present_ = 0;
};

class LazyNode {
 public:
  LazyNode(const LazyData& data, const LazyTreeOptions& options);

  // Takes the rows of a node; they must stay where they are.
  void open(std::span<const RowId> rows, const LazyBag& bag);

  std::span<const ClassId> classes() const { return classes_; }  // those that occur, and their weights
  std::span<const Units> counts() const { return counts_; }
  Units total() const { return total_; }
  const NodeGain& gain() const { return gain_; }

  // Whether a test could be admissible at all.
  bool can_branch() const { return classes_.size() > 1 && total_ > least_; }

  // Calls emit(candidate) for the tests on a feature that are true at a place. Children below the least weight are
  // left out; gains of zero are not.
  template <class Emit>
  void tests_at(std::uint32_t feature, const Place& place, Emit&& emit) {
    if (!place.known || !group(feature)) return;
    if (data_.dataset.columns[feature].categorical)
      return without_each(feature, [&](const LazyCandidate& c) {
        if (c.test.code != place.lower) emit(c);
      });
    const std::size_t below = groups_before(place.lower), from = groups_before(place.upper), n = n_groups();
    start_with(below, n);
    for (std::size_t g = below; g-- > 0; add(g)) offer(feature, Sign::greater, g, emit);
    start_with(0, from);
    for (std::size_t g = from; g < n; add(g++)) offer(feature, Sign::less, g, emit);
  }

  // The same for all places at once: all tests with a sign, the smallest child first.
  template <class Emit>
  void all_tests(std::uint32_t feature, Emit&& emit) {
    if (!group(feature)) return;
    if (data_.dataset.columns[feature].categorical) return without_each(feature, emit);
    const std::size_t n = n_groups();
    start_with(0, 0);
    for (std::size_t g = n; g-- > 0; add(g)) offer(feature, Sign::greater, g, emit);
    start_with(0, 0);
    for (std::size_t g = 0; g < n; add(g++)) offer(feature, Sign::less, g, emit);
  }

 private:
  struct Pair {  // a group with two classes
    std::uint32_t code;
    Units a, b;
  };
  struct Group {  // a range of entries
    std::uint32_t code, begin, end;
  };
  struct Entry {
    std::uint32_t class_index;
    Units weight;
  };

  bool group(std::uint32_t feature);
  void gather(const Column& column);
  void count_cells(const Column& column);
  void group_cells(std::uint32_t low, std::size_t range);
  void group_by_counting();
  void group_by_sorting();

  bool of_two() const { return classes_.size() == 2; }
  std::size_t n_groups() const { return of_two() ? pairs_.size() : groups_.size(); }
  std::uint32_t code_of(std::size_t g) const { return of_two() ? pairs_[g].code : groups_[g].code; }
  std::size_t groups_before(std::uint32_t code) const;

  // The child of the groups in a range.
  void start_with(std::size_t first, std::size_t last);

  void add(std::size_t g) {
    if (of_two()) {
      a_ += pairs_[g].a;
      b_ += pairs_[g].b;
      return;
    }
    for (std::uint32_t e = groups_[g].begin; e < groups_[g].end; ++e)
      child_.add(gain_, entries_[e].class_index, entries_[e].weight);
  }

  template <class Emit>
  void offer(std::uint32_t feature, Sign sign, std::size_t g, Emit&& emit) const {
    const Units count = of_two() ? a_ + b_ : child_.total;
    if (count < least_) return;
    const LazyTest test{feature, sign, code_of(g)};
    if (of_two()) return emit(LazyCandidate{test, -gain_.ratio(a_, b_), true, count});
    const bool exact = child_.is_pure() && !gain_.has_prior();
    emit(LazyCandidate{test, exact ? gain_.most() : child_.estimate(gain_), exact, count});
  }

  // Categorical tests drop one group each.
  template <class Emit>
  void without_each(std::uint32_t feature, Emit&& emit) {
    start_with(0, n_groups());
    for (std::size_t g = 0; g < n_groups(); ++g) {
      change(g, -1);
      offer(feature, Sign::differs, g, emit);
      change(g, +1);
    }
  }
  void change(std::size_t g, int sign);

  const LazyData& data_;
  double gain_prior_;
  Units least_;

  std::span<const RowId> rows_;
  std::vector<ClassId> classes_;
  std::vector<Units> counts_;
  Units total_ = 0;
  NodeGain gain_;
  GrowingChild child_;
  Units a_ = 0, b_ = 0;  // the child where there are two classes

  // By position in rows_.
  std::vector<std::uint32_t> class_index_;
  std::vector<Units> weight_;

  // The rows with a known value of the feature, and what they are grouped into.
  std::vector<std::uint32_t> codes_, positions_;
  std::uint32_t low_ = 0, high_ = 0;
  std::vector<Pair> pairs_;
  std::vector<Group> groups_;
  std::vector<Entry> entries_;

  // Scratch.
  std::vector<std::uint32_t> index_of_class_, starts_;
  std::vector<Units> count_of_class_, cells_;
  std::vector<std::uint64_t> sorted_;
};

}  // namespace petiole
