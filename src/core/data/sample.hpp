// Bootstrap samples: the number of copies of each row in the sample of a tree.
#pragma once

#include <algorithm>
#include <numeric>

#include "base/random.hpp"
#include "base/types.hpp"

namespace petiole {

enum class Bootstrap { none, plain, stratified };

class Sampler {
 public:
  Sampler(Bootstrap kind, const std::vector<ClassId>& labels, int n_classes)
      : kind_(kind), n_rows_(static_cast<std::uint32_t>(labels.size())) {
    if (kind != Bootstrap::stratified) return;
    std::vector<std::uint32_t> sizes(static_cast<std::size_t>(n_classes), 0);
    for (const ClassId y : labels) ++sizes[y];
    const auto stratum_of = strata_of(sizes);
    start_.assign(sizes.size() + 2, 0);
    for (const ClassId y : labels) ++start_[stratum_of[y] + 1];
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    by_stratum_.resize(labels.size());
    auto next = start_;
    for (RowId row = 0; row < n_rows_; ++row) by_stratum_[next[stratum_of[labels[row]]]++] = row;
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
    for (std::size_t k = 0; k + 1 < start_.size(); ++k) {
      const std::uint32_t begin = start_[k], size = start_[k + 1] - begin;
      for (std::uint32_t i = 0; i < size; ++i) ++copies[by_stratum_[begin + random.below(size)]];
    }
  }

 private:
  // Drawn among themselves, the rows of a class with a single row would be in every sample, so that no tree could
  // predict that row honestly; and a class of two or three rows would keep its full weight in the trees that predict
  // one of them. Such rare classes are drawn together, and with the largest class if they have few rows.
  static constexpr std::uint32_t kLeastStratum = 4;

  // The stratum of each class: its own number, or that of the stratum it is joined to. The last is for rare classes.
  static std::vector<std::size_t> strata_of(const std::vector<std::uint32_t>& sizes) {
    std::uint32_t n_rare = 0;
    for (const std::uint32_t size : sizes) n_rare += size < kLeastStratum ? size : 0;
    const auto largest = std::max_element(sizes.begin(), sizes.end());
    const bool on_their_own = n_rare >= kLeastStratum || *largest < kLeastStratum;
    const std::size_t of_rare = on_their_own ? sizes.size() : static_cast<std::size_t>(largest - sizes.begin());
    std::vector<std::size_t> found(sizes.size());
    for (std::size_t k = 0; k < sizes.size(); ++k) found[k] = sizes[k] < kLeastStratum ? of_rare : k;
    return found;
  }

  Bootstrap kind_;
  std::uint32_t n_rows_;
  std::vector<std::uint32_t> start_;  // where the rows of each stratum begin
  std::vector<RowId> by_stratum_;
};

// The keys of tree `index` in a forest: one for its growth, one for its sample.
inline std::uint64_t tree_key(std::uint64_t seed, std::uint64_t index) { return derive_key(seed, index); }
inline std::uint64_t sample_key(std::uint64_t seed, std::uint64_t index) {
  return derive_key(tree_key(seed, index), 0x5a3b1e);
}

}  // namespace petiole
