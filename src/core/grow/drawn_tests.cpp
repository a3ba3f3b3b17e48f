#include "grow/drawn_tests.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "tree/order.hpp"

namespace petiole {
namespace {

// Beside the numbers of a node's children, which its key is mixed with as well.
constexpr std::uint64_t kTests = std::uint64_t{1} << 40;
// Values further from zero than this many standard deviations leave nothing but rounding errors in a sum.
constexpr double kMostDeviations = 1e12;

// Uniform in [0, 1).
double fraction(std::uint64_t key) { return static_cast<double>(mix(key) >> 11) * 0x1p-53; }

// One divided by the standard deviation of a column, as a power of two: products with it are then exact, and sums do not
// depend on how a compiler rounds them. 0 if the column is constant or its numbers are too large.
double weight_in_sums(const Dataset& dataset, std::int64_t feature) {
  double weight = 0, mean = 0, squares = 0, largest = 0;
  for (RowId row = 0; row < dataset.n_rows(); ++row) {
    const double value = dataset.matrix.at(row, feature), of_row = dataset.weight(row);
    if (std::isnan(value) || of_row <= 0) continue;
    weight += of_row;
    const double distance = value - mean;
    mean += distance * (of_row / weight);
    squares += of_row * distance * (value - mean);
    largest = std::max(largest, std::abs(value));
  }
  const double deviation = std::sqrt(squares / weight);
  if (!(deviation > 0) || !std::isfinite(deviation) || !(largest < kMostDeviations * deviation)) return 0;
  const double power = std::ldexp(1.0, -static_cast<int>(std::lround(std::log2(deviation))));
  return std::isnormal(power) ? power : 0;
}

}  // namespace

DrawnTests::DrawnTests(const Dataset& dataset, const GrowOptions& options)
    : dataset_(dataset), options_(options), any_(options.splits != Splits::best) {
  if (options.splits != Splits::oblique) return;
  weight_.assign(dataset.columns.size(), 0.0);
  position_.resize(dataset.columns.size());
  for (std::size_t j = 0; j < dataset.columns.size(); ++j) {
    if (!dataset.columns[j].categorical) weight_[j] = weight_in_sums(dataset, static_cast<std::int64_t>(j));
    position_[j] = summable_.size();
    if (weight_[j] > 0) summable_.push_back(static_cast<std::int32_t>(j));
  }
}

bool DrawnTests::is_drawn(const FrameColumn& column) const {
  if (draws_cuts()) return !column.categorical || options_.nominal_splits == NominalSplits::binary;
  return weight_[static_cast<std::size_t>(column.feature)] > 0 && summable_.size() > 1;
}

void DrawnTests::draw_projection(std::uint64_t test_key, std::int32_t feature,
                                 std::vector<ProjectionTerm>& projection) const {
  Random random(test_key);
  std::size_t other = random.below(static_cast<std::uint32_t>(summable_.size() - 1));
  other += other >= position_[static_cast<std::size_t>(feature)];
  const std::int32_t partner = summable_[other];
  const double sign = random.below(2) == 0 ? 1 : -1;
  projection = {{feature, weight_[static_cast<std::size_t>(feature)]},
                {partner, sign * weight_[static_cast<std::size_t>(partner)]}};
  // Terms that both have a direction point in the same one.
  if (!options_.signs.empty() && sign_of_sum(projection, options_.signs) == kBothWays) projection[1].weight *= -1;
}

int DrawnTests::sign_of(std::int32_t feature, const std::vector<ProjectionTerm>& projection) const {
  if (options_.signs.empty()) return 0;
  return projection.empty() ? options_.signs[static_cast<std::size_t>(feature)] : sign_of_sum(projection, options_.signs);
}

void DrawnColumn::make(const DrawnTests& tests, std::uint64_t node_key, const FrameColumn& column) {
  tests_ = &tests;
  feature_ = column.feature;
  column_ = &tests.dataset().columns[static_cast<std::size_t>(feature_)];
  key_ = derive_key(derive_key(node_key, kTests), static_cast<std::uint64_t>(feature_));
  projection_.clear();
  if (!tests.draws_cuts()) tests.draw_projection(key_, feature_, projection_);
  sign_ = tests.sign_of(feature_, projection_);
  tests.dataset().matrix.visit([this](const auto* data) { read_values(data); });
  code_.resize(row_.size());
  if (!varies_) {  // it would be a test of its partner alone
    std::fill(code_.begin(), code_.end(), 0);
    has_missing_ = false;
    n_codes_ = 1;
  } else if (tests.draws_cuts()) {
    code_by_cut();
  } else {
    code_by_rank();
  }
}

template <class T>
void DrawnColumn::read_values(const T* data) {
  const Matrix& matrix = tests_->dataset().matrix;
  const std::size_t n = row_.size();
  const T* cells = data + feature_ * matrix.column_stride;
  const auto cell = [&](std::size_t i) { return static_cast<double>(cells[row_[i] * matrix.row_stride]); };
  value_.resize(n);
  const double first = cell(0);
  bool any_other = false, any_missing = false;
  for (std::size_t i = 0; i < n; ++i) {
    value_[i] = cell(i);
    any_other |= value_[i] != first;
    any_missing |= std::isnan(value_[i]);
  }
  const auto is_nan = [](double value) { return std::isnan(value); };
  varies_ = any_other && !(any_missing && std::all_of(value_.begin(), value_.end(), is_nan));
  if (column_->categorical) {
    category_ = value_;
    const bool own = tests_->missing_is_a_category();
    for (double& category : category_) category = own && std::isnan(category) ? column_->n_codes : category;
    std::transform(category_.begin(), category_.end(), value_.begin(), [this](double of) { return place_of(of); });
  } else if (!projection_.empty()) {
    for (std::size_t i = 0; i < n; ++i)
      value_[i] = projected(projection_.data(), projection_.size(), data + row_[i] * matrix.row_stride, matrix.column_stride);
  }
  has_missing_ = std::any_of(value_.begin(), value_.end(), is_nan);
}

// Categories are put in random places, so that cutting at random makes two random sets of them.
double DrawnColumn::place_of(double category) const {
  return std::isnan(category) ? category : fraction(derive_key(key_, static_cast<std::uint64_t>(category) + 1));
}

void DrawnColumn::code_by_rank() {
  if (value_.size() <= kTwigRows)
    count_smaller();
  else
    rank_in_buckets();
  for (std::size_t i = 0; has_missing_ && i < value_.size(); ++i)
    if (std::isnan(value_[i])) code_[i] = n_codes_;
}

// Few values need not be ranked: codes may skip numbers.
void DrawnColumn::count_smaller() {
  n_codes_ = static_cast<std::uint32_t>(value_.size());
  for (std::size_t i = 0; i < value_.size(); ++i) {
    const double here = value_[i];
    std::uint32_t n_smaller = 0;
    for (const double value : value_) n_smaller += value < here;
    code_[i] = n_smaller;
  }
}

// As many buckets of equal width as values, each sorted by itself: mostly a few values, or equal ones.
void DrawnColumn::rank_in_buckets() {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : value_) {
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  const auto n_buckets = static_cast<std::uint32_t>(value_.size());
  const double scale = (n_buckets - 1) / (high - low);
  const bool one_bucket = !std::isfinite(scale);
  bucket_.resize(value_.size());
  start_.assign(std::size_t{n_buckets} + 1, 0);
  for (std::size_t i = 0; i < value_.size(); ++i) {
    if (std::isnan(value_[i])) continue;
    bucket_[i] = one_bucket ? 0 : std::min(n_buckets - 1, static_cast<std::uint32_t>((value_[i] - low) * scale));
    ++start_[bucket_[i] + 1];
  }
  std::partial_sum(start_.begin(), start_.end(), start_.begin());
  sorted_.resize(value_.size());
  for (std::uint32_t i = 0; i < value_.size(); ++i)
    if (!std::isnan(value_[i])) sorted_[start_[bucket_[i]]++] = {value_[i], i};
  // Now start_[b] is where bucket b ends.
  std::uint32_t begin = 0, code = 0;
  for (std::uint32_t b = 0; b < n_buckets; begin = start_[b++]) {
    const auto first = sorted_.begin() + begin, end = sorted_.begin() + start_[b];
    if (first == end) continue;
    const auto differs = [&](const Placed& placed) { return placed.value != first->value; };
    if (std::any_of(first, end, differs))
      std::sort(first, end, [](const Placed& a, const Placed& b) { return a.value < b.value; });
    double last = first->value;
    for (auto placed = first; placed != end; last = placed++->value) code_[placed->at] = code += placed->value != last;
    ++code;
  }
  n_codes_ = std::max<std::uint32_t>(1, code);
}

void DrawnColumn::code_by_cut() {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : value_) {
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  n_codes_ = low < high ? 2 : 1;
  cut_ = std::lerp(low, high, fraction(key_));
  if (!(cut_ < high)) cut_ = low;
  for (std::size_t i = 0; i < value_.size(); ++i) code_[i] = value_[i] > cut_;
  for (std::size_t i = 0; has_missing_ && i < value_.size(); ++i)
    if (std::isnan(value_[i])) code_[i] = n_codes_;
}

void DrawnColumn::describe(std::uint32_t cut, SplitRule& rule) const {
  rule.projection = projection_;
  if (column_->categorical)
    describe_subset(rule);
  else
    rule.threshold = tests_->draws_cuts() ? cut_ : threshold(cut);
}

void DrawnColumn::describe(const Candidate& candidate, SplitRule& rule) const {
  if (candidate.known_or_missing)
    rule.projection = projection_;
  else
    describe(candidate.cut, rule);
}

double DrawnColumn::threshold(std::uint32_t cut) const {
  double low = -std::numeric_limits<double>::infinity(), high = -low;
  for (std::size_t i = 0; i < value_.size(); ++i) {
    if (code_[i] <= cut)
      low = std::max(low, value_[i]);
    else if (!std::isnan(value_[i]))
      high = std::min(high, value_[i]);
  }
  return midpoint(low, high);
}

// Both sets of categories. Those that are absent here are treated as missing.
void DrawnColumn::describe_subset(SplitRule& rule) const {
  std::vector<std::int32_t> branch(std::size_t{column_->n_codes} + 1, -1);
  for (std::size_t i = 0; i < value_.size(); ++i)
    if (!std::isnan(value_[i])) branch[static_cast<std::size_t>(category_[i])] = value_[i] > cut_;
  if (tests_->missing_is_a_category()) rule.missing_branch = branch.back();
  rule.category_branch.assign(branch.begin(), branch.end() - 1);
}

}  // namespace petiole
