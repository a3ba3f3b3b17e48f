#include "lazy/shared.hpp"

#include <algorithm>

namespace petiole {
namespace {

// The n best ranks so far. A later test has a smaller child, so that a tie goes to the earlier one.
class BestRanks {
 public:
  explicit BestRanks(std::size_t n) : n_(n) {}

  // Whether n tests before are better for certain.
  bool full_of_better_than(const LazyCandidate& candidate) const {
    if (ranks_.size() < n_) return false;
    const auto& [rank, exact] = ranks_.back();
    return exact && candidate.exact ? rank >= candidate.rank : rank > candidate.rank + 2 * kGainSlack;
  }

  void add(const LazyCandidate& candidate) {
    const std::pair<double, bool> entry(candidate.rank, candidate.exact);
    ranks_.insert(std::upper_bound(ranks_.begin(), ranks_.end(), entry, std::greater<>()), entry);
    if (ranks_.size() > n_) ranks_.pop_back();
  }

 private:
  std::size_t n_;
  std::vector<std::pair<double, bool>> ranks_;
};

}  // namespace

SharedNode::SharedNode(LazyNode& node, std::vector<RowId>&& rows, const LazyBag& bag, std::size_t n_features,
                       std::size_t n_kept)
    : rows_(std::move(rows)) {
  node.open(rows_, bag);
  classes_.assign(node.classes().begin(), node.classes().end());
  counts_.assign(node.counts().begin(), node.counts().end());
  total_ = node.total();
  if (!node.can_branch()) return;
  gain_ = ExactGain(counts_, node.gain().prior());
  std::vector<LazyCandidate> found;
  for (std::uint32_t j = 0; j < n_features; ++j) {
    start_.push_back(static_cast<std::uint32_t>(candidates_.size()));
    found.clear();
    node.all_tests(j, [&](const LazyCandidate& candidate) { found.push_back(candidate); });
    // The largest child first: a query that may use a test may use all of the sign with larger children.
    const auto is_less = [](const LazyCandidate& c) { return c.test.sign == Sign::less; };
    const auto change = std::find_if(found.begin(), found.end(), is_less);
    std::reverse(found.begin(), change);
    std::reverse(change, found.end());
    const auto n_first = static_cast<std::size_t>(change - found.begin());
    keep_best(std::span(found).first(n_first), n_kept);
    keep_best(std::span(found).subspan(n_first), n_kept);
  }
  start_.push_back(static_cast<std::uint32_t>(candidates_.size()));
  candidates_.shrink_to_fit();
  found_out_ = std::vector<FoundOut>(candidates_.size());
}

void SharedNode::keep_best(std::span<const LazyCandidate> found, std::size_t n_kept) {
  // Any query may use all categorical tests but one.
  const bool categorical = !found.empty() && found[0].test.sign == Sign::differs;
  if (categorical || found.size() <= n_kept) {
    candidates_.insert(candidates_.end(), found.begin(), found.end());
    return;
  }
  BestRanks best(n_kept);
  for (const LazyCandidate& candidate : found) {
    if (best.full_of_better_than(candidate)) continue;
    best.add(candidate);
    candidates_.push_back(candidate);
  }
}

std::size_t SharedNode::n_bytes() const {
  return sizeof(SharedNode) + rows_.capacity() * sizeof(RowId) + counts_.size() * (sizeof(Units) + sizeof(ClassId)) +
         candidates_.size() * (sizeof(LazyCandidate) + sizeof(FoundOut)) + start_.size() * sizeof(std::uint32_t);
}

}  // namespace petiole
