// The rows of a node in the form for the search.
#pragma once

#include "grow/split.hpp"

namespace petiole {

// Numbers the labels among the classes present at the node, as class_counts has them; local_class gets the numbers.
template <class W>
void show_rows(const Frame& frame, const Entry<W>* entries, std::uint32_t n, const std::vector<W>& class_counts,
               const GrowOptions& options, std::vector<ClassId>& local_class, NodeView<W>& view) {
  view.frame = &frame;
  view.entries = entries;
  view.n = n;
  view.class_totals.clear();
  view.class_scale.clear();
  view.weight = 0;
  local_class.resize(class_counts.size());
  for (std::size_t k = 0; k < local_class.size(); ++k) {
    local_class[k] = static_cast<ClassId>(view.class_totals.size());
    if (class_counts[k] <= 0) continue;
    view.class_totals.push_back(class_counts[k]);
    view.class_scale.push_back(options.class_scale.empty() ? 1.0 : options.class_scale[k]);
    view.weight += static_cast<double>(class_counts[k]);
  }
  view.ordered_class = -1;
  if (!options.signs.empty() && class_counts[static_cast<std::size_t>(options.ordered_class)] > 0)
    view.ordered_class = local_class[static_cast<std::size_t>(options.ordered_class)];
  view.local_class = view.class_totals.size() == local_class.size() ? nullptr : local_class.data();
}

}  // namespace petiole
