// The best split of a node whose rows are elsewhere, from the weight of each (feature, code, class).
//
// An entry of a histogram is like a row that has a value in one feature only, so the search is that of growth.
#pragma once

#include <optional>
#include <span>

#include "grow/split.hpp"

namespace petiole {

// Data that all nodes of a tree share. Codes are those of the dataset; the code n_codes means missing.
struct HistogramColumns {
  std::vector<std::uint32_t> n_codes;
  std::vector<std::uint8_t> categorical;
};

// The entries of feature j are start[j] .. start[j + 1].
struct NodeHistogram {
  std::vector<std::uint32_t> start, code;
  std::vector<ClassId> label;
  std::vector<double> weight;
};

// The entries with a positive weight in a table of n_classes weights for each code of each feature; feature j has the
// rows first[j] .. first[j + 1], the last of them for missing values. Throws std::invalid_argument if the rows do not
// exist.
NodeHistogram to_histogram(const double* table, std::size_t n_rows, std::size_t n_classes,
                           std::span<const std::uint32_t> first);

struct HistogramChoice {
  Candidate candidate;              // its column is the feature
  std::vector<std::uint32_t> left;  // categorical binary: the codes that go left
};

class HistogramSearch {
 public:
  // whole: all weights are whole numbers, which are added up exactly.
  HistogramSearch(HistogramColumns columns, GrowOptions options, int n_classes, double dataset_weight, bool whole);

  // `key` is the node's.
  std::optional<HistogramChoice> find(std::uint64_t key, const NodeHistogram& histogram) const;

 private:
  template <class W>
  std::optional<HistogramChoice> find_with(std::uint64_t key, const NodeHistogram& histogram) const;

  HistogramColumns columns_;
  GrowOptions options_;
  SearchContext context_;
  std::optional<LogTable> log_table_;
  bool whole_;
};

// The keys of a tree's nodes: of its root, and of the branches of a node.
std::uint64_t root_key(std::uint64_t seed);
std::uint64_t branch_key(std::uint64_t key, std::uint64_t branch);

}  // namespace petiole
