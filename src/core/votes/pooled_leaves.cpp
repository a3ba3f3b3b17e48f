#include "votes/pooled_leaves.hpp"

#include <algorithm>
#include <bit>

#include "base/prefetch.hpp"

namespace petiole {
namespace {

constexpr std::size_t kMostCodes = std::size_t{1} << 16;
constexpr std::size_t kRowsPerBlock = 1024;
constexpr std::size_t kAhead = 8;  // rows between a record's prefetch and its use
// The sums of so many numbers stay in the second cache.
constexpr std::size_t kSumsAtOnce = std::size_t{1} << 15;

}  // namespace

// Numbers by code, and codes by number.
class PooledLeaves::Dictionary {
 public:
  explicit Dictionary(std::vector<double>& numbers) : numbers_(numbers), place_(2 * kMostCodes, kFree) { code_of(0.0); }

  std::uint16_t code_of(double number) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    std::size_t at = (bits * 0x9E3779B97F4A7C15u) >> 47;
    for (; place_[at] != kFree; at = (at + 1) % place_.size())
      if (std::bit_cast<std::uint64_t>(numbers_[place_[at]]) == bits) return static_cast<std::uint16_t>(place_[at]);
    if (numbers_.size() == kMostCodes) {
      is_full_ = true;
      return 0;
    }
    place_[at] = static_cast<std::uint32_t>(numbers_.size());
    numbers_.push_back(number);
    return static_cast<std::uint16_t>(place_[at]);
  }
  // Whether a number got no code of its own.
  bool is_full() const { return is_full_; }

 private:
  static constexpr std::uint32_t kFree = ~0u;
  std::vector<double>& numbers_;
  std::vector<std::uint32_t> place_;
  bool is_full_ = false;
};

// Writes the records of a tree: as lists, or all slots where that is smaller.
class PooledLeaves::Writer {
 public:
  Writer(PooledLeaves& to, Dictionary& codes) : to_(to), codes_(codes) {}

  OfTree records(const VoteTables& votes, const LeafTables& tables, const Ballot& ballot, std::size_t tree) {
    OfTree lists{tables.n_leaves(tree), {}, {0}, {}};
    lists.start.reserve(lists.n_leaves + 1);
    for (std::size_t leaf = 0; leaf < lists.n_leaves; ++leaf) {
      const double* row = tables.row(tree, static_cast<LeafId>(leaf), room_);
      for (std::size_t k = 0; k < to_.n_columns_; ++k)
        if (row[k] != 0) add(lists, k, row[k]);
      votes.visit_rows(tree, leaf, [&](std::size_t vote, double total, const auto& visit_entries) {
        if (total <= kNothing) return;
        const double scale = 1.0 / total;
        visit_entries([&](std::size_t label, double weight) { add(lists, to_.said(vote) + label, scale * weight); });
        add(lists, to_.share(vote), 1.0);
      });
      add(lists, to_.own_vote(ballot.leaf_votes(tree)[leaf]), 1.0);
      lists.start.push_back(static_cast<std::uint32_t>(lists.entries.size()));
    }
    const std::size_t bytes_of_all = lists.n_leaves * to_.n_slots() * sizeof(std::uint16_t);
    const std::size_t bytes_of_lists = lists.entries.size() * sizeof(Entry) + lists.n_leaves * sizeof(std::uint32_t);
    return bytes_of_all <= bytes_of_lists ? all_slots(lists) : lists;
  }

 private:
  void add(OfTree& lists, std::size_t slot, double number) {
    lists.entries.push_back({static_cast<std::uint16_t>(slot), codes_.code_of(number)});
  }

  // Code 0 is the number 0.
  OfTree all_slots(const OfTree& lists) const {
    OfTree all{lists.n_leaves, std::vector<std::uint16_t>(lists.n_leaves * to_.n_slots(), 0), {}, {}};
    for (std::size_t leaf = 0; leaf < lists.n_leaves; ++leaf)
      for (std::uint32_t i = lists.start[leaf]; i < lists.start[leaf + 1]; ++i)
        all.codes[leaf * to_.n_slots() + lists.entries[i].slot] = lists.entries[i].code;
    return all;
  }

  PooledLeaves& to_;
  Dictionary& codes_;
  std::vector<double> room_;
};

std::optional<PooledLeaves> PooledLeaves::of(const VoteTables& votes, const LeafTables& tables, const Ballot& ballot) {
  PooledLeaves leaves(static_cast<std::size_t>(votes.n_classes()), tables.n_columns());
  if (leaves.n_slots() > kMostCodes) return std::nullopt;
  Dictionary codes(leaves.numbers_);
  Writer writer(leaves, codes);
  for (std::size_t t = 0; t < tables.n_trees(); ++t) {
    leaves.trees_.push_back(writer.records(votes, tables, ballot, t));
    if (codes.is_full()) return std::nullopt;
  }
  return leaves;
}

