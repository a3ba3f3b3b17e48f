// Bootstrap samples: how often each row is in the sample of a tree.
#pragma once

#include <numeric>

#include "random.hpp"
#include "types.hpp"

namespace petiole {

enum class Bootstrap { none, plain, stratified };

class Sampler {
 public:
  Sampler(Bootstrap kind, const std::vector<ClassId>& labels, int n_classes)
      : kind_(kind), n_rows_(static_cast<std::uint32_t>(labels.size())) {
    if (kind != Bootstrap::stratified) return;
    class_start_.assign(static_cast<std::size_t>(n_classes) + 1, 0);
    for (const ClassId y : labels) ++class_start_[std::size_t{y} + 1];
    std::partial_sum(class_start_.begin(), class_start_.end(), class_start_.begin());
    by_class_.resize(labels.size());
    auto next = class_start_;
    for (RowId row = 0; row < n_rows_; ++row) by_class_[next[labels[row]]++] = row;
  }

  bool draws() const { return kind_ != Bootstrap::none; }

  // Fills copies, which stays empty if every row is taken once. The draw depends on the key alone.
  void draw(std::uint64_t key, std::vector<std::uint32_t>& copies) const {
    copies.clear();
    if (kind_ == Bootstrap::none) return;
    copies.resize(n_rows_, 0);
    Random random(key);
    if (kind_ == Bootstrap::plain) {
      for (std::uint32_t i = 0; i < n_rows_; ++i) ++copies[random.below(n_rows_)];
      return;
    }
    for (std::size_t k = 0; k + 1 < class_start_.size(); ++k) {
      const std::uint32_t begin = class_start_[k], size = class_start_[k + 1] - begin;
      for (std::uint32_t i = 0; i < size; ++i) ++copies[by_class_[begin + random.below(size)]];
    }
  }

 private:
  Bootstrap kind_;
  std::uint32_t n_rows_;
  std::vector<std::uint32_t> class_start_;
  std::vector<RowId> by_class_;
};

// The keys of tree `index` in a forest: one for its growth, one for its sample.
inline std::uint64_t tree_key(std::uint64_t seed, std::uint64_t index) { return derive_key(seed, index); }
inline std::uint64_t sample_key(std::uint64_t seed, std::uint64_t index) {
  return derive_key(tree_key(seed, index), 0x5a3b1e);
}

}  // namespace petiole
