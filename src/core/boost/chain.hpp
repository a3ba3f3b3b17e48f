// Chains of boosted trees: each round adds a tree per score, and several chains of the same data are grown in step, so that
// one number of rounds can be chosen for all of them by their held-out rows.
#pragma once

#include "boost/grow.hpp"
#include "boost/softmax.hpp"

namespace petiole::boosting {

// The rows on which a chain is grown and those on which it is evaluated.
struct ChainRows {
  std::vector<RowId> training, held_out;  // ascending
};

// Data and settings that chains share.
struct BoostData {
  const BoostColumns& columns;
  Targets targets;
  int n_classes;
  const double* starts;  // n_rows x n_classes, scores to begin with; null: logarithms of the class frequencies
};

class Chain {
 public:
  Chain(const BoostData& data, const BoostOptions& options, const ChainRows& rows, int n_threads);

  // Adds a round of trees. Those of several scores are grown side by side, one tree by all threads.
  void grow_round(ThreadPool& pool, Interrupt* interrupt);
  double held_out_loss() const { return log_loss_bits(scores_, data_.targets, rows_.held_out); }
  // Whether no tree of the last round has a split, so that the next ones would not either.
  bool is_finished() const { return is_finished_; }

  void keep_held_out_scores();
  // Writes the scores that were kept last: a row of n_classes numbers for each held-out row.
  void write_held_out_scores(double* out) const;
  void truncate(int n_rounds);
  BoostedTrees&& take_trees() { return std::move(trees_); }
  // The initial scores of all rows, one for each class.
  const std::vector<double>& base() const { return base_; }

 private:
  struct Worker {  // of one thread
    TreeGrower grower;
    RowWindows training, followers;
  };

  void start_scores();
  const double* start_of(RowId row) const;
  void draw_rows();
  GrownTree grow_tree(int score, Worker& worker, ThreadPool& pool);

  const BoostData& data_;
  const BoostOptions& options_;
  const ChainRows& rows_;
  FixedPoint units_;
  Scores scores_;
  std::vector<double> base_;
  std::vector<std::vector<Sum>> sums_;     // of each score and row
  std::vector<RowId> sample_, followers_;  // rows that the round's trees are grown on, and all others
  std::vector<Worker> workers_;
  BoostedTrees trees_;
  std::vector<double> kept_scores_;  // of held-out rows, one score after the other
  std::uint64_t round_ = 0;
  bool is_finished_ = false;
};

struct BoostedChains {
  std::vector<BoostedTrees> trees;  // of each chain
  std::vector<std::vector<double>> bases;
  std::vector<double> losses;           // rounds from 0 x chains: weighted sums over held-out rows, in bits
  int n_rounds = 0;                     // with the least sum of losses; all of them if no row is held out
  std::vector<double> held_out_scores;  // rows x classes, NaN for rows that no chain holds out
};

BoostedChains grow_chains(const BoostData& data, const BoostOptions& options, const std::vector<ChainRows>& rows,
                          ThreadPool& pool, Interrupt& interrupt);

}  // namespace petiole::boosting
