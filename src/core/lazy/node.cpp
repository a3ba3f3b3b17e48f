#include "lazy/node.hpp"

#include <algorithm>

namespace petiole {

LazyNode::LazyNode(const LazyData& data, const LazyTreeOptions& options)
    : data_(data),
      gain_prior_(data.in_units(options.gain_prior)),
      least_(std::max<Units>(1, LazyData::rounded(std::ceil(data.in_units(options.min_samples_leaf - kWeightSlack))))),
      index_of_class_(static_cast<std::size_t>(data.dataset.n_classes), 0),
      count_of_class_(static_cast<std::size_t>(data.dataset.n_classes), 0) {}

void LazyNode::open(std::span<const RowId> rows, const LazyBag& bag) {
  rows_ = rows;
  const std::size_t n = rows.size();
  class_index_.resize(n);
  weight_.resize(n);
  classes_.clear();
  counts_.clear();
  total_ = 0;
  const ClassId* labels = data_.dataset.labels.data();
  for (std::size_t i = 0; i < n; ++i) {
    const ClassId y = labels[rows[i]];
    weight_[i] = bag.weight[rows[i]];
    if (count_of_class_[y] == 0) classes_.push_back(y);
    count_of_class_[y] += weight_[i];
    total_ += weight_[i];
  }
  std::sort(classes_.begin(), classes_.end());
  for (std::size_t k = 0; k < classes_.size(); ++k) {
    index_of_class_[classes_[k]] = static_cast<std::uint32_t>(k);
    counts_.push_back(std::exchange(count_of_class_[classes_[k]], 0));
  }
  if (!can_branch()) return;
  for (std::size_t i = 0; i < n; ++i) class_index_[i] = index_of_class_[labels[rows[i]]];
  gain_.reset(counts_, gain_prior_ / static_cast<double>(total_), data_.log2_table);
}

// Whether there is more than one group. One value alone is the query's own, or its test leaves no row.
bool LazyNode::group(std::uint32_t feature) {
  const Column& column = data_.dataset.columns[feature];
  pairs_.clear();
  groups_.clear();
  entries_.clear();
  const std::uint64_t n = rows_.size(), n_classes = classes_.size();
  if (column.n_codes * n_classes <= 2 * n + 32) {
    count_cells(column);
    group_cells(0, column.n_codes);
    return n_groups() > 1;
  }
  gather(column);
  if (codes_.empty() || low_ == high_) return false;
  const std::uint64_t range = std::uint64_t{high_ - low_} + 1;
  if (range > 8 * n + 64)
    group_by_sorting();
  else
    group_by_counting();
  return n_groups() > 1;
}

// Many rows of few values: a counter for each value and class.
void LazyNode::count_cells(const Column& column) {
  const std::size_t n_classes = classes_.size();
  cells_.assign((std::size_t{column.n_codes} + 1) * n_classes, 0);  // the last ones are for missing values
  column.codes.visit([&](const auto* codes) {
    for (std::size_t i = 0; i < rows_.size(); ++i) cells_[codes[rows_[i]] * n_classes + class_index_[i]] += weight_[i];
  });
}

void LazyNode::group_cells(std::uint32_t low, std::size_t range) {
  const std::size_t n_classes = classes_.size();
  for (std::size_t cell = 0; cell < range; ++cell) {
    const Units* counts = cells_.data() + cell * n_classes;
    const auto code = low + static_cast<std::uint32_t>(cell), begin = static_cast<std::uint32_t>(entries_.size());
    if (of_two()) {
      if (counts[0] + counts[1] > 0) pairs_.push_back({code, counts[0], counts[1]});
      continue;
    }
    for (std::size_t k = 0; k < n_classes; ++k)
      if (counts[k] > 0) entries_.push_back({static_cast<std::uint32_t>(k), counts[k]});
    if (begin < entries_.size()) groups_.push_back({code, begin, static_cast<std::uint32_t>(entries_.size())});
  }
}

void LazyNode::gather(const Column& column) {
  codes_.resize(rows_.size());
  positions_.resize(rows_.size());
  std::size_t n = 0;
  low_ = std::numeric_limits<std::uint32_t>::max();
  high_ = 0;
  column.codes.visit([&](const auto* codes) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::uint32_t code = codes[rows_[i]];
      if (code == column.n_codes) continue;
      codes_[n] = code;
      positions_[n++] = static_cast<std::uint32_t>(i);
      low_ = std::min(low_, code);
      high_ = std::max(high_, code);
    }
  });
  codes_.resize(n);
}

