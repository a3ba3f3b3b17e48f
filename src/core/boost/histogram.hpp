// Histograms: for each code of each column the sum of a node's rows.
#pragma once

#include <span>

#include "boost/columns.hpp"
#include "boost/sums.hpp"

namespace petiole::boosting {

using Histogram = std::vector<Sum>;  // as long as BoostColumns::n_bins() says

// Fills the bins of a group's columns (those that are `wanted`) with the sums of some rows; sums[i] belongs to rows[i].
void fill_group(const BoostColumns& columns, int group, const std::vector<std::uint8_t>& wanted, std::span<const RowId> rows,
                const Sum* sums, Histogram& histogram);

// Takes the histogram of one child from that of the parent, which becomes that of the other child; only bins of these columns.
void subtract(const BoostColumns& columns, const std::vector<int>& wanted, const Histogram& child, Histogram& parent);

}  // namespace petiole::boosting
