#include "boost/split.hpp"

#include <algorithm>
#include <array>

namespace petiole::boosting {
namespace {

// Gains are equal if they differ by less than this share of themselves, because sums are rounded, and this share of the
// parent's score, because they are small differences of such scores.
constexpr double kEqual = 1e-9, kRounding = 1e-12;
// No Newton step is longer, in units of the score: where Hessians almost vanish, it could be any number.
constexpr double kLongestStep = 30;

// Four at a time, because each comparison waits for the one before.
double largest(const double* values, std::size_t n) {
  std::array<double, 4> most{};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) most[lane] = std::max(most[lane], values[i + lane]);
  for (; i < n; ++i) most[0] = std::max(most[0], values[i]);
  return std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
}

}  // namespace

// The best of the cuts of a column that have been tried.
class SplitSearch::Candidates {
 public:
  Candidates(const SplitSearch& search, const Sum& total)
      : search_(search),
        options_(search.options_),
        sum_(total),
        total_(search.units_.moments(total)),
        parent_(total_.gradient * total_.gradient / (total_.hessian + options_.l2)) {}

  const Sum& total() const { return sum_; }

  // Tries all cuts of a column: lefts[i], which grow with i, and the missing rows are to the left of cut i. There is room
  // for as many scores. With a sign, only those after which scores rise (1) or fall (-1).
  void try_cuts(std::span<const Sum> lefts, std::span<const std::uint32_t> cuts, const Sum& missing_left, bool missing_right,
                double* scores, double l2, int sign = 0) {
    const auto small_left = [&](const Sum& left) { return !is_large_enough(left + missing_left); };
    const auto large_right = [&](const Sum& left) { return is_large_enough(sum_ - left - missing_left); };
    const auto first = std::partition_point(lefts.begin(), lefts.end(), small_left);
    const auto end = std::partition_point(first, lefts.end(), large_right);
    const auto n = static_cast<std::size_t>(end - first);
    for (std::size_t done = 0; done < n; done += kChunk)
      fill_scores(first + static_cast<std::ptrdiff_t>(done), std::min(kChunk, n - done), missing_left, l2, scores + done);
    if (sign != 0) leave_out_others(first, n, missing_left, l2, sign, scores);
    const double most = largest(scores, n);
    const double gain = most - parent_;
    if (!(gain > kEqual * parent_) || !(gain > best_.gain + best_.slack)) return;
    const double slack = kEqual * gain + kRounding * parent_, enough = most - slack;
    std::size_t i = 0;
    while (scores[i] < enough) ++i;
    const auto at = static_cast<std::size_t>(first - lefts.begin()) + i;
    best_ = {gain, slack, -1, cuts[at], missing_right, lefts[at] + missing_left};
  }

  Split best(int column) {
    if (best_.gain > 0) best_.column = column;
    return best_;
  }

 private:
  bool is_large_enough(const Sum& side) const {
    return search_.units_.weight(side) >= options_.min_samples_leaf && search_.units_.hessian(side) >= options_.min_hessian;
  }

  static constexpr std::size_t kChunk = 256;

  // The sum of both sides' G² / (H + λ) for some cuts; loops that do one thing each, several numbers at a time.
  template <class Iterator>
  void fill_scores(Iterator lefts, std::size_t n, const Sum& missing_left, double l2, double* scores) const {
    std::array<double, kChunk> gradient, hessian;
    for (std::size_t i = 0; i < n; ++i) {
      const Sum left = lefts[static_cast<std::ptrdiff_t>(i)] + missing_left;
      gradient[i] = search_.units_.gradient(left);
      hessian[i] = search_.units_.hessian(left);
    }
    const double whole_gradient = total_.gradient, whole_hessian = total_.hessian + l2;
    for (std::size_t i = 0; i < n; ++i) {
      const double left = gradient[i], right = whole_gradient - left;
      const double below_left = hessian[i] + l2, below_right = whole_hessian - hessian[i];
      scores[i] = (left * left * below_right + right * right * below_left) / (below_left * below_right);
    }
  }