void LazyNode::group_by_counting() {
  const std::size_t range = high_ - low_ + 1;
  if (of_two()) {
    cells_.assign(2 * range, 0);
    for (std::size_t i = 0; i < codes_.size(); ++i)
      cells_[2 * (codes_[i] - low_) + class_index_[positions_[i]]] += weight_[positions_[i]];
    return group_cells(low_, range);
  }
  starts_.assign(range + 1, 0);
  for (const std::uint32_t code : codes_) ++starts_[code - low_ + 1];
  for (std::size_t cell = 0; cell < range; ++cell) starts_[cell + 1] += starts_[cell];
  entries_.resize(codes_.size());
  for (std::size_t i = 0; i < codes_.size(); ++i)
    entries_[starts_[codes_[i] - low_]++] = {class_index_[positions_[i]], weight_[positions_[i]]};
  std::uint32_t begin = 0;  // what was the start of a cell is now its end
  for (std::size_t cell = 0; cell < range; ++cell) {
    if (starts_[cell] == begin) continue;
    groups_.push_back({low_ + static_cast<std::uint32_t>(cell), begin, starts_[cell]});
    begin = starts_[cell];
  }
}

// Few rows of many values.
void LazyNode::group_by_sorting() {
  sorted_.resize(codes_.size());
  for (std::size_t i = 0; i < codes_.size(); ++i) sorted_[i] = std::uint64_t{codes_[i]} << 32 | positions_[i];
  std::sort(sorted_.begin(), sorted_.end());
  for (const std::uint64_t item : sorted_) {
    const auto code = static_cast<std::uint32_t>(item >> 32), at = static_cast<std::uint32_t>(item);
    if (of_two()) {
      if (pairs_.empty() || pairs_.back().code != code) pairs_.push_back({code, 0, 0});
      (class_index_[at] == 0 ? pairs_.back().a : pairs_.back().b) += weight_[at];
      continue;
    }
    const auto begin = static_cast<std::uint32_t>(entries_.size());
    if (groups_.empty() || groups_.back().code != code) groups_.push_back({code, begin, begin});
    entries_.push_back({class_index_[at], weight_[at]});
    groups_.back().end = begin + 1;
  }
}

std::size_t LazyNode::groups_before(std::uint32_t code) const {
  std::size_t below = 0, end = n_groups();
  while (below < end) {
    const std::size_t middle = (below + end) / 2;
    if (code_of(middle) < code)
      below = middle + 1;
    else
      end = middle;
  }
  return below;
}

void LazyNode::start_with(std::size_t first, std::size_t last) {
  a_ = b_ = 0;
  if (of_two()) {
    for (std::size_t g = first; g < last; ++g) add(g);
    return;
  }
  child_.reset(classes_.size());
  for (std::size_t g = first; g < last; ++g)
    for (std::uint32_t e = groups_[g].begin; e < groups_[g].end; ++e)
      child_.count(entries_[e].class_index, entries_[e].weight);
  child_.settle(gain_);
}

void LazyNode::change(std::size_t g, int sign) {
  if (of_two()) {
    a_ += sign * pairs_[g].a;
    b_ += sign * pairs_[g].b;
    return;
  }
  for (std::uint32_t e = groups_[g].begin; e < groups_[g].end; ++e)
    child_.count(entries_[e].class_index, sign * entries_[e].weight);
  if (sign < 0) child_.settle(gain_);
}

}  // namespace petiole
