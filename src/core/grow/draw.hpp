// The features that are searched at a node: all, or some drawn at random by the node's key alone.
#pragma once

#include <algorithm>
#include <numeric>

#include "base/random.hpp"
#include "grow/split.hpp"

namespace petiole {

class ColumnDraw {
 public:
  // Draws options.max_features features into `columns`, of the frame; if none of them has a candidate, further ones until
  // one has (options.redraw). search(first) fills candidates for columns[first..]. Features for which usable(feature) is
  // false do not count.
  template <class Usable, class Search>
  void draw(std::uint64_t key, const Frame& frame, int n_features, const GrowOptions& options,
            std::vector<std::int32_t>& columns, std::vector<Candidate>& candidates, Usable&& usable, Search&& search) {
    const int max_features = options.max_features;
    if (shuffled_.empty()) {
      shuffled_.resize(static_cast<std::size_t>(n_features));
      std::iota(shuffled_.begin(), shuffled_.end(), 0);
    }
    Random random(key);
    columns.clear();
    candidates.clear();
    swaps_.clear();
    int drawn = 0;
    const auto any_found = [&] {
      return std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.found; });
    };
    while (drawn < n_features && (drawn < max_features || (options.redraw && !any_found()))) {
      const int batch = drawn < max_features ? max_features : 1;
      const std::size_t searched = columns.size();
      for (int b = 0; b < batch && drawn < n_features; ++drawn) {
        const auto at = static_cast<std::size_t>(drawn);
        const std::size_t other = at + random.below(static_cast<std::uint32_t>(n_features - drawn));
        std::swap(shuffled_[at], shuffled_[other]);
        swaps_.push_back(other);
        if (!usable(shuffled_[at])) continue;
        ++b;
        const std::int32_t column = frame.column_of[static_cast<std::size_t>(shuffled_[at])];
        if (column >= 0) columns.push_back(column);
      }
      search(searched);
    }
    // The next node starts from the same order, so that its draw depends on its key alone.
    for (std::size_t i = swaps_.size(); i-- > 0;) std::swap(shuffled_[i], shuffled_[swaps_[i]]);
  }

 private:
  std::vector<std::int32_t> shuffled_;
  std::vector<std::size_t> swaps_;
};

}  // namespace petiole
