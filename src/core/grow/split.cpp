#include "grow/split.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "grow/cell_scan.hpp"
#include "grow/group_scan.hpp"
#include "grow/two_class_scan.hpp"

namespace petiole {

// C4.5 asks more of both sides of a numeric cut in large nodes: a tenth of the mean class size, at most 25.
double least_side(const SearchContext& context, double known_weight) {
  const double least = context.options->min_samples_leaf;
  if (context.options->criterion != Criterion::gain_ratio) return least;
  return std::clamp(0.1 * known_weight / context.n_classes, least, std::max(25.0, least));
}

double split_info(std::initializer_list<double> branches) {
  double total = 0, sum = 0;
  for (const double weight : branches) {
    total += weight;
    sum += n_log2_n(weight);
  }
  return total > 0 ? (n_log2_n(total) - sum) / total : 0.0;
}

void correct_gain(Candidate& candidate, std::uint32_t tries, double node_weight) {
  candidate.gain -= std::log2(tries) / node_weight;
  candidate.found = candidate.gain > kTie;
}

Candidate numeric_candidate(const SearchContext& context, const Cut& cut, double mass, double split_weight,
                            double node_weight) {
  Candidate candidate;
  candidate.found = cut.found;
  candidate.gain = (mass - cut.mass) / split_weight;
  if (context.options->criterion != Criterion::gain_ratio) return candidate;
  candidate.split_info = split_info({cut.left, split_weight - cut.left});
  correct_gain(candidate, cut.tries, node_weight);
  return candidate;
}

namespace {

// The search for one feature's candidate at one node, for one criterion.
template <class C>
class Search {
 public:
  using W = typename C::Weight;

  Search(const SearchContext& context, NodeView<W>& node, const C& criterion, SearchScratch<W>& scratch)
      : context_(context), options_(*context.options), node_(node), criterion_(criterion), scratch_(scratch) {
    const auto scale = scale_of(node_);
    for (int k = 0; k < node_.n_classes(); ++k)
      split_weight_ += static_cast<double>(scale(k, node_.class_totals[static_cast<std::size_t>(k)]));
    cell_width_ = cell_width(static_cast<std::uint32_t>(node_.n_classes()));
  }

  // Candidates of n columns of the frame.
  void find(const std::int32_t* columns, std::size_t n, Candidate* candidates) {
    std::array<CellColumn, kColumnsAtOnce> together;
    std::size_t n_together = 0, n_cells = 0;
    const auto flush = [&] {
      find_by_cells(together.data(), n_together, candidates);
      n_together = n_cells = 0;
    };
    for (std::size_t i = 0; i < n; ++i) {
      const FrameColumn& column = node_.frame->columns[static_cast<std::size_t>(columns[i])];
      if (fits_cells(column)) {
        const std::size_t more = (std::size_t{column.n_codes} + 1) * cell_width_;
        if (n_together > 0 && (n_together == kColumnsAtOnce || n_cells + more > kCellsAtOnce)) flush();
        together[n_together++] = {&column, i, nullptr};
        n_cells += more;
      } else {
        candidates[i] = find_alone(column);
      }
    }
    flush();
    for (std::size_t i = 0; i < n; ++i) candidates[i].column = columns[i];
  }

  Candidate find(const FrameColumn& column) {
    Candidate candidate;
    if (fits_cells(column)) {
      CellColumn alone{&column, 0, nullptr};
      find_by_cells(&alone, 1, &candidate);
      return candidate;
    }
    return find_alone(column);
  }

  std::vector<std::uint32_t> left_codes(const Candidate& candidate) {
    const FrameColumn& column = node_.frame->columns[static_cast<std::size_t>(candidate.column)];
    column.codes->visit([&](const auto* codes) { group_by_code(node_, column, codes, scratch_); });
    Sums known, missing;
    order_by_share(participants(column, !separate(), known, missing), candidate.order_class);
    std::vector<std::uint32_t> left;
    for (std::uint32_t g = 0; g < candidate.cut; ++g) left.push_back(scratch_.groups.code[scratch_.order[g]]);
    return left;
  }

 private:
  struct Sums {  // in the criterion's scale, except true_weight
    double mass = 0, weight = 0, true_weight = 0;
  };

  Candidate find_alone(const FrameColumn& column) {
    node_.number_labels();
    return column.categorical ? categorical(column) : numeric(column);
  }

