// Bagged lazy option trees (Margineantu & Dietterich 2002): for every query and every bootstrap sample a tree of the
// tests that are true for the query. No trees are kept: this holds the coded data and predicts queries.
#pragma once

#include "data/sample.hpp"
#include "lazy/search.hpp"

namespace petiole {

struct LazyBagOptions {
  Bootstrap bootstrap = Bootstrap::plain;
  int n_bags = 30;
  std::uint64_t seed = 0;
};

// The progress of a long prediction: finished trees, and all trees.
struct Progress {
  std::atomic<std::uint64_t> done{0}, total{0};
};

class LazyOptionTrees {
 public:
  // The dataset must be coded, with its distinct values.
  LazyOptionTrees(Dataset&& coded, const LazyBagOptions& bags)
      : data_(std::move(coded)), bags_(bags), sampler_(bags.bootstrap, data_.dataset.labels, data_.dataset.n_classes) {}

  // Class probabilities, a row for each query. Queries in parallel; the result does not depend on the threads.
  std::vector<double> predict(const Matrix& queries, const LazyTreeOptions& options, ThreadPool& pool, Interrupt& interrupt,
                              Progress& progress) const;

  // The same for training rows, each predicted by the samples that it is not in: queries.at(i) is row rows[i]. Rows that are
  // in all samples get NaN.
  std::vector<double> out_of_bag(const Matrix& queries, std::span<const RowId> rows, const LazyTreeOptions& options,
                                 ThreadPool& pool, Interrupt& interrupt, Progress& progress) const;

  // The graph of the first query in one sample, with the shares of its nodes.
  LazyGraph explain(const Matrix& query, const LazyTreeOptions& options, int bag, Interrupt& interrupt) const;

  const LazyData& data() const { return data_; }
  int n_classes() const { return data_.dataset.n_classes; }
  int n_bags() const { return bags_.n_bags; }
  std::size_t n_features() const { return data_.dataset.columns.size(); }

 private:
  LazyBag draw(int bag) const;
  LazyQuery place(const Matrix& queries, std::int64_t row) const;

  LazyData data_;
  LazyBagOptions bags_;
  Sampler sampler_;
};

}  // namespace petiole
