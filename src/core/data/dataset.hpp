// Coding: every column becomes integer codes once per fit, and all trees of a fit share them.
//
// A numeric column is coded by the dense rank of its values, or by quantile bins of those ranks; a categorical column by
// its category. Codes of known values are 0..n_codes-1 in increasing order of value; the code n_codes means missing.
#pragma once

#include <algorithm>
#include <span>

#include "base/codes.hpp"
#include "base/interrupt.hpp"
#include "base/parallel.hpp"
#include "base/types.hpp"

namespace petiole {

struct Column {
  Codes codes;
  std::uint32_t n_codes = 0;
  bool categorical = false;
  bool has_missing = false;
  double heaviest_code = std::numeric_limits<double>::infinity();  // no code has more weight than this
  std::vector<double> bin_low, bin_high;  // only with bins: the smallest and the largest value in each bin
  std::vector<double> values;             // only without bins and with few codes: the value of each
  std::vector<double> distinct;           // only when asked for: the sorted distinct values
};

struct CodingOptions {
  std::uint32_t max_bins = 0;  // 0: exact, one code per distinct value
  bool keep_distinct = false;
};

struct Dataset {
  Matrix matrix;
  std::vector<Column> columns;
  std::vector<ClassId> labels;
  std::vector<double> weights;  // empty: every row weighs 1
  int n_classes = 0;

  RowId n_rows() const { return static_cast<RowId>(labels.size()); }
  double weight(RowId row) const { return weights.empty() ? 1.0 : weights[row]; }
};

// Fills dataset.columns from dataset.matrix; n_categories[j] is 0 for a numeric column.
void code_columns(Dataset& dataset, const std::vector<std::int32_t>& n_categories, const CodingOptions& options,
                  ThreadPool& pool, Interrupt& interrupt);

// Whether all labels are classes from 0 to n_classes - 1.
inline bool are_classes(std::span<const std::int32_t> labels, int n_classes) {
  return std::all_of(labels.begin(), labels.end(), [=](std::int32_t label) { return 0 <= label && label < n_classes; });
}

// A column that was coded elsewhere.
struct CodedColumn {
  std::span<const std::uint32_t> codes;  // of each row
  std::uint32_t n_codes = 0;
  bool categorical = false;
  bool has_missing = false;  // somewhere in the data, if not in these rows
  std::vector<double> low, high, distinct;
};

// Packs its codes. Throws std::invalid_argument if a code is too large or a numeric code lacks its values.
Column to_column(CodedColumn&& coded);

// The midpoint of two neighbouring values, kept below the upper one when rounding would reach it.
inline double midpoint(double low, double high) {
  const double middle = low + (high - low) / 2;
  return middle < high ? middle : low;
}

}  // namespace petiole
