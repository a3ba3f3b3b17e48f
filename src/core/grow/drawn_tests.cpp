#include "grow/drawn_tests.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

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

DrawnTests::DrawnTests(const Dataset& dataset, const GrowOptions& options) : dataset_(dataset), options_(options) {
  if (options.splits != Splits::oblique) return;
  weight_.assign(dataset.columns.size(), 0.0);
  position_.resize(dataset.columns.size());
  for (std::size_t j = 0; j < dataset.columns.size(); ++j) {
    if (!dataset.columns[j].categorical) weight_[j] = weight_in_sums(dataset, static_cast<std::int64_t>(j));
    position_[j] = summable_.size();
    if (weight_[j] > 0) summable_.push_back(static_cast<std::int32_t>(j));
  }
}

bool DrawnTests::replaces(const FrameColumn& column) const {
  switch (options_.splits) {
    case Splits::oblique:
      return weight_[static_cast<std::size_t>(column.feature)] > 0 && summable_.size() > 1;
    case Splits::random:
      return !column.categorical || options_.nominal_splits == NominalSplits::binary;
    default:
      return false;
  }
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
}

void DrawnColumn::start(const DrawnTests& tests, std::uint64_t node_key, const FrameColumn& column, std::uint32_t n) {
  tests_ = &tests;
  feature_ = column.feature;
  column_ = &tests.dataset().columns[static_cast<std::size_t>(feature_)];
  key_ = derive_key(derive_key(node_key, kTests), static_cast<std::uint64_t>(feature_));
  projection_.clear();
  if (!tests.draws_cuts()) tests.draw_projection(key_, feature_, projection_);
  value_.resize(n);
  code_.resize(n);
  if (column_->categorical) category_.resize(n);
  varies_ = has_missing_ = false;
}

void DrawnColumn::read(std::uint32_t i, RowId row) {
  const Matrix& matrix = tests_->dataset().matrix;
  const double cell = matrix.at(row, feature_);
  if (i == 0) first_ = cell;
  varies_ |= !(cell == first_ || (std::isnan(cell) && std::isnan(first_)));
  double value = cell;
  if (!projection_.empty()) value = projected(projection_, matrix, row);
  if (column_->categorical) {
    category_[i] = std::isnan(cell) && tests_->missing_is_a_category() ? column_->n_codes : cell;
    value = place_of(category_[i]);
  }
  value_[i] = value;
  has_missing_ |= std::isnan(value);
}

// Categories are put in random places, so that cutting at random makes two random sets of them.
double DrawnColumn::place_of(double category) const {
  return std::isnan(category) ? category : fraction(derive_key(key_, static_cast<std::uint64_t>(category) + 1));
}

void DrawnColumn::code_values() {
  if (!varies_) {  // it would only be its partner's test
    std::fill(code_.begin(), code_.end(), 0);
    has_missing_ = false;
    n_codes_ = 1;
  } else if (tests_->draws_cuts()) {
    code_by_cut();
  } else {
    code_by_rank();
  }
}

void DrawnColumn::code_by_rank() {
  sorted_.clear();
  for (std::uint32_t i = 0; i < value_.size(); ++i)
    if (!std::isnan(value_[i])) sorted_.push_back({value_[i], i});
  std::sort(sorted_.begin(), sorted_.end(), [](const Placed& a, const Placed& b) { return a.value < b.value; });
  distinct_.clear();
  for (const Placed& placed : sorted_) {
    if (distinct_.empty() || distinct_.back() != placed.value) distinct_.push_back(placed.value);
    code_[placed.at] = static_cast<std::uint32_t>(distinct_.size() - 1);
  }
  n_codes_ = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(distinct_.size()));
  if (!has_missing_) return;
  for (std::uint32_t i = 0; i < value_.size(); ++i)
    if (std::isnan(value_[i])) code_[i] = n_codes_;
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
  for (std::uint32_t i = 0; i < value_.size(); ++i)
    code_[i] = std::isnan(value_[i]) ? n_codes_ : n_codes_ == 2 && value_[i] > cut_;
}

void DrawnColumn::describe(std::uint32_t low, std::uint32_t high, SplitRule& rule) const {
  rule.projection = projection_;
  if (column_->categorical)
    describe_subset(rule);
  else
    rule.threshold = tests_->draws_cuts() ? cut_ : midpoint(distinct_[low], distinct_[high]);
}

// Both sets of categories. Those that are absent here are treated as missing.
void DrawnColumn::describe_subset(SplitRule& rule) const {
  std::vector<std::int32_t> branch(std::size_t{column_->n_codes} + 1, -1);
  for (std::uint32_t i = 0; i < value_.size(); ++i)
    if (!std::isnan(value_[i])) branch[static_cast<std::size_t>(category_[i])] = value_[i] > cut_;
  if (tests_->missing_is_a_category()) rule.missing_branch = branch.back();
  rule.category_branch.assign(branch.begin(), branch.end() - 1);
}

void DrawnColumn::describe(const Candidate& candidate, SplitRule& rule) const {
  if (candidate.known_or_missing)
    rule.projection = projection_;
  else
    describe(candidate.cut, candidate.cut + 1, rule);
}

}  // namespace petiole