  template <class Iterator>
  void leave_out_others(Iterator lefts, std::size_t n, const Sum& missing_left, double l2, int sign, double* scores) const {
    for (std::size_t i = 0; i < n; ++i) {
      const Moments left = search_.units_.moments(lefts[static_cast<std::ptrdiff_t>(i)] + missing_left);
      const double on_left = -left.gradient / (left.hessian + l2);
      const double on_right = (left.gradient - total_.gradient) / (total_.hessian - left.hessian + l2);
      if (sign * (on_right - on_left) < 0) scores[i] = 0;
    }
  }

  const SplitSearch& search_;
  const BoostOptions& options_;
  const Sum sum_;
  const Moments total_;
  const double parent_;
  Split best_;
};

const Split& SplitSearch::better(const Split& first, const Split& second) {
  if (!first.exists()) return second;
  return second.exists() && second.gain > first.gain + first.slack ? second : first;
}

Split SplitSearch::find(int j, const Sum& total, const Histogram& histogram) const {
  const BoostColumns::Column& column = columns_[j];
  Candidates found(*this, total);
  const Sum* const bins = histogram.data() + column.first_bin;
  if (column.categorical)
    find_categorical(column, bins, found);
  else
    find_numeric(column, bins, options_.signs.empty() ? 0 : options_.signs[static_cast<std::size_t>(j)], found);
  return found.best(j);
}

// Rows without a value go to the right, then to the left. A cut after the last code has all known values on the left.
void SplitSearch::find_numeric(const BoostColumns::Column& column, const Sum* bins, int sign, Candidates& found) const {
  const Sum missing = column.has_missing ? bins[column.n_codes] : Sum{};
  std::array<Sum, BoostColumns::kMostBins + 1> lefts;
  std::array<std::uint32_t, BoostColumns::kMostBins + 1> cuts;
  std::array<double, BoostColumns::kMostBins + 1> scores;
  if (column.n_codes == 0) return;  // no value is known
  std::size_t n = 0;
  Sum left{};
  for (std::uint32_t code = 0; code < column.n_codes; ++code) {  // no branch on whether a code occurs
    left += bins[code];
    lefts[n] = left;
    cuts[n] = code;
    n += (bins[code].gradient | bins[code].rest) != 0;
  }
  found.try_cuts({lefts.data(), n}, {cuts.data(), n}, {}, true, scores.data(), options_.l2, sign);
  if (missing != Sum{}) found.try_cuts({lefts.data(), n}, {cuts.data(), n}, missing, false, scores.data(), options_.l2, sign);
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
    ratio[code] =
        (units_.gradient(bins[code]) + smoothing * all.gradient) / (units_.hessian(bins[code]) + smoothing * all.hessian);
    order.push_back(code);
  }
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return ratio[a] < ratio[b]; });
  return order;
}

// A missing value is one more category. That the order was chosen by the gradients makes gains look better than they are, so
// each side is shrunk as if rows without gradient were there; two categories have only one order.
void SplitSearch::find_categorical(const BoostColumns::Column& column, const Sum* bins, Candidates& found) const {
  std::vector<Sum> lefts;
  std::vector<std::uint32_t> cuts;
  Sum left{};
  for (const std::uint32_t category : ordered_categories(column, bins, found.total())) {
    lefts.push_back(left += bins[category]);
    cuts.push_back(static_cast<std::uint32_t>(lefts.size()));
  }
  std::vector<double> scores(lefts.size());
  const Moments all = units_.moments(found.total());
  const double penalty = lefts.size() > 2 ? options_.category_smoothing * all.hessian / all.weight : 0;
  found.try_cuts(lefts, cuts, {}, false, scores.data(), options_.l2 + penalty);
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
  if (!(std::abs(step) <= kLongestStep))
    return all.gradient == 0 ? 0 : options_.learning_rate * std::copysign(kLongestStep, step);
  return options_.learning_rate * step;
}

double SplitSearch::curvature(const Sum& total) const { return units_.hessian(total) + options_.l2; }

bool SplitSearch::is_large_enough(const Sum& total) const {
  const Moments all = units_.moments(total);
  return all.weight >= 2 * options_.min_samples_leaf && all.hessian >= 2 * options_.min_hessian;
}

}  // namespace petiole::boosting
