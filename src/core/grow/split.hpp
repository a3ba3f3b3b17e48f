// The best split: one candidate per feature, then the choice among them.
#pragma once

#include "grow/cells.hpp"
#include "grow/options.hpp"
#include "grow/partition.hpp"

namespace petiole {

// The rows of a node in the form for the search. Classes are numbered among those present at the node, so a node with
// two classes left is a two-class problem whatever the dataset has.
template <class W>
struct NodeView {
  const Frame* frame = nullptr;
  const Entry<W>* entries = nullptr;
  std::uint32_t n = 0;
  const ClassId* local_class = nullptr;  // the number of each label of the entries; null: labels are such numbers
  std::vector<W> class_totals;           // true weights per local class
  std::vector<double> class_scale;       // split_class_weight per local class; all 1 without
  double weight = 0;                     // sum of true weights
  int ordered_class = -1;                // that of GrowOptions as a local class; -1: it is absent, or none matters

  int n_classes() const { return static_cast<int>(class_totals.size()); }

  // Makes the labels of the entries local. Callers that can look them up need not call it: it takes a pass over the rows.
  void number_labels() {
    if (local_class == nullptr) return;
    if (numbered_.size() < n) numbered_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) numbered_[i] = {entries[i].row, local_class[entries[i].label], entries[i].weight};
    entries = numbered_.data();
    local_class = nullptr;
  }

 private:
  Entries<W> numbered_;
};

// Plain numbers: there is one for each feature of each node.
struct Candidate {
  bool found = false;
  bool known_or_missing = false;  // numeric: the test is whether the value is known
  bool left_known = false;        // SearchScratch::left_of_cut has what goes left
  std::int32_t column = -1;       // of the frame
  double gain = 0;
  double split_info = 0;
  std::uint32_t cut = 0;          // numeric: codes <= cut go left; categorical binary: so many codes do,
  std::uint32_t order_class = 0;  // those with the smallest shares of this class of the node
};

// The data of the search beyond the node.
struct SearchContext {
  const GrowOptions* options = nullptr;
  const LogTable* log_table = nullptr;  // whole-number weights only
  int n_classes = 0;                    // of the dataset
  double dataset_weight = 0;
  bool all_many_valued = false;           // C4.5: every feature has too many values for the average gain
  std::vector<std::uint8_t> many_valued;  // per feature
};

// Rows grouped by code: entries of group g are label/weight[start[g] .. start[g+1]). An entry is a row, or the rows of one
// class together.
template <class W>
struct Groups {
  std::vector<std::uint32_t> code, start;  // room for more than size()
  std::vector<ClassId> label;
  std::vector<W> weight;

  std::uint32_t size() const { return n_groups_; }
  std::uint32_t last_code() const { return code[n_groups_ - 1]; }

  // Makes room for n rows and forgets the groups.
  void reserve(std::uint32_t n) {
    n_groups_ = 0;
    if (label.size() >= n) return;
    code.resize(n);
    start.resize(std::size_t{n} + 1);
    label.resize(n);
    weight.resize(n);
  }
  void start_group(std::uint32_t of_code, std::uint32_t at) {
    code[n_groups_] = of_code;
    start[n_groups_++] = at;
  }
  void finish(std::uint32_t end) { start[n_groups_] = end; }

 private:
  std::uint32_t n_groups_ = 0;
};

// Two classes: the weights to the left of cuts, and for each a code from which codes are on its right.
template <class W>
struct Boundaries {
  std::vector<W> zero, one;
  std::vector<std::uint32_t> code;

  void resize(std::size_t n) {
    zero.resize(n);
    one.resize(n);
    code.resize(n);
  }
};

// A row of numbers for each column of a frame.
template <class W>
class RowsByColumn {
 public:
  W* row(std::size_t column, std::size_t width) {
    if (rows_.size() <= column) rows_.resize(column + 1);
    if (rows_[column].size() < width) rows_[column].resize(width);
    return rows_[column].data();
  }

 private:
  std::vector<std::vector<W>> rows_;
};

// Per-thread buffers of the search. Counters and cells are all zero and the code set is empty between calls.
template <class W>
struct SearchScratch {
  CodeSet present;
  std::vector<std::uint64_t> counters;
  Boundaries<W> boundaries;
  std::vector<std::int64_t> whole_masses;
  std::vector<double> masses;
  std::vector<W> cells;
  std::vector<Cell> cell_table, cell_totals, cell_left;
  std::vector<W> best_left;     // of the best cut of a column, by class of the node
  RowsByColumn<W> left_of_cut;  // the same for the candidates that have it
  Groups<W> groups;
  std::vector<W> left_counts, right_counts, branch_counts;
  std::vector<std::uint32_t> order, heaviest;
  std::vector<double> share;
};

// Candidates of n columns.
template <class W>
void find_candidates(const SearchContext& context, NodeView<W>& node, const std::int32_t* columns, std::size_t n,
                     SearchScratch<W>& scratch, Candidate* candidates);

// The candidate of one column, which need not belong to the frame; the caller sets its position.
template <class W>
Candidate find_candidate(const SearchContext& context, NodeView<W>& node, const FrameColumn& column,
                         SearchScratch<W>& scratch);

// The codes that go left in a categorical binary split.
template <class W>
std::vector<std::uint32_t> left_codes(const SearchContext& context, NodeView<W>& node, const Candidate& candidate,
                                      SearchScratch<W>& scratch);

// The index of the chosen candidate, or -1. `key` seeds the draw among equals.
int choose(const SearchContext& context, const Frame& frame, const std::vector<Candidate>& candidates, std::uint64_t key);

}  // namespace petiole
