// The weight of each class in a window.
#pragma once

#include "grow/partition.hpp"

namespace petiole {

template <class W>
void count_classes(const Window<W>& window, int n_classes, std::vector<W>& counts) {
  const Entry<W>* entries = window.entries();
  const std::uint32_t n = window.size();
  // Rows of one class often follow each other, and adding to the same number has to wait for the last addition: so there
  // are two of each.
  const auto width = static_cast<std::size_t>(n_classes);
  counts.assign(2 * width, W{0});
  W* even = counts.data();
  W* odd = even + width;
  std::uint32_t i = 0;
  for (; i + 1 < n; i += 2) {
    even[entries[i].label] += entries[i].weight;
    odd[entries[i + 1].label] += entries[i + 1].weight;
  }
  if (i < n) even[entries[i].label] += entries[i].weight;
  for (std::size_t k = 0; k < width; ++k) even[k] += odd[k];
  counts.resize(width);
}

}  // namespace petiole
