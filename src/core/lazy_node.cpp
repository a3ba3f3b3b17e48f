#include "lazy_node.hpp"

#include <algorithm>

namespace petiole {

LazyNode::LazyNode(const LazyData& data, const LazyTreeOptions& options)
    : data_(data),
      gain_prior_(options.gain_prior / data.unit),
      least_(static_cast<Units>(std::ceil(options.min_samples_leaf / data.unit - kWeightSlack))),
      index_of_class_(static_cast<std::size_t>(data.dataset.n_classes), 0),
      count_of_class_(static_cast<std::size_t>(data.dataset.n_classes), 0) {}

void LazyNode::open(std::span<const RowId> rows, const LazyBag& bag) {
  rows_ = rows;
  const std::size_t n = rows.size();
  class_index_.resize(n);
  weight_.resize(n);
  key_.resize(n);
  classes_.clear();
  counts_.clear();
  total_ = 0;
  const ClassId* labels = data_.dataset.labels.data();
  for (std::size_t i = 0; i < n; ++i) {
    const ClassId y = labels[rows[i]];
    weight_[i] = bag.weight[rows[i]];
    key_[i] = LazyData::key(rows[i]);
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

void LazyNode::gather(std::uint32_t attribute) {
  const Column& column = data_.dataset.columns[attribute];
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

bool LazyNode::group(std::uint32_t attribute) {
  gather(attribute);
  if (codes_.empty()) return false;
  // One value alone is either the query's own or leaves nobody.
  if (low_ == high_) return false;
  groups_.clear();
  entries_.clear();
  const std::uint64_t range = std::uint64_t{high_ - low_} + 1, n = codes_.size();
  if (range * classes_.size() <= n) group_by_cells();
  else if (range <= 4 * n + 64) group_by_counting();
  else group_by_sorting();
  return groups_.size() > 1;
}

// Many rows of few values: a counter for each value and class.
void LazyNode::group_by_cells() {
  const std::size_t range = high_ - low_ + 1, n_classes = classes_.size();
  cells_.assign(range * n_classes, 0);
  cell_hash_.assign(range, 0);
  for (std::size_t i = 0; i < codes_.size(); ++i) {
    const std::size_t cell = codes_[i] - low_, at = positions_[i];
    cells_[cell * n_classes + class_index_[at]] += weight_[at];
    cell_hash_[cell] += key_[at];
  }
  for (std::size_t cell = 0; cell < range; ++cell) {
    const auto begin = static_cast<std::uint32_t>(entries_.size());
    for (std::size_t k = 0; k < n_classes; ++k)
      if (const Units weight = cells_[cell * n_classes + k]; weight > 0)
        entries_.push_back({static_cast<std::uint32_t>(k), weight});
    if (begin < entries_.size())
      groups_.push_back({low_ + static_cast<std::uint32_t>(cell), begin, static_cast<std::uint32_t>(entries_.size()),
                         cell_hash_[cell]});
  }
}

void LazyNode::group_by_counting() {
  const std::size_t range = high_ - low_ + 1;
  starts_.assign(range + 1, 0);
  cell_hash_.assign(range, 0);
  for (const std::uint32_t code : codes_) ++starts_[code - low_ + 1];
  for (std::size_t cell = 0; cell < range; ++cell) starts_[cell + 1] += starts_[cell];
  entries_.resize(codes_.size());
  for (std::size_t i = 0; i < codes_.size(); ++i) {
    const std::size_t cell = codes_[i] - low_, at = positions_[i];
    entries_[starts_[cell]++] = {class_index_[at], weight_[at]};
    cell_hash_[cell] += key_[at];
  }
  std::uint32_t begin = 0;  // what was the start of a cell is now its end
  for (std::size_t cell = 0; cell < range; ++cell) {
    if (starts_[cell] == begin) continue;
    groups_.push_back({low_ + static_cast<std::uint32_t>(cell), begin, starts_[cell], cell_hash_[cell]});
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
    const auto begin = static_cast<std::uint32_t>(entries_.size());
    if (groups_.empty() || groups_.back().code != code) groups_.push_back({code, begin, begin, 0});
    entries_.push_back({class_index_[at], weight_[at]});
    groups_.back().end = begin + 1;
    groups_.back().hash += key_[at];
  }
}

}  // namespace petiole
