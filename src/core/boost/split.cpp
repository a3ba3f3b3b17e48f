#include "boost/split.hpp"

#include <algorithm>

namespace petiole::boosting {
namespace {

// Gains of which one is so little larger than the other, relative to it, are equal: the sums are rounded.
constexpr double kEqual = 1e-9;
// No Newton step is longer, in units of the score: where Hessians all but vanish, it would be any number.
constexpr double kLongestStep = 30;

}  // namespace

// The best of the splits of a column that have been tried.
class SplitSearch::Candidates {
 public:
  Candidates(const SplitSearch& search, const Sum& total)
      : search_(search), options_(search.options_), sum_(total), total_(search.units_.moments(total)),
        parent_(search.score(total_.gradient, total_.hessian)) {
    best_.gain = kEqual * parent_;
    beat_ = best_.gain;
  }

  const Sum& total() const { return sum_; }

  enum class Fit { too_small_left, too_small_right, good };

  // Tries the split with this sum on the left.
  Fit try_left(const Sum& sum, std::uint32_t cut, bool missing_right) {
    const Moments left = search_.units_.moments(sum);
    if (left.weight < options_.min_samples_leaf || left.hessian < options_.min_hessian) return Fit::too_small_left;
    const double right_weight = total_.weight - left.weight, right_hessian = total_.hessian - left.hessian;
    if (right_weight < options_.min_samples_leaf || right_hessian < options_.min_hessian) return Fit::too_small_right;
    const double right_gradient = total_.gradient - left.gradient;
    const double gain = search_.score(left.gradient, left.hessian) + search_.score(right_gradient, right_hessian) - parent_;
    if (gain > beat_) {
      best_ = {gain, 0, cut, missing_right, sum};
      beat_ = gain + kEqual * gain;
    }
    return Fit::good;
  }

  Split best(int column) {
    if (best_.exists()) best_.column = column;
    return best_;
  }

 private:
  const SplitSearch& search_;
  const BoostOptions& options_;
  const Sum sum_;
  const Moments total_;
  const double parent_;
  double beat_;
  Split best_;
};

const Split& SplitSearch::better(const Split& first, const Split& second) {
  if (!first.exists()) return second;
  return second.exists() && second.gain > first.gain + kEqual * first.gain ? second : first;
}

Split SplitSearch::find(int j, const Sum& total, const Histogram& histogram) const {
  const BoostColumns::Column& column = columns_[j];
  Candidates found(*this, total);
  const Sum* const bins = histogram.data() + column.first_bin;
  if (column.categorical) find_categorical(column, bins, found);
  else find_numeric(column, bins, found);
  return found.best(j);
}

// Two passes where rows lack the value: first these go to the right, then to the left. A cut after the last code has all
// known values on the left.
void SplitSearch::find_numeric(const BoostColumns::Column& column, const Sum* bins, Candidates& found) const {
  const Sum missing = column.has_missing ? bins[column.n_codes] : Sum{};
  const bool any_missing = missing != Sum{};
  const auto pass = [&](Sum left, bool missing_right) {
    const std::uint32_t end = any_missing && missing_right ? column.n_codes : std::max(column.n_codes, 1u) - 1;
    for (std::uint32_t code = 0; code < end; ++code) {
      if (bins[code] == Sum{}) continue;
      left += bins[code];
      if (found.try_left(left, code, missing_right) == Candidates::Fit::too_small_right) return;
    }
  };
  pass({}, true);
  if (any_missing) pass(missing, false);
}

std::vector<std::uint32_t> SplitSearch::ordered_categories(const BoostColumns::Column& column, const Sum* bins,
                                                           const Sum& total) const {
  const Moments all = units_.moments(total);
  const double smoothing = options_.category_smoothing / all.weight;
  const auto n = column.n_bins();
  std::vector<double> ratio(n);
  std::vector<std::uint32_t> order;
  for (std::uint32_t code = 0; code < n; ++code) {
    if (bins[code] == Sum{}) continue;
    ratio[code] = (units_.gradient(bins[code]) + smoothing * all.gradient) / (units_.hessian(bins[code]) + smoothing * all.hessian);
    order.push_back(code);
  }
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return ratio[a] < ratio[b]; });
  return order;
}

// A missing value is one more category.
void SplitSearch::find_categorical(const BoostColumns::Column& column, const Sum* bins, Candidates& found) const {
  const auto order = ordered_categories(column, bins, found.total());
  Sum left;
  for (std::uint32_t n_left = 1; n_left < order.size(); ++n_left) {
    left += bins[order[n_left - 1]];
    if (found.try_left(left, n_left, false) == Candidates::Fit::too_small_right) return;
  }
}

std::vector<std::uint8_t> SplitSearch::table(const Split& split, const Sum& total, const Histogram& histogram) const {
  const BoostColumns::Column& column = columns_[split.column];
  const Sum* const bins = histogram.data() + column.first_bin;
  const bool any_missing = column.has_missing && bins[column.n_codes] != Sum{};
  const bool heavier_right = units_.weight(split.left) < units_.weight(total - split.left);
  const bool missing_right = any_missing && !column.categorical ? split.missing_right : heavier_right;
  std::vector<std::uint8_t> right(std::size_t{column.n_codes} + 1, missing_right);
  if (column.categorical) {
    const auto order = ordered_categories(column, bins, total);
    for (std::size_t i = 0; i < order.size(); ++i) right[order[i]] = i >= split.cut;
    if (any_missing)
      for (std::uint32_t code = 0; code < column.n_codes; ++code)
        if (bins[code] == Sum{}) right[code] = right[column.n_codes];
    return right;
  }
  // Of the codes between two that occur, half go to either side.
  std::uint32_t next = split.cut + 1;
  while (next < column.n_codes && bins[next] == Sum{}) ++next;
  const std::uint32_t cut = next < column.n_codes ? split.cut + (next - 1 - split.cut) / 2 : column.n_codes - 1;
  for (std::uint32_t code = 0; code < column.n_codes; ++code) right[code] = code > cut;
  return right;
}

double SplitSearch::leaf_value(const Sum& total) const {
  const Moments all = units_.moments(total);
  const double step = -all.gradient / (all.hessian + options_.l2);
  if (!(std::abs(step) <= kLongestStep)) return all.gradient == 0 ? 0 : options_.learning_rate * std::copysign(kLongestStep, step);
  return options_.learning_rate * step;
}

bool SplitSearch::is_large_enough(const Sum& total) const {
  const Moments all = units_.moments(total);
  return all.weight >= 2 * options_.min_samples_leaf && all.hessian >= 2 * options_.min_hessian;
}

}  // namespace petiole::boosting
