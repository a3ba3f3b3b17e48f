// Data that the lazy trees of all queries and samples share: coded columns, labels, weights in whole units.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "base/random.hpp"
#include "data/dataset.hpp"
#include "lazy/gain.hpp"

namespace petiole {

enum class CousinRule { none, siblings, strict };

struct LazyTreeOptions {
  int max_tests = 3;
  double min_gain = 0.2;
  double min_samples_leaf = 2;
  CousinRule cousin_rule = CousinRule::siblings;
  double gain_prior = 0;  // pseudo-rows like the node's, added to each child before its gain is taken
  double path_prior = 0;  // pseudo-rows like the parent's answer, added to each node before it answers
  std::size_t max_nodes = std::numeric_limits<std::size_t>::max();  // further nodes take their best option only
  std::uint32_t share_from = 1024;  // a node of so many rows is worth evaluating for all queries at once
  // Each option costs about as much as looking at the rows of its node and a hundred more, and a sixteenth of a row for
  // each row and class. Once the options of a tree have cost so many rows, further nodes take their best option only, and
  // none after twice as many. 0: that of `default_row_budget`.
  std::uint64_t row_budget = 0;

  // So much that a tree takes seconds at most, and more than 50 nodes of 3 options can ever cost.
  static std::uint64_t default_row_budget(std::size_t n_rows) { return 10'000'000 + 1000 * std::uint64_t{n_rows}; }
  static std::uint64_t cost_of_option(std::size_t n_rows, std::size_t n_classes) {
    return std::uint64_t{n_rows} + 100 + std::uint64_t{n_rows} * std::min(n_rows, n_classes) / 16;
  }
};

enum class Sign : std::uint8_t { greater, less, differs };

// A test that is true for the query: `feature sign value`, the value being that of a code. Missing values fail it.
struct LazyTest {
  std::uint32_t feature = 0;
  Sign sign = Sign::greater;
  std::uint32_t code = 0;

  bool operator==(const LazyTest&) const = default;
  bool holds(std::uint32_t c, std::uint32_t missing) const {
    if (c == missing) return false;
    return sign == Sign::greater ? c > code : sign == Sign::less ? c < code : c != code;
  }
};

// The training data. The dataset must be coded with its distinct values; its matrix is not read any more.
struct LazyData {
  Dataset dataset;
  std::vector<Units> weights;  // empty: every row weighs one unit
  double unit = 1;
  Units tie = 1;  // weights that differ by less, rounded, are equal: thirds have no exact multiple of any unit
  std::vector<double> log2_table;   // of whole numbers; 0 for 0
  std::vector<std::uint64_t> keys;  // a random number for each row; the sum over a set of rows is its hash

  explicit LazyData(Dataset&& coded) : dataset(std::move(coded)) {
    measure_weights();
    log2_table.resize(std::min<std::size_t>(4 * std::size_t{dataset.n_rows()} + 1024, kLargestTable));
    for (std::size_t n = 1; n < log2_table.size(); ++n) log2_table[n] = std::log2(static_cast<double>(n));
    for (RowId row = 0; row < dataset.n_rows(); ++row) keys.push_back(derive_key(kRowKeys, row));
  }

  Units weight(RowId row) const { return weights.empty() ? 1 : weights[row]; }

  // A weight, or a number of pseudo-rows, as a multiple of the unit. Larger values are clamped without overflow.
  double in_units(double weight) const { return std::clamp(weight / unit, 0.0, 1e300); }
  static Units rounded(double units) { return std::llround(std::min(units, 0x1p62)); }

 private:
  static constexpr std::size_t kLargestTable = std::size_t{1} << 22;
  // Keys of rows must not be `mix` of small numbers: derive_key mixes those in, and the two would cancel.
  static constexpr std::uint64_t kRowKeys = 0x6c617a79726f7773ULL;

  // Whole weights are their own units. Others become multiples of a power of two so small that a sum over any sample
  // keeps within the 53 bits of a double: sums are then exact, whatever their order.
  void measure_weights() {
    if (dataset.weights.empty()) return;
    double largest = 0;
    bool whole = true;
    for (const double w : dataset.weights) {
      largest = std::max(largest, w);
      whole = whole && w == std::floor(w);
    }
    const double log_of_most = std::log2(largest) + std::log2(static_cast<double>(dataset.n_rows()));
    if (!whole || log_of_most >= 52) unit = std::exp2(std::max(std::ceil(log_of_most) - 52, -1000.0));
    for (const double w : dataset.weights) weights.push_back(std::max<Units>(1, rounded(in_units(w))));
    tie = std::max<Units>(1, rounded(in_units(kWeightSlack)));
  }
};

// One bootstrap sample: the rows in it, and the weight of each by row.
struct LazyBag {
  std::vector<RowId> rows;
  std::vector<Units> weight;
  std::uint64_t hash = 0;

  LazyBag(const LazyData& data, const std::vector<std::uint32_t>& copies) : weight(data.dataset.n_rows(), 0) {
    for (RowId row = 0; row < weight.size(); ++row) {
      const Units n = copies.empty() ? 1 : static_cast<Units>(copies[row]);
      if (n == 0) continue;
      weight[row] = n * data.weight(row);
      rows.push_back(row);
      hash += data.keys[row];
    }
  }
};

// Where a query's value lies among a feature's codes: those below `lower` are smaller, those from `upper` on larger.
struct Place {
  std::uint32_t lower = 0, upper = 0;
  bool known = false;
  double value = 0;
};

// A test with what is known about the rows that satisfy it, before anyone has looked at them.
struct LazyCandidate {
  LazyTest test;
  double rank = 0;     // orders by gain, up to the slack unless exact
  bool exact = false;  // the rank follows from whole numbers and nothing else
  Units count = 0;
};

// A test with its exact gain, and a hash of the set of rows that satisfy it (0: not looked at yet).
struct LazyOption {
  LazyTest test;
  std::int64_t units = 0;
  Units count = 0;
  std::uint64_t hash = 0;
};

}  // namespace petiole
