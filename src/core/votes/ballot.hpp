// The ensemble's vote: every tree votes for a class, and the most votes win.
#pragma once

#include "forest/router.hpp"

namespace petiole {

// The class frequencies at the leaves of each tree, as lists of the classes that occur.
class LeafFrequencies {
 public:
  // Of the in-bag rows; those of an empty leaf are its nearest ancestor's that is not.
  LeafFrequencies(const Forest& forest, ThreadPool& pool) : trees_(forest.trees.size()) {
    pool.run(static_cast<int>(trees_.size()), [&](int, int item) {
      const auto t = static_cast<std::size_t>(item);
      const PackedTree& tree = forest.trees[t];
      if (!has_empty_leaves(tree.in_bag)) {
        trees_[t] = frequencies_of(tree.in_bag);
        return;
      }
      std::vector<double> table(tree.vote.size() * static_cast<std::size_t>(forest.n_classes), 0.0);
      leaf_counts(tree, forest.n_classes, {1.0, 0.0, kWeightSlack}, table.data());
      trees_[t] = frequencies_of(LeafCounts(table.data(), tree.vote.size(), forest.n_classes));
    });
  }
  explicit LeafFrequencies(const LeafTables& tables) {
    for (std::size_t t = 0; t < tables.n_trees(); ++t)
      trees_.push_back(
          frequencies_of(LeafCounts(tables.table(t).data(), tables.n_leaves(t), static_cast<int>(tables.n_columns()))));
  }

  // Adds share times the frequencies of a leaf.
  void add_to(std::size_t tree, LeafId leaf, double share, std::vector<double>& sums) const {
    const OfTree& of_tree = trees_[tree];
    const auto at = static_cast<std::size_t>(leaf);
    for (std::uint32_t e = of_tree.start[at]; e < of_tree.start[at + 1]; ++e)
      sums[of_tree.label[e]] += share * of_tree.frequency[e];
  }

 private:
  struct OfTree {
    std::vector<std::uint32_t> start{0};
    std::vector<ClassId> label;
    std::vector<double> frequency;
  };

  static bool has_empty_leaves(const LeafCounts& counts) {
    return counts.n_entries().visit(
        [&](const auto* n) { return std::any_of(n, n + counts.n_entries().size(), [](auto m) { return m == 0; }); });
  }

  static OfTree frequencies_of(const LeafCounts& counts) {
    OfTree tree;
    tree.start.reserve(counts.n_entries().size() + 1);
    tree.label.reserve(counts.classes().size());
    tree.frequency.reserve(counts.classes().size());
    counts.visit([&](std::size_t, const ClassId* labels, const double* weights, std::size_t n) {
      const double sum = std::accumulate(weights, weights + n, 0.0);
      for (std::size_t e = 0; e < n; ++e) {
        tree.label.push_back(labels[e]);
        tree.frequency.push_back(sum > 0 ? weights[e] / sum : 0.0);
      }
      tree.start.push_back(static_cast<std::uint32_t>(tree.label.size()));
    });
    return tree;
  }

  std::vector<OfTree> trees_;
};

class Ballot {
 public:
  // leaf_votes: a class per leaf for each tree. frequencies: the in-bag class frequencies of each leaf; they decide ties,
  // and the vote of a row that is spread over several leaves. prior: the classes' weights in the training set.
  Ballot(std::vector<std::vector<ClassId>> leaf_votes, LeafFrequencies frequencies, std::vector<double> prior)
      : leaf_votes_(std::move(leaf_votes)), frequencies_(std::move(frequencies)), prior_(std::move(prior)) {}

  // The ballot of a forest whose leaves vote as they were counted.
  static Ballot of(const Forest& forest, std::vector<double> prior, ThreadPool& pool) {
    std::vector<std::vector<ClassId>> votes;
    for (const PackedTree& tree : forest.trees) votes.push_back(tree.vote.widened<ClassId>());
    return Ballot(std::move(votes), LeafFrequencies(forest, pool), std::move(prior));
  }

  std::size_t n_classes() const { return prior_.size(); }
  std::size_t n_trees() const { return leaf_votes_.size(); }
  std::size_t n_leaves(std::size_t tree) const { return leaf_votes_[tree].size(); }

  // Adds up the votes for a row: reach_of(t) is the TreeReach of tree t, and trees for which takes_part(t) is false do not
  // vote. Returns the winner, -1 if no tree votes. Ties go to the larger mean frequency, then to the more frequent class,
  // then to the first. `votes` has a number per class.
  template <class Reach, class TakesPart>
  int winner(std::size_t row, Reach&& reach_of, TakesPart&& takes_part, std::vector<double>& votes) const {
    votes.assign(n_classes(), 0.0);
    for (std::size_t t = 0; t < n_trees(); ++t)
      if (takes_part(t)) votes[vote(t, reach_of(t), row)] += 1;
    return decide(row, reach_of, takes_part, votes.data());
  }

  // The votes of a tree's leaves.
  const ClassId* leaf_votes(std::size_t tree) const { return leaf_votes_[tree].data(); }

  // The vote of one tree.
  std::size_t vote(std::size_t tree, const TreeReach& reach, std::size_t row) const {
    return reach.is_spread(row) ? vote_of_spread(reach, tree, row)
                                : leaf_votes_[tree][static_cast<std::size_t>(reach.leaves()[row])];
  }

  // The winner of votes that have been added up.
  template <class Reach, class TakesPart>
  int decide(std::size_t row, Reach&& reach_of, TakesPart&& takes_part, const double* votes) const {
    const double most = *std::max_element(votes, votes + n_classes());
    if (most <= 0) return -1;
    std::vector<std::size_t> tied;
    for (std::size_t k = 0; k < n_classes(); ++k)
      if (votes[k] == most) tied.push_back(k);
    if (tied.size() == 1) return static_cast<int>(tied[0]);
    std::vector<double> sums(n_classes(), 0.0);
    double n_voters = 0;
    for (std::size_t t = 0; t < n_trees(); ++t) {
      if (!takes_part(t)) continue;
      add_frequencies(reach_of(t), t, row, sums);
      n_voters += 1;
    }
    std::size_t best = tied[0];
    for (const std::size_t k : tied)
      if (k != best && beats(k, best, sums, n_voters * kTieOfMeans)) best = k;
    return static_cast<int>(best);
  }

 private:
  static constexpr double kTieOfMeans = 1e-9;

  bool beats(std::size_t k, std::size_t best, const std::vector<double>& sums, double slack) const {
    if (sums[k] > sums[best] + slack) return true;
    return sums[k] >= sums[best] - slack && prior_[k] > prior_[best] + kWeightSlack;
  }

  void add_frequencies(const TreeReach& reach, std::size_t tree, std::size_t row, std::vector<double>& sums) const {
    reach.visit(row, [&](LeafId leaf, double share) { frequencies_.add_to(tree, leaf, share, sums); });
  }

  std::size_t vote_of_spread(const TreeReach& reach, std::size_t tree, std::size_t row) const {
    std::vector<double> sums(n_classes(), 0.0);
    add_frequencies(reach, tree, row, sums);
    std::size_t best = 0;
    for (std::size_t k = 1; k < sums.size(); ++k)
      if (beats(k, best, sums, kTieOfMeans)) best = k;
    return best;
  }

  std::vector<std::vector<ClassId>> leaf_votes_;
  LeafFrequencies frequencies_;
  std::vector<double> prior_;
};

}  // namespace petiole
