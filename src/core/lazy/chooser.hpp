// The best of a node's tests: cheap ranks first, exact gains for those that come near.
#pragma once

#include <algorithm>

#include "lazy/shared.hpp"

namespace petiole {

struct LazyQuery {
  std::vector<Place> places;
};

// Ranks the candidates that it is offered: by gain, then by the weight of the child, then the first feature, then the
// nearest value.
class OptionChooser {
 public:
  // tie: weights that differ by less are equal.
  explicit OptionChooser(Units tie) : tie_(tie) {}

  // n_distinct: how many different sets of rows are wanted.
  void start(bool of_two, std::size_t n_distinct) {
    n_distinct_ = n_distinct;
    slack_ = of_two ? kRatioSlack : 2 * kGainSlack;
    same_ = of_two ? 0.0 : 2 * kGainSlack;
    least_ = -std::numeric_limits<double>::infinity();
    best_.clear();
    contenders_.clear();
  }

  bool is_in_reach(double rank) const { return rank + slack_ >= least_; }

  // found_out: where exact numbers are kept for others, if anywhere.
  void offer(const LazyCandidate& candidate, FoundOut* found_out = nullptr) {
    if (!is_in_reach(candidate.rank)) return;
    contenders_.push_back({{candidate.test, -1, candidate.count, 0}, candidate.rank, candidate.exact, found_out, 0});
    raise_least(candidate);
    if (contenders_.size() >= kMany) drop_beaten();
  }

  // Appends the best tests in order, until they have n_distinct sets of rows between them. `look(option)` looks at the
  // rows and fills in what is exact. Hashes are found where tests could have the same rows.
  template <class Look>
  void finish(const ExactGain& gain, const LazyQuery& query, const Dataset& dataset, Look&& look,
              std::vector<LazyOption>& ranking) {
    drop_beaten();
    for (Contender& c : contenders_) {
      settle_units(c, gain, look);
      c.distance = distance(c.option.test, query, dataset);
    }
    const auto better = [this](const Contender& a, const Contender& b) { return is_better(a, b); };
    std::sort(contenders_.begin(), contenders_.end(), better);
    std::size_t n_found = 0;
    for (std::size_t begin = 0, end; begin < contenders_.size() && n_found < n_distinct_; begin = end) {
      for (end = begin + 1; end < contenders_.size(); ++end)
        if (!may_have_same_rows(contenders_[end].option, contenders_[begin].option)) break;
      if (contenders_[begin].option.units < 1) return;
      n_found += append_alike(begin, end, n_distinct_ - n_found, look, ranking);
    }
  }

 private:
  struct Contender {
    LazyOption option;
    double rank;
    bool exact;
    FoundOut* found_out;
    double distance;
  };
  struct Best {
    double rank;
    Units count;
  };
  static constexpr std::size_t kMany = 512;

  // Tests with the same rows agree in this; those that do not need no look at their rows.
  bool may_have_same_rows(const LazyOption& a, const LazyOption& b) const {
    return a.units == b.units && rounded(a.count) == rounded(b.count);
  }

  Units rounded(Units count) const { return (count + tie_ / 2) / tie_; }

  bool is_better(const Contender& a, const Contender& b) const {
    const LazyOption &x = a.option, &y = b.option;
    if (x.units != y.units) return x.units > y.units;
    if (rounded(x.count) != rounded(y.count)) return x.count > y.count;
    if (x.test.feature != y.test.feature) return x.test.feature < y.test.feature;
    if (a.distance != b.distance) return a.distance < b.distance;
    return x.test.sign < y.test.sign;
  }

  static double distance(const LazyTest& test, const LazyQuery& query, const Dataset& dataset) {
    if (test.sign == Sign::differs) return static_cast<double>(test.code);
    return std::abs(dataset.columns[test.feature].distinct[test.code] - query.places[test.feature].value);
  }