  Candidate numeric(const FrameColumn& column) {
    return column.codes->visit([&](const auto* codes) {
      if (node_.n_classes() != 2 || is_ordered(column)) return numeric_many(column, codes);
      if constexpr (std::is_same_v<W, double>) {
        return numeric_two<RealPair>(column, codes);
      } else {
        // The narrowest counters that hold the heaviest code: the fewer bytes, the more of them stay in the first cache.
        const double most = std::min(column.heaviest_code, node_.weight);
        if (most <= Packed<std::uint16_t>::kMost) return numeric_two<Packed<std::uint16_t>>(column, codes);
        if (most <= Packed<std::uint32_t>::kMost) return numeric_two<Packed<std::uint32_t>>(column, codes);
        return numeric_two<Packed<std::uint64_t>>(column, codes);
      }
    });
  }

  Candidate categorical(const FrameColumn& column) {
    column.codes->visit([&](const auto* codes) { group_by_code(node_, column, codes, scratch_); });
    return options_.nominal_splits == NominalSplits::multiway ? multiway(column) : binary(column);
  }

  // In which direction the share of the ordered class must go along a column.
  int sign_of(const FrameColumn& column) const {
    if (column.is_made) return column.sign;
    return options_.signs.empty() ? 0 : options_.signs[static_cast<std::size_t>(column.feature)];
  }
  bool is_ordered(const FrameColumn& column) const { return node_.ordered_class >= 0 && sign_of(column) != 0; }

  bool fits_cells(const FrameColumn& column) const {
    if constexpr (std::is_same_v<W, double>) return false;
    return !column.categorical && node_.n_classes() > 2 && !is_ordered(column) && node_.weight <= kMostCellWeight &&
           std::uint64_t{column.n_codes} * cell_width_ <= kNarrowCellsPerRow * node_.n;
  }

  void find_by_cells(CellColumn* columns, std::size_t n, Candidate* candidates) {
    if constexpr (!std::is_same_v<W, double>) {
      lay_out_cells(columns, n);
      const auto is_narrow = [](const CellColumn& c) { return c.column->codes->width() == 1; };
      const bool at_once = n == kColumnsAtOnce && std::all_of(columns, columns + n, is_narrow);
      if (n > 1 && !at_once) node_.number_labels();  // there will be several passes
      if (node_.local_class != nullptr)
        count_columns<true>(columns, n, at_once);
      else
        count_columns<false>(columns, n, at_once);
      for (std::size_t c = 0; c < n; ++c) candidates[columns[c].position] = numeric_by_cells(columns[c]);
    }
  }

  template <bool kLookUp>
  void count_columns(const CellColumn* columns, std::size_t n, bool at_once) {
    if (at_once) return count_cells<kColumnsAtOnce, kLookUp, W, std::uint8_t>(node_, columns, cell_width_);
    for (std::size_t c = 0; c < n; ++c)
      columns[c].column->codes->visit(
          [&]<class Code>(Code*) { count_cells<1, kLookUp, W, Code>(node_, columns + c, cell_width_); });
  }

  void lay_out_cells(CellColumn* columns, std::size_t n) {
    std::size_t n_cells = 0;
    for (std::size_t c = 0; c < n; ++c) n_cells += (std::size_t{columns[c].column->n_codes} + 1) * cell_width_;
    if (scratch_.cell_table.size() < n_cells) scratch_.cell_table.resize(n_cells);
    Cell* next = scratch_.cell_table.data();
    for (std::size_t c = 0; c < n; ++c) {
      columns[c].cells = next;
      next += (std::size_t{columns[c].column->n_codes} + 1) * cell_width_;
    }
  }

  Candidate numeric_by_cells(const CellColumn& table) {
    scratch_.right_counts = node_.class_totals;
    Sums known = node_sums(), missing;
    if (table.column->has_missing && set_missing_apart(table)) {
      missing = sums_of(scratch_.branch_counts);
      scratch_.branch_counts = scratch_.right_counts;
      known = sums_of(scratch_.branch_counts);
    }
    const Cut cut = walk_cells(criterion_, table, cell_width_, static_cast<std::uint32_t>(known.true_weight),
                               limits(least_side(context_, known.true_weight)), scratch_);
    Candidate candidate = numeric_candidate(*table.column, cut, known, missing);
    keep_left(*table.column, scratch_.best_left.data(), candidate);
    return candidate;
  }

