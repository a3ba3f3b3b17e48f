#include "soft/out_of_bag.hpp"

#include <algorithm>

namespace petiole {
namespace {

constexpr std::size_t kRowsPerItem = 64;

// Runs body(row) in parallel.
template <class F>
void over_rows(std::size_t n_rows, ThreadPool& pool, F&& body) {
  pool.run(static_cast<int>((n_rows + kRowsPerItem - 1) / kRowsPerItem), [&](int, int item) {
    const std::size_t begin = static_cast<std::size_t>(item) * kRowsPerItem;
    for (std::size_t row = begin; row < std::min(n_rows, begin + kRowsPerItem); ++row) body(row);
  });
}

// Calls f(tree, leaf, mass) for the leaves at which a row is asked.
template <class F>
void over_unseen_leaves(const SoftRows& rows, std::size_t row, F&& f) {
  for (std::size_t t = 0; t < rows.asked.trees.size(); ++t) {
    const Members::OfTree& tree = rows.asked.trees[t];
    if (tree.copies_of(row) == 0) tree.reach.visit(row, [&](LeafId leaf, double mass) { f(t, leaf, mass); });
  }
}

// The weight with which the row itself is in the counts of the leaves for which holds(leaf).
template <class Holds>
double own_weight(const SoftRows& rows, std::size_t tree, std::size_t row, Holds&& holds) {
  double share = 0;
  rows.counted.trees[tree].reach.visit(row, [&](LeafId leaf, double part) {
    if (holds(leaf)) share += part;
  });
  return share * rows.oob_weight * rows.rows.weight(row);
}

void divide_or_nan(double* out, std::size_t width, double by) {
  for (std::size_t k = 0; k < width; ++k) out[k] = by > 0 ? out[k] / by : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void soft_out_of_bag_frequencies(const SoftRows& rows, const LeafTables& counts, ThreadPool& pool, double* out) {
  const std::size_t width = counts.n_columns();
  over_rows(rows.asked.n_rows, pool, [&](std::size_t row) {
    double* const to = out + row * width;
    const std::size_t y = rows.rows.labels[row];
    double share = 0;
    std::vector<double> room;
    std::fill_n(to, width, 0.0);
    over_unseen_leaves(rows, row, [&](std::size_t t, LeafId leaf, double mass) {
      const double* from = counts.row(t, leaf, room);
      const double own = own_weight(
          rows, t, row, [&](LeafId other) { return counts.has_own_counts() ? other == leaf : counts.holds(t, leaf, other); });
      const double left = left_of(from[y], own);
      double total = left;
      for (std::size_t k = 0; k < width; ++k) total += k == y ? 0.0 : from[k];
      if (total <= kNothing) return;
      for (std::size_t k = 0; k < width; ++k) to[k] += mass / total * (k == y ? left : from[k]);
      share += mass;
    });
    divide_or_nan(to, width, share);
  });
}

namespace {

// The sums of the answers of leaves for one row so far, by vote.
struct Answer {
  std::vector<double> weight, share, said;  // said: n_classes x n_classes

  void start(std::size_t n_classes, int winner, const double* votes, VoteTables::Rows which) {
    weight.assign(n_classes, 0.0);
    share.assign(n_classes, 0.0);
    said.assign(n_classes * n_classes, 0.0);
    if (which == VoteTables::Rows::shared)
      weight.assign(votes, votes + n_classes);
    else if (winner >= 0)
      weight[static_cast<std::size_t>(winner)] = 1;
  }

  void finish(double* out) const {
    const std::size_t n_classes = weight.size();
    double answered = 0;
    std::fill_n(out, n_classes, 0.0);
    for (std::size_t j = 0; j < n_classes; ++j) {
      if (weight[j] <= 0 || share[j] <= 0) continue;
      for (std::size_t k = 0; k < n_classes; ++k) out[k] += weight[j] / share[j] * said[j * n_classes + k];
      answered += weight[j];
    }
    divide_or_nan(out, n_classes, answered);
  }
};

// The row of one vote at a leaf, `own` of the row's class taken out.
void add_row(const VoteTables::OfTree& tables, std::size_t row, double oob_weight, double own, std::size_t own_class,
             double mass, Answer& answer) {
  const std::size_t j = tables.row_vote[row], n_classes = answer.weight.size();
  const auto begin = static_cast<std::size_t>(tables.entry_start[row]),
             end = static_cast<std::size_t>(tables.entry_start[row + 1]);
  const auto left = [&](std::size_t e) {
    const double mixed = tables.in_bag[e] + oob_weight * tables.out_of_bag[e];
    return tables.entry_class[e] == own_class ? left_of(mixed, own) : mixed;
  };
  double total = 0;
  for (std::size_t e = begin; e < end; ++e) total += left(e);
  if (total <= kNothing) return;
  for (std::size_t e = begin; e < end; ++e) answer.said[j * n_classes + tables.entry_class[e]] += mass / total * left(e);
  answer.share[j] += mass;
}

}  // namespace

void soft_out_of_bag_rows(const SoftRows& rows, const VoteTables& tables, const SoftVotes& votes, VoteTables::Rows which,
                          ThreadPool& pool, double* out) {
  const auto n_classes = static_cast<std::size_t>(tables.n_classes());
  over_rows(rows.asked.n_rows, pool, [&](std::size_t row) {
    Answer answer;
    answer.start(n_classes, votes.winners[row], votes.votes + row * n_classes, which);
    over_unseen_leaves(rows, row, [&](std::size_t t, LeafId leaf, double mass) {
      const VoteTables::OfTree& of_tree = tables.trees()[t];
      const double own = own_weight(rows, t, row, [&](LeafId other) { return other == leaf; });
      const auto at = static_cast<std::size_t>(leaf);
      for (auto r = static_cast<std::size_t>(of_tree.row_start[at]); r < static_cast<std::size_t>(of_tree.row_start[at + 1]);
           ++r) {
        const std::size_t j = of_tree.row_vote[r];
        if (answer.weight[j] <= 0) continue;
        add_row(of_tree, r, rows.oob_weight, static_cast<int>(j) == votes.filed[row] ? own : 0.0, rows.rows.labels[row], mass,
                answer);
      }
    });
    answer.finish(out + row * n_classes);
  });
}

}  // namespace petiole
