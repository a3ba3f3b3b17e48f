#include "boost/chain.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.hpp"

namespace petiole::boosting {
namespace {

// A class without training rows starts as if it had half a row.
constexpr double kAbsent = 0.5;

FixedPoint units_of(const Targets& targets, const std::vector<RowId>& rows) {
  double total = 0;
  bool whole = true;
  for (const RowId row : rows) {
    total += targets.weight(row);
    whole &= targets.weight(row) == std::floor(targets.weight(row));
  }
  return {total, whole};
}

// The other rows of both lists: those of `all` that are not in `some`, and those of `more`, in ascending order.
std::vector<RowId> others(const std::vector<RowId>& all, const std::vector<RowId>& some, const std::vector<RowId>& more) {
  std::vector<RowId> rest, merged;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
  std::merge(rest.begin(), rest.end(), more.begin(), more.end(), std::back_inserter(merged));
  return merged;
}

}  // namespace

Chain::Chain(const BoostData& data, const BoostOptions& options, const ChainRows& rows, int n_threads)
    : data_(data),
      options_(options),
      rows_(rows),
      units_(units_of(data.targets, rows.training)),
      scores_(data.columns.n_rows(), data.n_classes),
      sums_(static_cast<std::size_t>(scores_.width()), std::vector<Sum>(data.columns.n_rows())),
      sample_(rows.training),
      followers_(rows.held_out) {
  for (int t = 0; t < n_threads; ++t) workers_.push_back({TreeGrower(data.columns, options_, units_), {}, {}});
  start_scores();
  keep_held_out_scores();
}

void Chain::start_scores() {
  const auto n_classes = static_cast<std::size_t>(data_.n_classes);
  base_.assign(n_classes, 0.0);
  if (data_.starts == nullptr) {
    for (const RowId row : rows_.training) base_[data_.targets.labels[row]] += data_.targets.weight(row);
    const double total = std::accumulate(base_.begin(), base_.end(), 0.0);
    for (double& weight : base_) weight = std::log((weight > 0 ? weight : kAbsent) / total);
  }
  for (int k = 0; k < scores_.width(); ++k) {
    double* const of = scores_.of(k);
    for (const auto* rows : {&rows_.training, &rows_.held_out})
      for (const RowId row : *rows) {
        const double* const start = start_of(row);
        of[row] = n_classes == 2 ? start[1] - start[0] : start[k];
      }
  }
}

const double* Chain::start_of(RowId row) const {
  return data_.starts == nullptr ? base_.data() : data_.starts + row * static_cast<std::size_t>(data_.n_classes);
}

void Chain::draw_rows() {
  if (options_.subsample >= 1) return;
  const std::uint64_t key = derive_key(derive_key(options_.seed, round_), 0x5ab5a);
  sample_.clear();
  for (const RowId row : rows_.training)
    if (static_cast<double>(derive_key(key, row) >> 11) * 0x1p-53 < options_.subsample) sample_.push_back(row);
  if (sample_.empty()) sample_ = rows_.training;
  followers_ = others(rows_.training, sample_, rows_.held_out);
}

GrownTree Chain::grow_tree(int score, Worker& worker, ThreadPool& pool) {
  worker.training.start(std::vector<RowId>(sample_));
  worker.followers.start(std::vector<RowId>(followers_));
  const std::uint64_t key = derive_key(derive_key(options_.seed, round_), static_cast<std::uint64_t>(score));
  GrownTree tree = worker.grower.grow(sums_[static_cast<std::size_t>(score)], worker.training, worker.followers, key, pool);
  double* const scores = scores_.of(score);
  for (std::size_t node = 0; node < tree.nodes.size(); ++node) {
    if (tree.nodes[node].left >= 0) continue;
    for (const RowWindows* windows : {&worker.training, &worker.followers})
      for (const RowId row : windows->rows(node)) scores[row] += tree.nodes[node].value;
  }
  return tree;
}

void Chain::grow_round(ThreadPool& pool, Interrupt* interrupt) {
  draw_rows();
  constexpr int kBlock = 4096;
  const auto n_blocks = static_cast<int>((sample_.size() + kBlock - 1) / kBlock);
  pool.run(n_blocks, [&](int, int block) {
    const auto first = static_cast<std::size_t>(block) * kBlock;
    const std::span<const RowId> rows(sample_);
    differentiate(scores_, data_.targets, rows.subspan(first, std::min<std::size_t>(kBlock, rows.size() - first)), units_,
                  sums_);
  });
  std::vector<GrownTree> grown(sums_.size());
  ThreadPool alone(1);
  const auto grow_one = [&](int thread, int score, ThreadPool& inside) {
    grown[static_cast<std::size_t>(score)] = grow_tree(score, workers_[static_cast<std::size_t>(thread)], inside);
    const std::uint64_t work = sample_.size() * static_cast<std::size_t>(data_.columns.n_columns());
    if (thread == 0 && interrupt != nullptr) interrupt->check(work * 4);
  };
  if (grown.size() == 1)
    grow_one(0, 0, pool);
  else
    pool.run(static_cast<int>(grown.size()), [&](int thread, int score) { grow_one(thread, score, alone); });
  for (const GrownTree& tree : grown) tree.append_to(trees_, data_.columns);
  const bool draws = options_.subsample < 1 || options_.max_features > 0;
  is_finished_ =
      !draws && std::all_of(grown.begin(), grown.end(), [](const GrownTree& tree) { return tree.nodes.size() == 1; });
  ++round_;
}

void Chain::keep_held_out_scores() {
  kept_scores_.clear();
  for (int k = 0; k < scores_.width(); ++k)
    for (const RowId row : rows_.held_out) kept_scores_.push_back(scores_.of(k)[row]);
}

void Chain::write_held_out_scores(double* out) const {
  const auto n_classes = static_cast<std::size_t>(data_.n_classes);
  const std::size_t n = rows_.held_out.size();
  for (std::size_t i = 0; i < n; ++i) {
    const RowId row = rows_.held_out[i];
    double* const to = out + row * n_classes;
    if (n_classes == 2) {
      to[0] = start_of(row)[0];
      to[1] = to[0] + kept_scores_[i];
    } else {
      for (std::size_t k = 0; k < n_classes; ++k) to[k] = kept_scores_[k * n + i];
    }
  }
}

void Chain::truncate(int n_rounds) { trees_.truncate(static_cast<std::size_t>(n_rounds) * sums_.size()); }

BoostedChains grow_chains(const BoostData& data, const BoostOptions& options, const std::vector<ChainRows>& rows,
                          ThreadPool& pool, Interrupt& interrupt) {
  const bool side_by_side = rows.size() > 1;
  std::vector<Chain> chains;
  chains.reserve(rows.size());
  for (const ChainRows& of : rows) chains.emplace_back(data, options, of, side_by_side ? 1 : pool.n_threads());
  BoostedChains found;
  double least = 0;
  const bool judged = std::any_of(rows.begin(), rows.end(), [](const ChainRows& of) { return !of.held_out.empty(); });
  const auto judge = [&] {
    double loss = 0;
    for (const Chain& chain : chains) loss += found.losses.emplace_back(chain.held_out_loss());
    return loss;
  };
  ThreadPool alone(1);
  if (judged) least = judge();
  for (int round = 1; round <= options.n_rounds; ++round) {
    if (side_by_side)
      pool.run(static_cast<int>(chains.size()), [&](int thread, int item) {
        chains[static_cast<std::size_t>(item)].grow_round(alone, thread == 0 ? &interrupt : nullptr);
      });
    else
      chains[0].grow_round(pool, &interrupt);
    const double loss = judged ? judge() : 0;
    if (!judged || loss < least) {
      least = loss;
      found.n_rounds = round;
      for (Chain& chain : chains) chain.keep_held_out_scores();
    }
    const bool finished = std::all_of(chains.begin(), chains.end(), [](const Chain& chain) { return chain.is_finished(); });
    if (finished || round - found.n_rounds >= options.patience) break;
  }
  found.held_out_scores.assign(data.columns.n_rows() * static_cast<std::size_t>(data.n_classes), std::nan(""));
  for (Chain& chain : chains) {
    chain.truncate(found.n_rounds);
    chain.write_held_out_scores(found.held_out_scores.data());
    found.bases.push_back(chain.base());
    found.trees.push_back(chain.take_trees());
  }
  return found;
}

}  // namespace petiole::boosting