  // Keeps the classes' weights on the left of a cut, if the counts of the children follow from them.
  template <class T>
  void keep_left(const FrameColumn& column, const T* weights, Candidate& candidate) {
    if (std::is_same_v<W, double> || column.has_missing || column.is_made || !candidate.found) return;
    const auto n_classes = static_cast<std::size_t>(node_.n_classes());
    W* to = scratch_.left_of_cut.row(node_.frame->index_of(column), n_classes);
    std::copy_n(weights, n_classes, to);
    candidate.left_known = true;
  }

  // Moves the missing rows' weights from scratch.right_counts to scratch.branch_counts. Returns whether there are any.
  bool set_missing_apart(const CellColumn& table) {
    zeroed_branch_counts();
    bool any = false;
    take_cells(table.cells + std::size_t{table.column->n_codes} * cell_width_, cell_width_,
               [&](std::uint32_t k, std::uint32_t weight) {
                 scratch_.branch_counts[k] = weight;
                 scratch_.right_counts[k] -= weight;
                 any = true;
               });
    return any;
  }

  // Of all rows of the node.
  const Sums& node_sums() {
    if (node_sums_.weight > 0) return node_sums_;
    scratch_.branch_counts = node_.class_totals;
    return node_sums_ = sums_of(scratch_.branch_counts);
  }

  bool separate() const { return options_.missing == Missing::separate; }
  bool by_ratio() const { return options_.criterion == Criterion::gain_ratio; }

  // Sums of a vector of true class weights, which is scaled in place.
  Sums sums_of(std::vector<W>& counts) const {
    Sums sums;
    const auto scale = scale_of(node_);
    for (std::size_t k = 0; k < counts.size(); ++k) {
      sums.true_weight += static_cast<double>(counts[k]);
      counts[k] = scale(static_cast<int>(k), counts[k]);
      sums.weight += static_cast<double>(counts[k]);
    }
    sums.mass = criterion_.real(mass_of(criterion_, counts.data(), static_cast<int>(counts.size())));
    return sums;
  }

  Sums sums_of_two(W zero, W one) {
    if (zero + one <= 0) return {};
    scratch_.branch_counts = {zero, one};
    return sums_of(scratch_.branch_counts);
  }

  CutLimits limits(double min_side) const { return {min_side, split_weight_}; }

  template <class Pair, class Code>
  Candidate numeric_two(const FrameColumn& column, const Code* codes) {
    const Pair missing = count_two_classes<Pair>(node_, column, codes, scratch_);
    const W known_zero = node_.class_totals[0] - missing.zero(), known_one = node_.class_totals[1] - missing.one();
    const double known_weight = static_cast<double>(known_zero) + static_cast<double>(known_one);
    const Cut cut = walk_two_classes<Pair>(node_, column, ClassPair<W>{known_zero, known_one}, criterion_,
                                           limits(least_side(context_, known_weight)), scratch_);
    if (!column.has_missing && !cut.found) return {};
    Candidate candidate =
        numeric_candidate(column, cut, sums_of_two(known_zero, known_one), sums_of_two(missing.zero(), missing.one()));
    keep_left(column, cut.left_of_two, candidate);
    return candidate;
  }

  template <class Code>
  Candidate numeric_many(const FrameColumn& column, const Code* codes) {
    group_by_code(node_, column, codes, scratch_);
    Sums known, missing;
    scratch_.order.resize(participants(column, true, known, missing));
    std::iota(scratch_.order.begin(), scratch_.order.end(), 0u);
    const CutLimits at_least = limits(least_side(context_, known.true_weight));
    Cut cut;
    if (is_ordered(column)) {
      const auto of_class = static_cast<double>(scratch_.right_counts[static_cast<std::size_t>(node_.ordered_class)]);
      const OrderedCut allowed(sign_of(column), node_.ordered_class, of_class);
      cut = walk_groups(node_, scratch_.order, criterion_, at_least, scratch_, allowed);
    } else {
      cut = walk_groups(node_, scratch_.order, criterion_, at_least, scratch_);
    }
    Candidate candidate = numeric_candidate(column, cut, known, missing);
    if (candidate.found && !candidate.known_or_missing) candidate.cut = scratch_.groups.code[cut.position - 1];
    return candidate;
  }

