#include "votes/tables.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "votes/filing.hpp"

namespace petiole {
namespace {

constexpr std::size_t kRowsPerBlock = 256;
constexpr std::size_t kMostRowsPerBlock = 1024;
// Numbers in the answers of a block of rows.
constexpr std::size_t kAnswerNumbers = 1 << 14;

// Appends rows to the last leaf.
class RowWriter {
 public:
  explicit RowWriter(VoteTables::OfTree& to) : to_(to) {}

  void entry(ClassId vote, ClassId label, double in_bag, double out_of_bag) {
    if (in_bag <= 0 && out_of_bag <= 0) return;
    if (!open_ || to_.row_vote.back() != vote) {
      to_.row_vote.push_back(vote);
      to_.entry_start.push_back(to_.entry_start.back());
      open_ = true;
    }
    to_.entry_class.push_back(label);
    to_.in_bag.push_back(in_bag);
    to_.out_of_bag.push_back(out_of_bag);
    ++to_.entry_start.back();
  }

  void end_leaf() {
    to_.row_start.push_back(static_cast<std::int32_t>(to_.row_vote.size()));
    open_ = false;
  }

 private:
  VoteTables::OfTree& to_;
  bool open_ = false;
};

// Walks the entries of a tree's leaves, each with the vote of its row.
class EntryReader {
 public:
  EntryReader(const VoteTables::OfTree& of, double scale) : of_(of), scale_(scale) {}

  void start_leaf(std::size_t leaf) {
    row_ = static_cast<std::size_t>(of_.row_start[leaf]);
    end_ = static_cast<std::size_t>(of_.entry_start[static_cast<std::size_t>(of_.row_start[leaf + 1])]);
    entry_ = static_cast<std::size_t>(of_.entry_start[row_]);
  }
  bool done() const { return entry_ == end_; }
  std::pair<ClassId, ClassId> key() const { return {of_.row_vote[row_], of_.entry_class[entry_]}; }
  double in_bag() const { return scale_ * of_.in_bag[entry_]; }
  double out_of_bag() const { return scale_ * of_.out_of_bag[entry_]; }
  void next() {
    ++entry_;
    while (!done() && entry_ == static_cast<std::size_t>(of_.entry_start[row_ + 1])) ++row_;
  }

 private:
  const VoteTables::OfTree& of_;
  double scale_;
  std::size_t row_ = 0, entry_ = 0, end_ = 0;
};

VoteTables::OfTree sum_of(const VoteTables::OfTree& one, double scale, const VoteTables::OfTree& two) {
  VoteTables::OfTree sum;
  RowWriter writer(sum);
  EntryReader mine(one, scale), theirs(two, 1.0);
  for (std::size_t leaf = 0; leaf + 1 < one.row_start.size(); ++leaf) {
    mine.start_leaf(leaf);
    theirs.start_leaf(leaf);
    while (!mine.done() || !theirs.done()) {
      const bool take_mine = !mine.done() && (theirs.done() || mine.key() <= theirs.key());
      const bool take_theirs = !theirs.done() && (mine.done() || theirs.key() <= mine.key());
      const auto [vote, label] = take_mine ? mine.key() : theirs.key();
      double in_bag = 0, out_of_bag = 0;
      const auto take = [&](EntryReader& from) {
        in_bag += from.in_bag();
        out_of_bag += from.out_of_bag();
        from.next();
      };
      if (take_mine) take(mine);
      if (take_theirs) take(theirs);
      writer.entry(vote, label, in_bag, out_of_bag);
    }
    writer.end_leaf();
  }
  return sum;
}

}  // namespace

VoteTables VoteTables::plus(const VoteTables& more, double scale, ThreadPool& pool) const {
  std::vector<OfTree> sums(trees_.size());
  pool.run(static_cast<int>(trees_.size()), [&](int, int item) {
    const auto t = static_cast<std::size_t>(item);
    sums[t] = sum_of(trees_[t], scale, more.trees_[t]);
  });
  return VoteTables(n_classes_, std::move(sums));
}

VoteTables::VoteTables(const Members& members, const std::int32_t* votes, TrainingRows rows, int n_classes, bool distinct,
                       ThreadPool& pool)
    : n_classes_(n_classes), trees_(file_rows(members, votes, rows, n_classes, distinct, pool)) {}

VoteTables::Mixture VoteTables::mixture(const OfTree& tree, double oob_weight) {
  Mixture mixed;
  mixed.items.resize(tree.row_vote.size() + tree.entry_class.size());
  mixed.start.reserve(tree.row_start.size());
  mixed.start.push_back(0);
  Item* next = mixed.items.data();
  for (std::size_t leaf = 0; leaf + 1 < tree.row_start.size(); ++leaf) {
    for (auto row = static_cast<std::size_t>(tree.row_start[leaf]); row < static_cast<std::size_t>(tree.row_start[leaf + 1]);
         ++row) {
      const auto begin = static_cast<std::size_t>(tree.entry_start[row]),
                 end = static_cast<std::size_t>(tree.entry_start[row + 1]);
      Item* head = next++;
      double sum = 0;
      for (std::size_t e = begin; e < end; ++e) {
        const double weight = tree.in_bag[e] + oob_weight * tree.out_of_bag[e];
        *next++ = {weight, tree.entry_class[e], 0};
        sum += weight;
      }
      *head = {sum, tree.row_vote[row], static_cast<std::uint16_t>(end - begin)};
    }
    mixed.start.push_back(static_cast<std::uint32_t>(next - mixed.items.data()));
  }
  return mixed;
}

void VoteTables::mix(double oob_weight, ThreadPool& pool) {
  oob_weight_ = oob_weight;
  mixed_.clear();
  mixed_.resize(trees_.size());
  pool.run(static_cast<int>(trees_.size()), [&](int, int item) {
    const auto t = static_cast<std::size_t>(item);
    mixed_[t] = mixture(trees_[t], oob_weight);
  });
}

// The sums of what the leaves of one row hold, by vote. Only votes that count are touched.
struct VoteTables::Answer {
  explicit Answer(int n)
      : n_classes(static_cast<std::size_t>(n)), weight(n_classes, 0.0), share(n_classes, 0.0), said(n_classes * n_classes) {}

