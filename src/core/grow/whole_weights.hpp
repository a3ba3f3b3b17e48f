// Whether a sample's weights can be counted in whole numbers, which is faster and exact.
#pragma once

#include "grow/grow.hpp"

namespace petiole {

// Whole-number arithmetic serves unless weights get divided or scaled, or are too large for its tables.
bool weights_stay_whole(const Dataset& dataset, Multiplicity multiplicity, const GrowOptions& options);

}  // namespace petiole