  Candidate numeric_candidate(const FrameColumn& column, Cut cut, const Sums& known, const Sums& missing) {
    Candidate candidate;
    candidate.found = cut.found;
    candidate.cut = cut.position;
    candidate.gain = cut.found ? (known.mass - cut.mass) / split_weight_ : 0.0;
    if (by_ratio()) candidate.split_info = split_info({cut.left, known.weight - cut.left, missing.weight});
    if (separate() && column.has_missing) separate_missing(candidate, cut, known, missing);
    if (candidate.found && by_ratio()) correct_gain(candidate, cut.tries, node_.weight);
    return candidate;
  }

  // Missing rows as a branch of their own: the gain counts it, and "known or missing" is one more cut.
  void separate_missing(Candidate& candidate, Cut& cut, const Sums& known, const Sums& missing) {
    const double all_mass = node_sums().mass;
    if (cut.found) candidate.gain = (all_mass - cut.mass - missing.mass) / split_weight_;
    const double least = options_.min_samples_leaf - kWeightSlack;
    if (known.true_weight < least || missing.true_weight < least) return;
    ++cut.tries;
    const double gain = (all_mass - known.mass - missing.mass) / split_weight_;
    if (candidate.found && gain <= candidate.gain + kTie) return;
    candidate.found = true;
    candidate.known_or_missing = true;
    candidate.gain = gain;
    candidate.split_info = split_info({known.weight, missing.weight});
  }

  std::vector<W>& zeroed_branch_counts() {
    scratch_.branch_counts.assign(static_cast<std::size_t>(node_.n_classes()), W{0});
    return scratch_.branch_counts;
  }

  void add_group(std::uint32_t g, std::vector<W>& counts) const {
    const Groups<W>& groups = scratch_.groups;
    for (std::uint32_t i = groups.start[g]; i < groups.start[g + 1]; ++i) counts[groups.label[i]] += groups.weight[i];
  }

  // True class weights of the groups that take part in a split go to scratch.right_counts; the group of the missing rows,
  // the last one, may be set apart. Returns how many groups take part.
  std::uint32_t participants(const FrameColumn& column, bool without_missing, Sums& known, Sums& missing) {
    const Groups<W>& groups = scratch_.groups;
    const bool set_apart = without_missing && groups.last_code() == column.n_codes;
    scratch_.right_counts = node_.class_totals;
    if (set_apart) {
      add_group(groups.size() - 1, zeroed_branch_counts());
      for (std::size_t k = 0; k < scratch_.right_counts.size(); ++k) scratch_.right_counts[k] -= scratch_.branch_counts[k];
      missing = sums_of(scratch_.branch_counts);
    }
    scratch_.branch_counts = scratch_.right_counts;
    known = sums_of(scratch_.branch_counts);
    return groups.size() - (set_apart ? 1 : 0);
  }

  Candidate multiway(const FrameColumn& column) {
    Sums known, missing;
    const std::uint32_t n_branches = participants(column, !separate(), known, missing);
    double mass = 0, log_sum = n_log2_n(missing.weight);
    int n_large = 0;
    for (std::uint32_t g = 0; g < n_branches; ++g) {
      add_group(g, zeroed_branch_counts());
      const Sums branch = sums_of(scratch_.branch_counts);
      mass += branch.mass;
      log_sum += n_log2_n(branch.weight);
      n_large += branch.true_weight >= options_.min_samples_leaf - kWeightSlack;
    }
    Candidate candidate;
    candidate.found = n_large >= 2;
    candidate.gain = (known.mass - mass) / split_weight_;
    candidate.split_info = (n_log2_n(split_weight_) - log_sum) / split_weight_;
    return candidate;
  }

  Candidate binary(const FrameColumn& column) {
    Sums known, missing;
    const std::uint32_t n_groups = participants(column, !separate(), known, missing);
    Candidate candidate;
    const std::vector<W> counts = scratch_.right_counts;
    for (const std::uint32_t k : ordering_classes()) {
      order_by_share(n_groups, k);
      scratch_.right_counts = counts;
      const Cut cut = walk_groups(node_, scratch_.order, criterion_, limits(options_.min_samples_leaf), scratch_);
      const double gain = (known.mass - cut.mass) / split_weight_;
      if (!cut.found || (candidate.found && gain <= candidate.gain + kTie)) continue;
      candidate.found = true;
      candidate.gain = gain;
      candidate.split_info = split_info({cut.left, known.weight - cut.left, missing.weight});
      candidate.cut = cut.position;
      candidate.order_class = k;
    }
    return candidate;
  }