  std::size_t n_classes;
  std::vector<std::size_t> votes;  // that count
  std::vector<double> weight;      // of each vote, 0: does not count
  std::vector<double> share;       // of the leaves that have a row for the vote
  std::vector<double> said;        // sums of these rows, n_classes x n_classes

  void start(int winner, const double* n_votes, Rows which) {
    for (const std::size_t j : votes) weight[j] = 0;
    votes.clear();
    const auto count = [this](std::size_t j, double of_vote) {
      votes.push_back(j);
      weight[j] = of_vote;
      share[j] = 0;
      std::fill_n(said.begin() + static_cast<std::ptrdiff_t>(j * n_classes), n_classes, 0.0);
    };
    if (which == Rows::winner) {
      if (winner >= 0) count(static_cast<std::size_t>(winner), 1.0);
      return;
    }
    for (std::size_t j = 0; j < n_classes; ++j)
      if (n_votes[j] > 0) count(j, n_votes[j]);
  }

  // The mean over votes of the mean over leaves; NaN if no leaf holds anything.
  void finish(double* out) const {
    double answered = 0;
    std::fill_n(out, n_classes, 0.0);
    for (const std::size_t j : votes) {
      if (share[j] <= 0) continue;
      const double scale = weight[j] / share[j];
      for (std::size_t k = 0; k < n_classes; ++k) out[k] += scale * said[j * n_classes + k];
      answered += weight[j];
    }
    for (std::size_t k = 0; k < n_classes; ++k)
      out[k] = answered > 0 ? out[k] / answered : std::numeric_limits<double>::quiet_NaN();
  }
};

// Adds the rows of one leaf for the votes that count. `own` is the weight with which the row of data itself is in this
// leaf's row for `own_vote`, under its class.
void VoteTables::add_leaf(std::size_t tree, LeafId leaf, double share, double own, int own_vote, ClassId own_class,
                          Answer& answer) const {
  const Mixture& mixed = mixed_[tree];
  const Item* head = mixed.items.data() + mixed.start[static_cast<std::size_t>(leaf)];
  const Item* const end = mixed.items.data() + mixed.start[static_cast<std::size_t>(leaf) + 1];
  for (; head != end; head += 1 + head->n_entries) {
    const std::size_t j = head->label;
    if (answer.weight[j] <= 0) continue;
    const double removed = static_cast<int>(j) == own_vote ? own : 0.0;
    const Item* const last = head + 1 + head->n_entries;
    const auto left = [&](const Item& entry) {
      return entry.label == own_class ? left_of(entry.weight, removed) : entry.weight;
    };
    // Added up, since a heavy row taken from the sum would leave little but rounding.
    double total = head->weight;
    if (removed > 0)
      total = std::accumulate(head + 1, last, 0.0, [&](double sum, const Item& entry) { return sum + left(entry); });
    if (total <= kNothing) continue;
    const double scale = share / total;
    double* said = answer.said.data() + j * answer.n_classes;
    for (const Item* entry = head + 1; entry != last; ++entry) said[entry->label] += scale * left(*entry);
    answer.share[j] += share;
  }
}

// The answers for a block of queries where only the winner's row counts.
class VoteTables::WinnersRows {
 public:
  void start(std::size_t n_rows, std::size_t n_classes) {
    n_classes_ = n_classes;
    share_.assign(n_rows, 0.0);
    said_.assign(n_rows * n_classes, 0.0);
  }

