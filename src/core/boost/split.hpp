// The best split of a node, from its histogram.
//
// The gain of a split is G_L²/(H_L + λ) + G_R²/(H_R + λ) − G²/(H + λ), twice the decrease of the loss by a Newton step
// at the leaves, to second order (Chen & Guestrin 2016, equation 7).
#pragma once

#include "boost/histogram.hpp"
#include "boost/options.hpp"

namespace petiole::boosting {

struct Split {
  double gain = 0;   // 0: there is none
  double slack = 0;  // a gain that is larger by no more than this is equal
  int column = -1;
  std::uint32_t cut = 0;  // numeric: the last code on the left; categorical: how many categories, in order, are on the left
  bool missing_right = false;
  Sum left{};

  bool exists() const { return column >= 0; }
};

class SplitSearch {
 public:
  SplitSearch(const BoostColumns& columns, const BoostOptions& options, const FixedPoint& units)
      : columns_(columns), options_(options), units_(units) {}

  // The best split at one column, given the sum of the node's rows.
  Split find(int column, const Sum& total, const Histogram& histogram) const;

  // The better of two splits; in a tie, the first.
  static const Split& better(const Split& first, const Split& second);

  // For each code of the split's column whether it goes to the right. Codes that no row of the node has go where missing
  // values go; if no row of the node lacks the value, these go where most rows go.
  std::vector<std::uint8_t> table(const Split& split, const Sum& total, const Histogram& histogram) const;

  // The number that a leaf adds to the scores of its rows.
  double leaf_value(const Sum& total) const;
  // The curvature of the loss at a leaf, by which its value counts beside those of others.
  double curvature(const Sum& total) const;
  double weight(const Sum& total) const { return units_.weight(total); }
  // Whether a node with this sum may be split at all.
  bool is_large_enough(const Sum& total) const;

 private:
  class Candidates;
  void find_numeric(const BoostColumns::Column& column, const Sum* bins, int sign, Candidates& found) const;
  void find_categorical(const BoostColumns::Column& column, const Sum* bins, Candidates& found) const;
  // The categories that occur, by ratio of gradient and Hessian.
  std::vector<std::uint32_t> ordered_categories(const BoostColumns::Column& column, const Sum* bins, const Sum& total) const;

  const BoostColumns& columns_;
  const BoostOptions& options_;
  FixedPoint units_;
};

}  // namespace petiole::boosting
