#include "grow/whole_weights.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace petiole {

bool weights_stay_whole(const Dataset& dataset, Multiplicity multiplicity, const GrowOptions& options) {
  if (!options.class_scale.empty()) return false;
  const auto has_missing = [](const Column& column) { return column.has_missing; };
  if (options.missing == Missing::fractional && std::any_of(dataset.columns.begin(), dataset.columns.end(), has_missing))
    return false;
  double total = dataset.n_rows(), heaviest = 1;
  if (!dataset.weights.empty()) {
    total = 0;
    for (RowId row = 0; row < dataset.n_rows(); ++row) {
      const double weight = dataset.weights[row];
      if (weight != std::floor(weight)) return false;
      const double of_copies = multiplicity.empty() ? weight : weight * multiplicity[row];
      total += of_copies;
      heaviest = std::max(heaviest, of_copies);
    }
  } else if (!multiplicity.empty()) {
    total = static_cast<double>(std::accumulate(multiplicity.begin(), multiplicity.end(), std::uint64_t{0}));
    heaviest = *std::max_element(multiplicity.begin(), multiplicity.end());
  }
  return heaviest <= Entry<std::uint32_t>::kMostWeight && total <= std::max<double>(1 << 22, 2.0 * dataset.n_rows());
}

}  // namespace petiole
