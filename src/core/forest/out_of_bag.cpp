#include "forest/out_of_bag.hpp"

#include <algorithm>
#include <cmath>

namespace petiole {
namespace {

constexpr std::size_t kRowsPerItem = 2048;
constexpr std::size_t kRowsPerBallot = 256;  // whose votes stay in the first cache

// Runs body(thread, begin, end) over rows in parallel.
template <class F>
void over_rows(std::size_t n_rows, ThreadPool& pool, F&& body, std::size_t rows_per_item = kRowsPerItem) {
  pool.run(static_cast<int>((n_rows + rows_per_item - 1) / rows_per_item), [&](int thread, int item) {
    const std::size_t begin = static_cast<std::size_t>(item) * rows_per_item;
    body(static_cast<std::size_t>(thread), begin, std::min(n_rows, begin + rows_per_item));
  });
}

// out[row] = sums[row] / shares[row], NaN where the share is zero.
void divide(double* out, const std::vector<double>& shares, std::size_t width) {
  for (std::size_t r = 0; r < shares.size(); ++r)
    for (std::size_t k = 0; k < width; ++k)
      out[r * width + k] = shares[r] > 0 ? out[r * width + k] / shares[r] : std::numeric_limits<double>::quiet_NaN();
}

// Rows in blocks, trees outside the rows of a block, so that one tree's table stays in the cache. add(tree, row, leaf,
// share, to) returns the share that counts.
template <class F>
void average_unseen(const Members& members, std::size_t width, Asked asked, ThreadPool& pool, double* out, F&& add) {
  over_rows(asked.n, pool, [&](std::size_t, std::size_t begin, std::size_t end) {
    std::fill(out + begin * width, out + end * width, 0.0);
    std::vector<double> shares(end - begin, 0.0);
    for (std::size_t t = 0; t < members.trees.size(); ++t) {
      const Members::OfTree& tree = members.trees[t];
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t row = asked.row(i);
        if (tree.copies_of(row) > 0) continue;
        tree.reach.visit(row,
                         [&](LeafId leaf, double share) { shares[i - begin] += add(t, row, leaf, share, out + i * width); });
      }
    }
    divide(out + begin * width, shares, width);
  });
}

}  // namespace

void out_of_bag_votes(const Members& members, const Ballot& ballot, ThreadPool& pool, std::int32_t* winners, double* votes) {
  const std::size_t width = ballot.n_classes();
  std::vector<std::vector<std::uint32_t>> counts(static_cast<std::size_t>(pool.n_threads()));
  over_rows(
      members.n_rows, pool,
      [&](std::size_t thread, std::size_t begin, std::size_t end) {
        auto& of_rows = counts[thread];
        of_rows.assign((end - begin) * width, 0);
        // Trees outside: each is read once, in order. Whether a tree has seen a row is random, so there is no branch on it.
        for (std::size_t t = 0; t < ballot.n_trees(); ++t) {
          const Members::OfTree& tree = members.trees[t];
          std::uint32_t* of_row = of_rows.data();
          if (tree.copies.empty()) continue;
          if (tree.reach.any_spread()) {
            for (std::size_t row = begin; row < end; ++row, of_row += width)
              of_row[ballot.vote(t, tree.reach, row)] += tree.copies[row] == 0;
            continue;
          }
          const LeafId* leaves = tree.reach.leaves();
          const std::uint16_t* copies = tree.copies.data();
          const ClassId* leaf_votes = ballot.leaf_votes(t);
          for (std::size_t row = begin; row < end; ++row, of_row += width)
            of_row[leaf_votes[leaves[row]]] += copies[row] == 0;
        }
        std::copy(of_rows.begin(), of_rows.end(), votes + begin * width);
        for (std::size_t row = begin; row < end; ++row)
          winners[row] = ballot.decide(
              row, [&](std::size_t t) -> const TreeReach& { return members.trees[t].reach; },
              [&](std::size_t t) { return members.trees[t].copies_of(row) == 0; }, votes + row * width);
      },
      kRowsPerBallot);
}

void out_of_bag_average(const Members& members, const LeafTables& tables, Asked asked, ThreadPool& pool, double* out) {
  const std::size_t width = tables.n_columns();
  average_unseen(members, width, asked, pool, out, [&](std::size_t t, std::size_t, LeafId leaf, double share, double* to) {
    tables.add_row(t, leaf, share, to);
    return share;
  });
}

void out_of_bag_frequencies(const Members& members, const LeafTables& counts, double oob_weight, TrainingRows rows,
                            Asked asked, ThreadPool& pool, double* out) {
  const std::size_t width = counts.n_columns();
  average_unseen(members, width, asked, pool, out,
                 [&](std::size_t t, std::size_t row, LeafId leaf, double share, double* to) {
                   thread_local std::vector<double> room;
                   const double* from = counts.row(t, leaf, room);
                   const std::size_t y = rows.labels[row];
                   double own_share = share;
                   if (!counts.has_own_counts() && members.trees[t].reach.is_spread(row)) {
                     // All parts of the row that are below the ancestor are in its counts.
                     own_share = 0;
                     members.trees[t].reach.visit(row, [&](LeafId other, double part) {
                       if (counts.holds(t, leaf, other)) own_share += part;
                     });
                   }
                   // The other rows are added up: subtracting a heavy row from the sum would leave mostly rounding.
                   const double rest = left_of(from[y], oob_weight * rows.weight(row) * own_share);
                   double total = rest;
                   for (std::size_t k = 0; k < width; ++k) total += k == y ? 0.0 : from[k];
                   if (total <= kNothing) return 0.0;
                   const double scale = share / total;
                   for (std::size_t k = 0; k < width; ++k) to[k] += scale * (k == y ? rest : from[k]);
                   return share;
                 });
}

}  // namespace petiole