  void add(const Mixture& mixed, LeafId leaf, double share, std::size_t row, int winner) {
    const Item* head = mixed.items.data() + mixed.start[static_cast<std::size_t>(leaf)];
    const Item* const end = mixed.items.data() + mixed.start[static_cast<std::size_t>(leaf) + 1];
    while (head != end && static_cast<int>(head->label) != winner) head += 1 + head->n_entries;
    if (head == end || head->weight <= kNothing) return;
    const double scale = share / head->weight;
    double* said = said_.data() + row * n_classes_;
    for (const Item* entry = head + 1; entry != head + 1 + head->n_entries; ++entry)
      said[entry->label] += scale * entry->weight;
    share_[row] += share;
  }

  void finish(std::size_t row, double* out) const {
    const double none = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t k = 0; k < n_classes_; ++k) out[k] = share_[row] > 0 ? said_[row * n_classes_ + k] / share_[row] : none;
  }

 private:
  std::size_t n_classes_ = 0;
  std::vector<double> share_, said_;
};

void VoteTables::look_up_winners(const ForestRouter::Block& block, const std::int32_t* winners, WinnersRows& said,
                                 double* out) const {
  const auto n_classes = static_cast<std::size_t>(n_classes_);
  said.start(block.n, n_classes);
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    const Mixture& mixed = mixed_[t];
    const TreeReach& reach = block.trees[t];
    const LeafId* leaves = reach.leaves();
    for (std::size_t r = 0; r < block.n; ++r) {
      if (leaves[r] >= 0)
        said.add(mixed, leaves[r], 1.0, r, winners[r]);
      else
        reach.visit(r, [&](LeafId leaf, double share) { said.add(mixed, leaf, share, r, winners[r]); });
    }
  }
  for (std::size_t r = 0; r < block.n; ++r) said.finish(r, out + r * n_classes);
}

// Writes the mean of the rows that answer for one row of data, NaN if none does. `own` is the weight with which the row
// itself is in the tables, under the vote `winner` and its own class.
template <class Reach, class TakesPart>
void VoteTables::ask(std::size_t row, Reach&& reach_of, TakesPart&& takes_part, int winner, const double* votes, Rows which,
                     double own, ClassId own_class, Answer& answer, double* out) const {
  answer.start(winner, votes, which);
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    if (!takes_part(t)) continue;
    reach_of(t).visit(row,
                      [&](LeafId leaf, double share) { add_leaf(t, leaf, share, own * share, winner, own_class, answer); });
  }
  answer.finish(out);
}

void VoteTables::out_of_bag(const Members& members, const std::int32_t* winners, const double* votes, Rows which,
                            TrainingRows rows, petiole::Asked asked, ThreadPool& pool, double* out) const {
  const auto n_classes = static_cast<std::size_t>(n_classes_);
  pool.run(static_cast<int>((asked.n + kRowsPerBlock - 1) / kRowsPerBlock), [&](int, int item) {
    Answer answer(n_classes_);
    const std::size_t begin = static_cast<std::size_t>(item) * kRowsPerBlock;
    for (std::size_t i = begin; i < std::min(asked.n, begin + kRowsPerBlock); ++i) {
      const std::size_t row = asked.row(i);
      ask(
          row, [&](std::size_t t) -> const TreeReach& { return members.trees[t].reach; },
          [&](std::size_t t) { return members.trees[t].copies_of(row) == 0; }, winners[row], votes + row * n_classes, which,
          oob_weight_ * rows.weight(row), rows.labels[row], answer, out + i * n_classes);
    }
  });
}

