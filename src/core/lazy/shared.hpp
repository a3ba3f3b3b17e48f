// Nodes that the lazy trees of many queries have in common.
//
// The gain of a test does not depend on the query, only whether the query may use the test. So the tests of a node are
// evaluated once for all queries that come to it, and of each feature only those are kept that can be among the best
// for some query: of the tests `x > c` with c below the query's value, the best ones change only at a few places.
#pragma once

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "lazy/node.hpp"

namespace petiole {

// Results about a candidate, computed on first use; a second computation gives the same numbers.
struct FoundOut {
  std::atomic<std::int64_t> units{-1};  // -1: not yet
  std::atomic<std::uint64_t> hash{0};   // 0: not yet
};

class SharedNode {
 public:
  // Takes the rows and evaluates all tests. Of each feature and sign keep the n_kept best for any query.
  SharedNode(LazyNode& node, std::vector<RowId>&& rows, const LazyBag& bag, std::size_t n_features, std::size_t n_kept);

  std::span<const RowId> rows() const { return rows_; }
  std::span<const ClassId> classes() const { return classes_; }
  std::span<const Units> counts() const { return counts_; }
  Units total() const { return total_; }
  const ExactGain& gain() const { return gain_; }
  bool can_branch() const { return !start_.empty(); }
  std::size_t n_bytes() const;

  // Calls emit(candidate) for the tests on a feature that are true at a place, as LazyNode does.
  template <class Emit>
  void tests_at(std::uint32_t feature, const Place& place, Emit&& emit) const {
    if (!place.known) return;
    for (std::size_t i = start_[feature]; i < start_[feature + 1]; ++i) {
      const LazyCandidate& candidate = candidates_[i];
      const LazyTest& test = candidate.test;
      const bool holds = test.sign == Sign::greater ? test.code < place.lower
                         : test.sign == Sign::less  ? test.code >= place.upper
                                                    : test.code != place.lower;
      if (holds) emit(candidate, &found_out_[i]);
    }
  }

 private:
  void keep_best(std::span<const LazyCandidate> found, std::size_t n_kept);

  std::vector<RowId> rows_;
  std::vector<ClassId> classes_;
  std::vector<Units> counts_;
  Units total_ = 0;
  ExactGain gain_;
  std::vector<LazyCandidate> candidates_;
  std::vector<std::uint32_t> start_;  // of each feature's candidates; empty if no test can be made
  mutable std::vector<FoundOut> found_out_;
};

// The shared nodes of one sample, by the hash of their rows. When a part is full it is emptied.
class SharedNodes {
 public:
  using Pointer = std::shared_ptr<const SharedNode>;

  Pointer find(std::uint64_t hash) {
    Part& part = part_of(hash);
    std::lock_guard lock(part.mutex);
    const auto found = part.nodes.find(hash);
    return found == part.nodes.end() ? nullptr : found->second;
  }

  void insert(std::uint64_t hash, const Pointer& node) {
    Part& part = part_of(hash);
    const std::size_t n_bytes = node->n_bytes();
    std::lock_guard lock(part.mutex);
    if (part.n_bytes + n_bytes > kBytes / kParts) {
      part.nodes.clear();
      part.n_bytes = 0;
    }
    if (part.nodes.emplace(hash, node).second) part.n_bytes += n_bytes;
  }

 private:
  static constexpr std::size_t kParts = 64, kBytes = std::size_t{256} << 20;
  struct Part {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, Pointer> nodes;
    std::size_t n_bytes = 0;
  };
  Part& part_of(std::uint64_t hash) { return parts_[hash >> 58]; }
  Part parts_[kParts];
};

}  // namespace petiole
