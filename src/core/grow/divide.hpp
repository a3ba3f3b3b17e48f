// Dividing the rows of a node among its children, with those whose tested value is missing.
#pragma once

#include <algorithm>
#include <numeric>

#include "grow/routing.hpp"

namespace petiole {

template <class W>
struct Child {
  Window<W> window;
  std::vector<W> class_counts;  // empty: to be counted
};

// The rows between offsets into a window, which follow each other.
template <class W>
std::vector<Child<W>> ranges(const Window<W>& parent, const std::vector<std::uint32_t>& offsets) {
  std::vector<Child<W>> children;
  for (std::size_t c = 0; c + 1 < offsets.size(); ++c)
    children.push_back({{parent.frame, parent.store, parent.begin + offsets[c], parent.begin + offsets[c + 1]}, {}});
  return children;
}

// C4.5: a row whose tested value is missing goes to every branch, with weight in proportion to the branch's known rows.
// weight_of(row) is the weight with which a row of the dataset started.
template <class W, class WeightOf>
std::vector<Child<W>> divide_missing(const Window<W>& window, const std::vector<std::uint32_t>& offsets,
                                     WeightOf&& weight_of) {
  const std::size_t n_children = offsets.size() - 2;
  const Entry<W>* old = window.entries();
  std::vector<double> known(n_children, 0.0);
  for (std::size_t c = 0; c < n_children; ++c)
    for (std::uint32_t i = offsets[c]; i < offsets[c + 1]; ++i) known[c] += static_cast<double>(old[i].weight);
  const double all_known = std::accumulate(known.begin(), known.end(), 0.0);
  const auto heaviest = static_cast<std::size_t>(std::max_element(known.begin(), known.end()) - known.begin());
  const std::uint32_t n_missing = offsets[n_children + 1] - offsets[n_children];
  auto store = std::make_shared<Entries<W>>(window.size() + n_missing * (n_children - 1));
  std::vector<Child<W>> children;
  std::uint32_t end = 0;
  const auto append = [&](std::uint32_t i, typename Entry<W>::Stored part) {
    (*store)[end++] = {old[i].row, old[i].label, part};
  };
  for (std::size_t c = 0; c < n_children; ++c) {
    const std::uint32_t begin = end;
    for (std::uint32_t i = offsets[c]; i < offsets[c + 1]; ++i) append(i, old[i].weight);
    for (std::uint32_t i = offsets[n_children]; i < offsets[n_children + 1] && known[c] > 0; ++i) {
      const auto share = static_cast<double>(old[i].weight);
      const bool whole = share < kMinShare * weight_of(window.frame->dataset_row(old[i].row));
      if (!whole)
        append(i, static_cast<typename Entry<W>::Stored>(share * known[c] / all_known));
      else if (c == heaviest)
        append(i, old[i].weight);
    }
    children.push_back({{window.frame, store, begin, end}, {}});
  }
  return children;
}

// Puts the rows of a window in the order of their branches; those that have none are divided.
template <class W, class WeightOf>
std::vector<Child<W>> partition_with_missing(const Window<W>& window, const FrameColumn& column, const Routing& routing,
                                             PartitionScratch<W>& scratch, WeightOf&& weight_of) {
  // One branch more than children: the rows to be divided.
  auto offsets = partition_by(window, column, routing.branch_of_code, routing.n_children + 1, scratch);
  const std::uint32_t n_known = offsets[offsets.size() - 2];
  if (n_known == window.size()) {
    offsets.pop_back();
    return ranges(window, offsets);
  }
  return divide_missing(window, offsets, weight_of);
}

}  // namespace petiole