void VoteTables::look_up(const ForestRouter& router, const Matrix& queries, const Ballot& ballot, std::size_t n_voters,
                         Rows which, const LeafTables* tables, ThreadPool& pool, std::int32_t* winners, double* votes,
                         double* out, double* averages) const {
  const auto n_classes = static_cast<std::size_t>(n_classes_);
  const std::size_t width = tables == nullptr ? 0 : tables->n_columns();
  // Answers of a block stay in the second cache.
  const std::size_t per_row = which == Rows::winner ? n_classes : n_classes * n_classes;
  const std::size_t block_rows = std::clamp<std::size_t>(kAnswerNumbers / per_row, 16, kMostRowsPerBlock);
  std::vector<std::vector<Answer>> answers(static_cast<std::size_t>(pool.n_threads()));
  std::vector<WinnersRows> of_winners(static_cast<std::size_t>(pool.n_threads()));
  router.over_blocks(queries, block_rows, pool, [&](std::size_t thread, const ForestRouter::Block& block) {
    const auto first = static_cast<std::size_t>(block.begin);
    double* const of_block = votes + first * n_classes;
    std::fill_n(of_block, block.n * n_classes, 0.0);
    std::fill_n(averages + first * width, block.n * width, 0.0);
    // Trees outside, rows inside: one tree's tables are in the cache while all rows look it up.
    for (std::size_t t = 0; t < trees_.size(); ++t) {
      if (width > 0) add_rows(block.trees[t], block.n, *tables, t, averages + first * width);
      if (t >= n_voters) continue;
      for (std::size_t r = 0; r < block.n; ++r) of_block[r * n_classes + ballot.vote(t, block.trees[t], r)] += 1;
    }
    for (std::size_t i = 0; i < block.n * width; ++i) averages[first * width + i] /= static_cast<double>(trees_.size());
    const auto reach_of = [&](std::size_t t) -> const TreeReach& { return block.trees[t]; };
    for (std::size_t r = 0; r < block.n; ++r) {
      const double* of_row = of_block + r * n_classes;
      winners[first + r] = ballot.decide(r, reach_of, [&](std::size_t t) { return t < n_voters; }, of_row);
    }
    if (which == Rows::winner) return look_up_winners(block, winners + first, of_winners[thread], out + first * n_classes);
    auto& mine = answers[thread];
    while (mine.size() < block.n) mine.emplace_back(n_classes_);
    for (std::size_t r = 0; r < block.n; ++r) mine[r].start(winners[first + r], of_block + r * n_classes, which);
    for (std::size_t t = 0; t < trees_.size(); ++t)
      for (std::size_t r = 0; r < block.n; ++r)
        block.trees[t].visit(r, [&](LeafId leaf, double share) { add_leaf(t, leaf, share, 0.0, -1, 0, mine[r]); });
    for (std::size_t r = 0; r < block.n; ++r) mine[r].finish(out + (first + r) * n_classes);
  });
}

void VoteTables::look_up(const Members& found, const Ballot& ballot, std::size_t n_voters, Rows which, ThreadPool& pool,
                         std::int32_t* winners, double* votes, double* out) const {
  const auto n_classes = static_cast<std::size_t>(n_classes_);
  pool.run(static_cast<int>((found.n_rows + kRowsPerBlock - 1) / kRowsPerBlock), [&](int, int item) {
    Answer answer(n_classes_);
    std::vector<double> of_row;
    const auto reach_of = [&](std::size_t t) -> const TreeReach& { return found.trees[t].reach; };
    const std::size_t begin = static_cast<std::size_t>(item) * kRowsPerBlock;
    for (std::size_t row = begin; row < std::min(found.n_rows, begin + kRowsPerBlock); ++row) {
      winners[row] = ballot.winner(row, reach_of, [&](std::size_t t) { return t < n_voters; }, of_row);
      std::copy(of_row.begin(), of_row.end(), votes + row * n_classes);
      ask(
          row, reach_of, [](std::size_t) { return true; }, winners[row], of_row.data(), which, 0.0, 0, answer,
          out + row * n_classes);
    }
  });
}

}  // namespace petiole
