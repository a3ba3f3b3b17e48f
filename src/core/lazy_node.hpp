// One node of a lazy tree: its rows, and every test that could be made there with the gain it would have.
//
// For an attribute the rows are put in groups of equal code, in order. A child is the groups on one side of a value, so
// walking the groups away from the query's place adds rows to a child and meets each test once.
#pragma once

#include "lazy_data.hpp"

namespace petiole {

// Class counts of a child that grows by groups of rows.
class GrowingChild {
 public:
  Units total = 0;
  std::uint64_t hash = 0;

  void reset(std::size_t n_classes) {
    counts_.assign(n_classes, 0);
    total = 0;
    hash = 0;
    n_present_ = 0;
  }

  // Rows that are added before `settle` cost an addition each.
  void count(std::size_t k, Units weight) {
    counts_[k] += weight;
    total += weight;
  }

  void settle(const NodeGain& gain) {
    if (gain.of_two()) return;
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
    if (gain.of_two()) return;
    sum_ += gain.share(k, weight);
    term_sum_ += gain.term(k, after) - gain.term(k, before);
    n_present_ += before == 0;
  }

  void rank(const NodeGain& gain, Candidate& candidate) const {
    candidate.exact = gain.of_two() || (n_present_ == 1 && !gain.has_prior());
    if (gain.of_two()) candidate.rank = -gain.ratio(counts_[0], counts_[1]);
    else candidate.rank = candidate.exact ? gain.most() : gain.from_sums(sum_, term_sum_);
  }

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

  std::span<const RowId> rows() const { return rows_; }
  std::span<const ClassId> classes() const { return classes_; }  // those that occur, and their weights
  std::span<const Units> counts() const { return counts_; }
  Units total() const { return total_; }
  const NodeGain& gain() const { return gain_; }

  // Whether a test could be admissible at all.
  bool can_branch() const { return classes_.size() > 1 && total_ > least_; }

  // Calls emit(candidate) for the tests on an attribute that are true at a place. Children below the least weight are
  // left out; gains of zero are not.
  template <class Emit>
  void tests_at(std::uint32_t attribute, const Place& place, Emit&& emit) {
    if (!place.known || !group(attribute)) return;
    if (data_.dataset.columns[attribute].nominal) {
      without_each(attribute, [&](const Candidate& c) {
        if (c.test.code != place.lower) emit(c);
      });
      return;
    }
    std::size_t below = 0, from = groups_.size();
    while (below < groups_.size() && groups_[below].code < place.lower) ++below;
    while (from > below && groups_[from - 1].code >= place.upper) --from;
    start_with(below, groups_.size());
    for (std::size_t g = below; g-- > 0;) {
      offer(attribute, Sign::greater, groups_[g].code, emit);
      if (g > 0) add(groups_[g]);
    }
    start_with(0, from);
    for (std::size_t g = from; g < groups_.size(); ++g) {
      offer(attribute, Sign::less, groups_[g].code, emit);
      if (g + 1 < groups_.size()) add(groups_[g]);
    }
  }

  // The same for all places at once: all tests with a sign, the smallest child first.
  template <class Emit>
  void all_tests(std::uint32_t attribute, Emit&& emit) {
    if (!group(attribute)) return;
    if (data_.dataset.columns[attribute].nominal) return without_each(attribute, emit);
    const std::size_t n = groups_.size();
    start_with(0, 0);
    for (std::size_t g = n; g-- > 1;) {
      add(groups_[g]);
      offer(attribute, Sign::greater, groups_[g - 1].code, emit);
    }
    start_with(0, 0);
    for (std::size_t g = 0; g + 1 < n; ++g) {
      add(groups_[g]);
      offer(attribute, Sign::less, groups_[g + 1].code, emit);
    }
  }

 private:
  struct Group {
    std::uint32_t code, begin, end;  // a range of entries
    std::uint64_t hash;
  };
  struct Entry {
    std::uint32_t class_index;
    Units weight;
  };

  bool group(std::uint32_t attribute);
  void gather(std::uint32_t attribute);
  void group_by_cells();
  void group_by_counting();
  void group_by_sorting();

  void add(const Group& group) {
    for (std::uint32_t e = group.begin; e < group.end; ++e) child_.add(gain_, entries_[e].class_index, entries_[e].weight);
    child_.hash += group.hash;
  }

  void start_with(std::size_t first, std::size_t last) {
    child_.reset(classes_.size());
    for (std::size_t g = first; g < last; ++g) {
      for (std::uint32_t e = groups_[g].begin; e < groups_[g].end; ++e)
        child_.count(entries_[e].class_index, entries_[e].weight);
      child_.hash += groups_[g].hash;
    }
    child_.settle(gain_);
  }

  template <class Emit>
  void offer(std::uint32_t attribute, Sign sign, std::uint32_t code, Emit&& emit) {
    if (child_.total < least_) return;
    Candidate candidate{{attribute, sign, code}, 0, false, child_.total, child_.hash, -1};
    child_.rank(gain_, candidate);
    emit(candidate);
  }

  // Nominal tests drop one group each.
  template <class Emit>
  void without_each(std::uint32_t attribute, Emit&& emit) {
    start_with(0, groups_.size());
    for (const Group& group : groups_) {
      without(group, -1);
      child_.settle(gain_);
      offer(attribute, Sign::differs, group.code, emit);
      without(group, +1);
    }
  }

  void without(const Group& group, int sign) {
    for (std::uint32_t e = group.begin; e < group.end; ++e)
      child_.count(entries_[e].class_index, sign * entries_[e].weight);
    child_.hash += sign < 0 ? 0 - group.hash : group.hash;
  }

  const LazyData& data_;
  double gain_prior_;
  Units least_;

  std::span<const RowId> rows_;
  std::vector<ClassId> classes_;
  std::vector<Units> counts_;
  Units total_ = 0;
  NodeGain gain_;
  GrowingChild child_;

  // By position in rows_.
  std::vector<std::uint32_t> class_index_;
  std::vector<Units> weight_;
  std::vector<std::uint64_t> key_;

  // The rows with a known value of the attribute, and what they are grouped into.
  std::vector<std::uint32_t> codes_, positions_;
  std::uint32_t low_ = 0, high_ = 0;
  std::vector<Group> groups_;
  std::vector<Entry> entries_;

  // Scratch.
  std::vector<std::uint32_t> index_of_class_, starts_;
  std::vector<Units> count_of_class_, cells_;
  std::vector<std::uint64_t> cell_hash_, sorted_;
};

}  // namespace petiole