  // The least rank that matters is that of the n-th set of rows. Tests with the same rows have the same weight and rank,
  // so those that agree in both are taken for one: at worst a few more contenders stay.
  void raise_least(const LazyCandidate& candidate) {
    const auto is_above = [](const Best& best, double rank) { return best.rank > rank; };
    auto alike = std::lower_bound(best_.begin(), best_.end(), candidate.rank + same_, is_above);
    for (; alike != best_.end() && alike->rank >= candidate.rank - same_; ++alike)
      if (alike->count == candidate.count) return;
    const Best entry{candidate.rank, candidate.count};
    const auto higher = [](const Best& a, const Best& b) { return a.rank > b.rank; };
    best_.insert(std::upper_bound(best_.begin(), best_.end(), entry, higher), entry);
    if (best_.size() > n_distinct_) best_.pop_back();
    if (best_.size() == n_distinct_) least_ = best_.back().rank - same_;
  }

  void drop_beaten() {
    std::erase_if(contenders_, [this](const Contender& c) { return !is_in_reach(c.rank); });
  }

  template <class Look>
  static void settle_units(Contender& c, const ExactGain& gain, Look&& look) {
    if (c.exact)
      c.option.units = gain_units(gain.of_two() ? gain_of_two(-c.rank) : gain.most());
    else if (c.found_out != nullptr)
      c.option.units = c.found_out->units.load(std::memory_order_relaxed);
    if (c.found_out != nullptr) c.option.hash = c.found_out->hash.load(std::memory_order_relaxed);
    if (c.option.units < 0) look_at(c, look);
  }

  template <class Look>
  static void look_at(Contender& c, Look&& look) {
    look(c.option);
    if (c.found_out == nullptr) return;
    c.found_out->units.store(c.option.units, std::memory_order_relaxed);
    c.found_out->hash.store(c.option.hash, std::memory_order_relaxed);
  }

  // Appends contenders of equal gain and weight until there are enough sets of rows; returns how many sets.
  template <class Look>
  std::size_t append_alike(std::size_t begin, std::size_t end, std::size_t enough, Look&& look,
                           std::vector<LazyOption>& ranking) {
    hashes_.clear();
    for (std::size_t i = begin; i < end; ++i) {
      Contender& c = contenders_[i];
      const bool alone = end - begin == 1;
      if (hashes_.size() == enough) break;
      // Of a shared node all hashes are found, for the next query.
      if (c.option.hash == 0 && (!alone || c.found_out != nullptr)) look_at(c, look);
      if (alone || std::find(hashes_.begin(), hashes_.end(), c.option.hash) == hashes_.end())
        hashes_.push_back(c.option.hash);
      ranking.push_back(c.option);
    }
    return hashes_.size();
  }

  Units tie_;
  std::size_t n_distinct_ = 1;
  double slack_ = 0, same_ = 0, least_ = 0;
  std::vector<Best> best_;
  std::vector<Contender> contenders_;
  std::vector<std::uint64_t> hashes_;
};

// Finds numbers by 64-bit keys that are already random.
class KeyTable {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  void clear() {
    // After a large tree and many small ones, a small table is cleared faster.
    const bool too_large = slots_.size() > 1024 && n_ * 16 < slots_.size();
    slots_.assign(too_large ? slots_.size() / 2 : std::max<std::size_t>(slots_.size(), 64), {0, kNone});
    n_ = 0;
  }
  std::uint32_t find(std::uint64_t key) const {
    for (std::size_t i = key & mask();; i = (i + 1) & mask()) {
      if (slots_[i].second == kNone) return kNone;
      if (slots_[i].first == key) return slots_[i].second;
    }
  }
  void insert(std::uint64_t key, std::uint32_t value) {
    if (2 * (n_ + 1) > slots_.size()) grow();
    place(key, value);
    ++n_;
  }

 private:
  std::size_t mask() const { return slots_.size() - 1; }
  void place(std::uint64_t key, std::uint32_t value) {
    std::size_t i = key & mask();
    while (slots_[i].second != kNone) i = (i + 1) & mask();
    slots_[i] = {key, value};
  }
  void grow() {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> old(2 * slots_.size(), {0, kNone});
    old.swap(slots_);
    for (const auto& [key, value] : old)
      if (value != kNone) place(key, value);
  }
  std::vector<std::pair<std::uint64_t, std::uint32_t>> slots_;
  std::size_t n_ = 0;
};

}  // namespace petiole