  // Two classes need one ordering to find the best subset. More classes: the orderings by the share of each of the (at
  // most eight) heaviest classes at the node are tried.
  std::vector<std::uint32_t>& ordering_classes() {
    auto& classes = scratch_.heaviest;
    if (context_.n_classes == 2) return classes = {1}, classes;
    classes.resize(static_cast<std::size_t>(node_.n_classes()));
    std::iota(classes.begin(), classes.end(), 0u);
    std::stable_sort(classes.begin(), classes.end(), [&](std::uint32_t a, std::uint32_t b) {
      return static_cast<double>(node_.class_totals[a]) > static_cast<double>(node_.class_totals[b]) + kWeightSlack;
    });
    classes.resize(std::min<std::size_t>(classes.size(), 8));
    return classes;
  }

  void order_by_share(std::uint32_t n_groups, std::uint32_t k) {
    auto& share = scratch_.share;
    share.resize(n_groups);
    const auto scale = scale_of(node_);
    for (std::uint32_t g = 0; g < n_groups; ++g) {
      double of_class = 0, all = 0;
      for (std::uint32_t i = scratch_.groups.start[g]; i < scratch_.groups.start[g + 1]; ++i) {
        const ClassId y = scratch_.groups.label[i];
        const auto weight = static_cast<double>(scale(y, scratch_.groups.weight[i]));
        all += weight;
        if (y == k) of_class += weight;
      }
      // Rounded, so that shares which differ only by the rounding of their sums are equal.
      share[g] = std::round(of_class / all * 1e12);
    }
    scratch_.order.resize(n_groups);
    std::iota(scratch_.order.begin(), scratch_.order.end(), 0u);
    std::stable_sort(scratch_.order.begin(), scratch_.order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return share[a] < share[b]; });
  }

  const SearchContext& context_;
  const GrowOptions& options_;
  NodeView<W>& node_;
  const C& criterion_;
  SearchScratch<W>& scratch_;
  double split_weight_ = 0;
  std::uint32_t cell_width_ = 0;
  Sums node_sums_;
};

}  // namespace

template <class W>
void find_candidates(const SearchContext& context, NodeView<W>& node, const std::int32_t* columns, std::size_t n,
                     SearchScratch<W>& scratch, Candidate* candidates) {
  with_criterion<W>(context, [&]<class C>(const C& criterion) {
    Search<C>(context, node, criterion, scratch).find(columns, n, candidates);
  });
}

template <class W>
Candidate find_candidate(const SearchContext& context, NodeView<W>& node, const FrameColumn& column,
                         SearchScratch<W>& scratch) {
  return with_criterion<W>(
      context, [&]<class C>(const C& criterion) { return Search<C>(context, node, criterion, scratch).find(column); });
}

template <class W>
std::vector<std::uint32_t> left_codes(const SearchContext& context, NodeView<W>& node, const Candidate& candidate,
                                      SearchScratch<W>& scratch) {
  return with_criterion<W>(context, [&]<class C>(const C& criterion) {
    return Search<C>(context, node, criterion, scratch).left_codes(candidate);
  });
}

template void find_candidates(const SearchContext&, NodeView<std::uint32_t>&, const std::int32_t*, std::size_t,
                              SearchScratch<std::uint32_t>&, Candidate*);
template void find_candidates(const SearchContext&, NodeView<double>&, const std::int32_t*, std::size_t,
                              SearchScratch<double>&, Candidate*);
template Candidate find_candidate(const SearchContext&, NodeView<std::uint32_t>&, const FrameColumn&,
                                  SearchScratch<std::uint32_t>&);
template Candidate find_candidate(const SearchContext&, NodeView<double>&, const FrameColumn&, SearchScratch<double>&);
template std::vector<std::uint32_t> left_codes(const SearchContext&, NodeView<std::uint32_t>&, const Candidate&,
                                               SearchScratch<std::uint32_t>&);
template std::vector<std::uint32_t> left_codes(const SearchContext&, NodeView<double>&, const Candidate&,
                                               SearchScratch<double>&);

}  // namespace petiole