// Adds the records of leaves to the sums of one row after the other; a negative leaf is left out.
void PooledLeaves::add_leaves(const OfTree& tree, const LeafId* leaves, std::size_t n, double* sums) const {
  const std::size_t width = n_slots();
  const double* const numbers = numbers_.data();
  const bool all_slots = tree.start.empty();
  for (std::size_t r = 0; r < n; ++r, sums += width) {
    if (r + kAhead < n && leaves[r + kAhead] >= 0) {
      const auto ahead = static_cast<std::size_t>(leaves[r + kAhead]);
      prefetch(all_slots ? static_cast<const void*>(tree.codes.data() + ahead * width)
                         : static_cast<const void*>(tree.entries.data() + tree.start[ahead]));
    }
    if (leaves[r] < 0) continue;
    const auto leaf = static_cast<std::size_t>(leaves[r]);
    if (all_slots) {
      const std::uint16_t* const codes = tree.codes.data() + leaf * width;
      for (std::size_t k = 0; k < width; ++k) sums[k] += numbers[codes[k]];
    } else {
      const Entry* const end = tree.entries.data() + tree.start[leaf + 1];
      for (const Entry* entry = tree.entries.data() + tree.start[leaf]; entry != end; ++entry)
        sums[entry->slot] += numbers[entry->code];
    }
  }
}

// Adds a share of a leaf's record, without its vote: a row that is spread over several leaves has one vote.
void PooledLeaves::add_spread(const OfTree& tree, LeafId leaf, double share, double* sums) const {
  const auto at = static_cast<std::size_t>(leaf);
  if (tree.start.empty()) {
    const std::uint16_t* const codes = tree.codes.data() + at * n_slots();
    for (std::size_t k = 0; k < own_vote(0); ++k) sums[k] += share * numbers_[codes[k]];
  } else {
    for (std::uint32_t i = tree.start[at]; i + 1 < tree.start[at + 1]; ++i)
      sums[tree.entries[i].slot] += share * numbers_[tree.entries[i].code];
  }
}

void PooledLeaves::finish(const double* sums, double* out, double* averages) const {
  const auto n_trees = static_cast<double>(trees_.size());
  for (std::size_t k = 0; k < n_columns_; ++k) averages[k] = sums[k] / n_trees;
  std::fill_n(out, n_classes_, 0.0);
  double answered = 0;
  for (std::size_t j = 0; j < n_classes_; ++j) {
    const double n_votes = sums[own_vote(j)], of_vote = sums[share(j)];
    if (n_votes <= 0 || of_vote <= 0) continue;
    const double scale = n_votes / of_vote;
    const double* const rows = sums + said(j);
    for (std::size_t k = 0; k < n_classes_; ++k) out[k] += scale * rows[k];
    answered += n_votes;
  }
  for (std::size_t k = 0; k < n_classes_; ++k)
    out[k] = answered > 0 ? out[k] / answered : std::numeric_limits<double>::quiet_NaN();
}

void PooledLeaves::look_up(const ForestRouter& router, const Matrix& queries, const Ballot& ballot, ThreadPool& pool,
                           double* out, double* averages) const {
  const std::size_t width = n_slots();
  const std::size_t at_once = std::clamp<std::size_t>(kSumsAtOnce / width, 1, kRowsPerBlock);
  std::vector<std::vector<double>> rooms(static_cast<std::size_t>(pool.n_threads()));
  router.over_blocks(queries, kRowsPerBlock, pool, [&](std::size_t thread, const ForestRouter::Block& block) {
    std::vector<double>& sums = rooms[thread];
    for (std::size_t begin = 0; begin < block.n; begin += at_once) {
      const std::size_t n = std::min(at_once, block.n - begin);
      sums.assign(n * width, 0.0);
      for (std::size_t t = 0; t < trees_.size(); ++t) {
        const TreeReach& reach = block.trees[t];
        add_leaves(trees_[t], reach.leaves() + begin, n, sums.data());
        if (!reach.any_spread()) continue;
        for (std::size_t r = 0; r < n; ++r) {
          if (!reach.is_spread(begin + r)) continue;
          double* const of_row = sums.data() + r * width;
          reach.visit(begin + r, [&](LeafId leaf, double share) { add_spread(trees_[t], leaf, share, of_row); });
          of_row[own_vote(ballot.vote(t, reach, begin + r))] += 1;
        }
      }
      const std::size_t first = static_cast<std::size_t>(block.begin) + begin;
      for (std::size_t r = 0; r < n; ++r)
        finish(sums.data() + r * width, out + (first + r) * n_classes_, averages + (first + r) * n_columns_);
    }
  });
}

}  // namespace petiole
