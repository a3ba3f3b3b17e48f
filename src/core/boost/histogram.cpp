#include "boost/histogram.hpp"

#include <algorithm>
#include <array>

#include "base/prefetch.hpp"

namespace petiole::boosting {
namespace {

constexpr int kGroup = BoostColumns::kGroup;
constexpr std::size_t kAhead = 24;  // rows between a word's prefetch and its use

// The rows of a node are in ascending order, but with gaps, which hardware does not foresee.
template <class Word, class F>
void over_words(const Word* words, std::span<const RowId> rows, F&& f) {
  const std::size_t n = rows.size(), n_ahead = n > kAhead ? n - kAhead : 0;
  std::size_t i = 0;
  for (; i < n_ahead; ++i) {
    prefetch(words + rows[i + kAhead]);
    f(i, words[rows[i]]);
  }
  for (; i < n; ++i) f(i, words[rows[i]]);
}

template <class Word>
void add_four(const Word* words, std::span<const RowId> rows, const Sum* sums, const std::array<Sum*, kGroup>& bins) {
  Sum *const first = bins[0], *const second = bins[1], *const third = bins[2], *const fourth = bins[3];
  over_words(words, rows, [=](std::size_t i, Word word) {
    const Sum sum = sums[i];
    first[BoostColumns::code(word, 0)] += sum;
    second[BoostColumns::code(word, 1)] += sum;
    third[BoostColumns::code(word, 2)] += sum;
    fourth[BoostColumns::code(word, 3)] += sum;
  });
}

template <class Word>
void add_one(const Word* words, int lane, std::span<const RowId> rows, const Sum* sums, Sum* bins) {
  over_words(words, rows, [=](std::size_t i, Word word) { bins[BoostColumns::code(word, lane)] += sums[i]; });
}

}  // namespace

void fill_group(const BoostColumns& columns, int group, const std::vector<std::uint8_t>& wanted, std::span<const RowId> rows,
                const Sum* sums, Histogram& histogram) {
  std::array<Sum*, kGroup> bins;
  bins.fill(&histogram.back());
  int n_wanted = 0;
  for (int lane = 0; lane < kGroup; ++lane) {
    const int j = group * kGroup + lane;
    if (j >= columns.n_columns() || !wanted[static_cast<std::size_t>(j)]) continue;
    ++n_wanted;
    bins[static_cast<std::size_t>(lane)] = histogram.data() + columns[j].first_bin;
    std::fill_n(bins[static_cast<std::size_t>(lane)], columns[j].n_bins(), Sum{});
  }
  columns.visit_group(group, [&](const auto* words) {
    if (n_wanted == kGroup) {
      add_four(words, rows, sums, bins);
      return;
    }
    for (int lane = 0; lane < kGroup; ++lane) {
      Sum* const of_lane = bins[static_cast<std::size_t>(lane)];
      if (of_lane != &histogram.back()) add_one(words, lane, rows, sums, of_lane);
    }
  });
}

void subtract(const BoostColumns& columns, const std::vector<int>& wanted, const Histogram& child, Histogram& parent) {
  for (const int j : wanted) {
    const std::size_t first = columns[j].first_bin, end = first + columns[j].n_bins();
    for (std::size_t i = first; i < end; ++i) parent[i] = parent[i] - child[i];
  }
}

}  // namespace petiole::boosting
