// The choice among the candidates of a node: by gain, or by C4.5's gain ratio.
#include <algorithm>

#include "base/random.hpp"
#include "grow/split.hpp"

namespace petiole {
namespace {

// C4.5: a feature must do at least as well as the average gain before its gain ratio counts.
double average_gain(const SearchContext& context, const Frame& frame, const std::vector<Candidate>& candidates) {
  double sum = 0;
  int n = 0;
  for (const Candidate& candidate : candidates) {
    if (!candidate.found || candidate.split_info <= kMinSplitInfo) continue;
    const auto feature = static_cast<std::size_t>(frame.columns[static_cast<std::size_t>(candidate.column)].feature);
    if (context.many_valued[feature] && !context.all_many_valued) continue;
    sum += candidate.gain;
    ++n;
  }
  return n > 0 ? sum / n : std::numeric_limits<double>::infinity();
}

}  // namespace

int choose(const SearchContext& context, const Frame& frame, const std::vector<Candidate>& candidates, std::uint64_t key) {
  const bool ratio = context.options->criterion == Criterion::gain_ratio;
  const double least_gain = ratio ? average_gain(context, frame, candidates) - 1e-3 : 0.0;
  const double min_gain = context.options->min_gain;
  Random random(key);
  int chosen = -1;
  std::uint32_t n_equal = 0;
  double best = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    if (!candidate.found || (min_gain > 0 && !(candidate.gain >= min_gain))) continue;
    if (ratio && (candidate.split_info <= kMinSplitInfo || !(candidate.gain >= least_gain))) continue;
    const double score = ratio ? candidate.gain / candidate.split_info : candidate.gain;
    if (ratio && score <= kTie) continue;
    if (chosen < 0 || score > best + kTie) {
      n_equal = 1;
    } else if (score < best - kTie || !context.options->random_ties) {
      continue;
    } else if (random.below(++n_equal) != 0) {
      continue;
    }
    chosen = static_cast<int>(i);
    best = std::max(best, score);
  }
  return chosen;
}

}  // namespace petiole
