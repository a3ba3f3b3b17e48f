// How the rows of a node go to its children: the rule of a chosen split, by code.
#pragma once

#include <algorithm>

#include "grow/split.hpp"
#include "tree/tree.hpp"

namespace petiole {

struct Routing {
  SplitRule rule;
  int n_children = 0;
  std::vector<std::int32_t> branch_of_code;  // by code of the frame, missing last; n_children: to be divided
};

// Turns candidates into rules.
template <class W>
class RuleMaker {
 public:
  RuleMaker(const Dataset& dataset, const GrowOptions& options) : dataset_(dataset), options_(options) {}

  // Without branches by code if no value is missing: the cut is enough. The threshold is still to be set.
  Routing numeric(const NodeView<W>& node, const FrameColumn& column, const Candidate& candidate) const {
    Routing routing;
    routing.n_children = 2;
    if (!column.has_missing) return routing;
    auto& branch = routing.branch_of_code;
    if (candidate.known_or_missing) {
      branch.assign(std::size_t{column.n_codes} + 1, 0);
      branch.back() = routing.rule.missing_branch = 1;
      return routing;
    }
    branch.assign(std::size_t{column.n_codes} + 1, 1);
    std::fill_n(branch.begin(), candidate.cut + 1, 0);
    branch.back() = 2;
    if (options_.missing == Missing::separate && has_code(node, column, column.n_codes)) {
      routing.rule.missing_branch = 2;
      routing.n_children = 3;
    }
    return routing;
  }

  Routing categorical(const SearchContext& context, NodeView<W>& node, const FrameColumn& column, const Candidate& candidate,
                      SearchScratch<W>& scratch) const {
    const auto present = codes_present(node, column);
    Routing routing;
    auto& branch = routing.branch_of_code;
    branch.assign(present.size(), -1);
    if (options_.nominal_splits == NominalSplits::binary) {
      routing.n_children = 2;
      for (std::size_t code = 0; code < present.size(); ++code) branch[code] = present[code] ? 1 : -1;
      for (const std::uint32_t code : left_codes(context, node, candidate, scratch)) branch[code] = 0;
    } else {
      const bool separate = options_.missing == Missing::separate;
      const bool declared_missing = separate && dataset_.columns[static_cast<std::size_t>(column.feature)].has_missing;
      bool any_absent = false;
      for (std::size_t code = 0; code < present.size(); ++code) {
        const bool missing = code == column.n_codes;
        if (present[code] && !(missing && !separate))
          branch[code] = routing.n_children++;
        else
          any_absent |= missing ? declared_missing : !present[code];
      }
      // All values that are absent here share one empty leaf.
      if (any_absent) {
        for (std::size_t code = 0; code < present.size(); ++code)
          if (branch[code] < 0 && (code < column.n_codes || declared_missing)) branch[code] = routing.n_children;
        ++routing.n_children;
      }
    }
    routing.rule.category_branch.assign(branch.begin(), branch.end() - 1);
    if (options_.missing == Missing::separate)
      routing.rule.missing_branch = branch.back();
    else
      branch.back() = routing.n_children;
    return routing;
  }

  // Between the values of two rows of the frame.
  double threshold(const Frame& frame, const FrameColumn& column, RowId low_row, RowId high_row) const {
    const Column& whole = dataset_.columns[static_cast<std::size_t>(column.feature)];
    const RowId low = frame.dataset_row(low_row), high = frame.dataset_row(high_row);
    double middle = 0;
    if (!whole.values.empty())
      middle = midpoint(whole.values[whole.codes.at(low)], whole.values[whole.codes.at(high)]);
    else if (!whole.bin_low.empty())
      middle = midpoint(whole.bin_high[whole.codes.at(low)], whole.bin_low[whole.codes.at(high)]);
    else
      middle = midpoint(dataset_.matrix.at(low, column.feature), dataset_.matrix.at(high, column.feature));
    if (!options_.thresholds_from_data) return middle;
    return *(std::upper_bound(whole.distinct.begin(), whole.distinct.end(), middle) - 1);
  }

  // Rows with the largest code on the left of the cut and with the smallest known one on its right.
  static std::pair<RowId, RowId> neighbours(const NodeView<W>& node, const FrameColumn& column, std::uint32_t cut) {
    return column.codes->visit([&](const auto* codes) {
      RowId low = 0, high = 0;
      std::uint32_t below = 0, above = column.n_codes;
      for (std::uint32_t i = 0; i < node.n; ++i) {
        const RowId row = node.entries[i].row;
        const std::uint32_t code = codes[row];
        if (code <= cut && code >= below) {
          below = code;
          low = row;
        } else if (code > cut && code < above) {
          above = code;
          high = row;
        }
      }
      return std::pair{low, high};
    });
  }

 private:
  static bool has_code(const NodeView<W>& node, const FrameColumn& column, std::uint32_t wanted) {
    return column.codes->visit([&](const auto* codes) {
      return std::any_of(node.entries, node.entries + node.n,
                         [&](const Entry<W>& entry) { return codes[entry.row] == wanted; });
    });
  }

  static std::vector<std::uint8_t> codes_present(const NodeView<W>& node, const FrameColumn& column) {
    std::vector<std::uint8_t> present(std::size_t{column.n_codes} + 1, 0);
    column.codes->visit([&](const auto* codes) {
      for (std::uint32_t i = 0; i < node.n; ++i) present[codes[node.entries[i].row]] = 1;
    });
    return present;
  }

  const Dataset& dataset_;
  const GrowOptions& options_;
};

}  // namespace petiole
