#include "boost/columns.hpp"

#include <algorithm>

#include "tree/narrow_steps.hpp"

namespace petiole::boosting {
namespace {

constexpr std::int32_t kMostCategories = 65535;  // with the code for missing they fit into sixteen bits

// The smallest and the largest value of each code.
void take_values(petiole::Column&& coded, BoostColumns::Column& column) {
  if (!coded.bin_low.empty()) {
    column.low = std::move(coded.bin_low);
    column.high = std::move(coded.bin_high);
  } else {
    coded.values.resize(column.n_codes);
    column.low = column.high = std::move(coded.values);
  }
}

}  // namespace

double BoostColumns::Column::threshold_after(std::uint32_t code) const {
  // Prediction is quicker in single precision, where there is such a number between the two.
  const double middle = midpoint(high[code], low[code + 1]), narrow = round_down(middle);
  return narrow >= high[code] ? narrow : middle;
}

BoostColumns::BoostColumns(const Matrix& matrix, const std::vector<double>& weights,
                           const std::vector<std::int32_t>& n_categories, std::uint32_t max_bins, ThreadPool& pool,
                           Interrupt& interrupt)
    : n_rows_(static_cast<RowId>(matrix.n_rows)) {
  for (const std::int32_t n : n_categories)
    if (n > kMostCategories) throw std::invalid_argument("a column has more than 65,535 categories");
  Dataset dataset;
  dataset.matrix = matrix;
  dataset.weights = weights;
  dataset.labels.resize(n_rows_);
  code_columns(dataset, n_categories, {.max_bins = std::min(max_bins, kMostBins)}, pool, interrupt);
  bool narrow = true;
  for (petiole::Column& coded : dataset.columns) {
    Column column{coded.n_codes, n_bins_, coded.categorical, coded.has_missing, {}, {}};
    if (!coded.categorical) take_values(std::move(coded), column);
    n_bins_ += column.n_bins();
    narrow &= column.n_bins() <= 256;
    columns_.push_back(std::move(column));
  }
  ++n_bins_;
  if (narrow)
    pack(dataset, narrow_);
  else
    pack(dataset, wide_);
}

template <class Word>
void BoostColumns::pack(const Dataset& dataset, std::vector<Word>& words) const {
  words.assign(static_cast<std::size_t>(n_groups()) * n_rows_, 0);
  for (int j = 0; j < n_columns(); ++j) {
    Word* const group = words.data() + static_cast<std::size_t>(j / kGroup) * n_rows_;
    const int shift = kCodeBits<Word> * (j % kGroup);
    dataset.columns[static_cast<std::size_t>(j)].codes.visit([&](const auto* codes) {
      for (RowId row = 0; row < n_rows_; ++row) group[row] |= static_cast<Word>(codes[row]) << shift;
    });
  }
}

}  // namespace petiole::boosting
