// How trees are grown.
#pragma once

#include "base/types.hpp"
#include "grow/criterion.hpp"

namespace petiole {

enum class NominalSplits { multiway, binary };
enum class Missing { fractional, separate };
// The splits that are tried for a feature at a node: all its cuts, those of its sum with others, or one cut drawn at random.
enum class Splits { best, oblique, random };

struct GrowOptions {
  Criterion criterion = Criterion::entropy;
  Splits splits = Splits::best;
  NominalSplits nominal_splits = NominalSplits::multiway;
  Missing missing = Missing::fractional;
  int max_depth = std::numeric_limits<int>::max();
  double min_samples_leaf = 2;        // a weight: C4.5's MinObj
  int max_features = 0;               // 0: all
  bool redraw = true;                 // further features are drawn as long as none has a split
  double min_gain = 0;                // 0: also splits that gain nothing
  std::vector<double> class_scale;    // split_class_weight, one per class; empty: none
  bool thresholds_from_data = false;  // C4.5 lowers a threshold to a value of the training set
  bool random_ties = false;           // false: the first feature wins
  // Per feature 1 (-1) if the share of `ordered_class` must not fall (rise) along it; empty: nothing is demanded. Rows without
  // the value that a split tests then follow its heaviest branch, so that each is in one leaf.
  std::vector<std::int8_t> signs;
  int ordered_class = 1;
  std::vector<std::vector<std::int32_t>> groups;  // a path tests features of one of these; empty: of all
  std::uint64_t seed = 0;
};

}  // namespace petiole
