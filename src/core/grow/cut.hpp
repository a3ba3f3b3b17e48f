// A cut of an ordered feature, and the common parts of all searches: its bounds, the criterion, the scale of weights.
//
// There are three searches. With two classes (two_class_scan.hpp) and for small tables of codes and classes
// (cell_scan.hpp) nothing is sorted: rows are counted by code, and the codes are walked in order. Else the rows are
// grouped by code first, and the groups are walked in a given order (group_scan.hpp).
#pragma once

#include <cmath>
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
  double mass = 0;                 // of the two sides
  double left = 0;                 // weight on the left, in the criterion's scale
  double left_of_two[2] = {0, 0};  // walk_two_classes: true weights of the classes on the left
};

// C4.5 asks more of both sides of a numeric cut in large nodes: a tenth of the mean class size, at most 25.
double least_side(const SearchContext& context, double known_weight);

double split_info(std::initializer_list<double> branches);

// C4.5: the gain of a numeric feature is reduced because it was chosen among several cuts.
void correct_gain(Candidate& candidate, std::uint32_t tries, double node_weight);

// The candidate of a numeric feature without missing values: `mass` is the node's, `split_weight` its weight in the
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

// Weights for the criterion: true weights times the class's scale. Counts are never scaled.
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

}  // namespace petiole
