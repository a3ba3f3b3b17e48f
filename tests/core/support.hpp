// What the tests of the core share: the check itself, random data of odd shapes, and comparisons.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "forest/leaf_tables.hpp"
#include "grow/grow.hpp"

using namespace petiole;

inline int n_failed = 0;
inline int n_passed = 0;

// Counts what holds and says what does not.
#define CHECK(condition)                                                  \
  do {                                                                    \
    if (condition) {                                                      \
      ++n_passed;                                                         \
    } else {                                                              \
      ++n_failed;                                                         \
      std::printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                     \
  } while (false)

// One for each folder of the core.
void base_tests();
void data_tests();
void tree_tests();
void grow_tests();
void forest_tests();
void votes_tests();
void estimate_tests();
void soft_tests();
void lazy_tests();
void linear_tests();
void explain_tests();
void boost_tests();

using Engine = std::mt19937_64;

inline int below(Engine& engine, int n) { return static_cast<int>(engine() % static_cast<std::uint64_t>(n)); }

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Random rows with ties, missing cells, categorical columns and weights; owns what the dataset points to.
struct Sample {
  std::vector<double> values;  // row-major
  std::vector<std::int32_t> n_categories;
  Dataset dataset;

  Sample(Engine& engine, int n_rows, int n_columns, int n_classes) {
    const bool with_missing = below(engine, 2) == 0, with_weights = below(engine, 3) == 0;
    values.resize(static_cast<std::size_t>(n_rows) * static_cast<std::size_t>(n_columns));
    for (int j = 0; j < n_columns; ++j) {
      const int size = 1 + below(engine, 12);
      const bool categorical = below(engine, 3) == 0, real = below(engine, 2) == 0;
      n_categories.push_back(categorical ? size : 0);
      for (int i = 0; i < n_rows; ++i) {
        double& cell = values[static_cast<std::size_t>(i * n_columns + j)];
        cell = below(engine, size);
        if (!categorical && real) cell = std::sin(static_cast<double>(below(engine, 100000)));
        if (with_missing && below(engine, 5) == 0) cell = std::nan("");
      }
    }
    for (int i = 0; i < n_rows; ++i) {
      dataset.labels.push_back(static_cast<ClassId>(below(engine, n_classes)));
      if (with_weights) dataset.weights.push_back(0.25 * (1 + below(engine, 8)));
    }
    dataset.n_classes = n_classes;
    dataset.matrix = {values.data(), false, n_rows, n_columns, n_columns, 1};
  }

  Tree grow_with(const GrowOptions& options, const CodingOptions& coding, int n_threads) {
    ThreadPool pool(n_threads);
    Interrupt interrupt;
    code_columns(dataset, n_categories, coding, pool, interrupt);
    return TreeGrower(dataset, options, pool).grow({}, options.seed, interrupt);
  }

  GrownForest forest_with(int n_trees, const GrowOptions& options, const ForestOptions& forest, int n_threads) {
    ThreadPool pool(n_threads);
    Interrupt interrupt;
    code_columns(dataset, n_categories, {}, pool, interrupt);
    return grow_forest(dataset, n_trees, options, forest, pool, interrupt);
  }

  void fill_in_missing() {
    for (double& value : values)
      if (std::isnan(value)) value = 0;
  }

  std::vector<double> class_weights() const {
    std::vector<double> sums(static_cast<std::size_t>(dataset.n_classes), 0.0);
    for (RowId row = 0; row < dataset.n_rows(); ++row) sums[dataset.labels[row]] += dataset.weight(row);
    return sums;
  }
};

inline GrowOptions random_options(Engine& engine, int n_classes) {
  GrowOptions options;
  options.criterion = static_cast<Criterion>(below(engine, 4));
  options.nominal_splits = static_cast<NominalSplits>(below(engine, 2));
  options.missing = static_cast<Missing>(below(engine, 2));
  options.min_samples_leaf = 1 + below(engine, 4);
  options.max_features = below(engine, 3);
  options.random_ties = below(engine, 2) == 0;
  options.seed = engine();
  if (below(engine, 4) == 0) options.max_depth = 1 + below(engine, 3);
  if (below(engine, 4) == 0)
    for (int k = 0; k < n_classes; ++k) options.class_scale.push_back(0.5 + below(engine, 4));
  return options;
}

inline ForestOptions random_forest_options(Engine& engine) {
  ForestOptions options;
  options.bootstrap = static_cast<Bootstrap>(below(engine, 3));
  options.distinct = below(engine, 2) == 0;
  options.keep_members = true;
  options.first_tree = static_cast<std::uint64_t>(below(engine, 3));
  return options;
}

inline double node_weight(const Tree& tree, std::size_t node) {
  double sum = 0;
  for (int k = 0; k < tree.n_classes; ++k)
    sum += tree.counts[node * static_cast<std::size_t>(tree.n_classes) + static_cast<std::size_t>(k)];
  return sum;
}

inline std::vector<double> node_weights(const Tree& tree) {
  std::vector<double> weights;
  for (std::size_t node = 0; node < tree.n_nodes(); ++node) weights.push_back(node_weight(tree, node));
  return weights;
}

inline void check_children_add_up(const Tree& tree) {
  bool good = true;
  for (std::size_t node = 0; node < tree.n_nodes(); ++node) {
    if (tree.feature[node] < 0) continue;
    double sum = 0;
    for (std::int32_t c = tree.child_start[node]; c < tree.child_start[node + 1]; ++c)
      sum += node_weight(tree, static_cast<std::size_t>(tree.child_nodes[static_cast<std::size_t>(c)]));
    good &= std::abs(sum - node_weight(tree, node)) < 1e-6 * (1 + sum);
  }
  CHECK(good);
}

inline bool near(double a, double b, double slack = 1e-9) {
  return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= slack * (1 + std::abs(b));
}

inline bool near(const std::vector<double>& a, const std::vector<double>& b, double slack = 1e-9) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!near(a[i], b[i], slack)) return false;
  return true;
}

inline std::vector<double> root_counts(const Tree& tree) {
  return {tree.counts.begin(), tree.counts.begin() + tree.n_classes};
}

inline bool same_structure(const Tree& a, const Tree& b) {
  bool good = a.threshold.size() == b.threshold.size();
  for (std::size_t i = 0; good && i < a.threshold.size(); ++i)
    good &= a.threshold[i] == b.threshold[i] || (std::isnan(a.threshold[i]) && std::isnan(b.threshold[i]));
  return good && a.n_classes == b.n_classes && a.feature == b.feature && a.child_start == b.child_start &&
         a.child_nodes == b.child_nodes && a.missing_branch == b.missing_branch && a.category_start == b.category_start &&
         a.category_branch == b.category_branch && a.projection_start == b.projection_start &&
         std::equal(
             a.projection.begin(), a.projection.end(), b.projection.begin(), b.projection.end(),
             [](const ProjectionTerm& x, const ProjectionTerm& y) { return x.feature == y.feature && x.weight == y.weight; });
}

inline bool same(const Tree& a, const Tree& b) {
  return a.feature == b.feature && a.child_nodes == b.child_nodes && a.category_branch == b.category_branch &&
         a.counts == b.counts;
}

inline bool same(const PackedTree& a, const PackedTree& b, int n_classes) {
  const Tree x = unpack(a, n_classes, true), y = unpack(b, n_classes, true);
  bool good = same_structure(x, y) && x.counts == y.counts && x.spread_weights == y.spread_weights &&
              node_counts(x, a.out_of_bag, n_classes) == node_counts(y, b.out_of_bag, n_classes) &&
              a.vote.size() == b.vote.size();
  for (std::size_t i = 0; good && i < a.vote.size(); ++i) good &= a.vote.at(i) == b.vote.at(i);
  return good;
}

inline bool same_reach(const TreeReach& a, const TreeReach& b) {
  bool good = a.n_rows() == b.n_rows();
  for (std::size_t row = 0; good && row < a.n_rows(); ++row) {
    std::vector<std::pair<LeafId, double>> of_a, of_b;
    a.visit(row, [&](LeafId leaf, double share) { of_a.emplace_back(leaf, share); });
    b.visit(row, [&](LeafId leaf, double share) { of_b.emplace_back(leaf, share); });
    std::sort(of_a.begin(), of_a.end());  // by leaf
    std::sort(of_b.begin(), of_b.end());
    good &= of_a.size() == of_b.size();
    for (std::size_t i = 0; good && i < of_a.size(); ++i)
      good &= of_a[i].first == of_b[i].first && near(of_a[i].second, of_b[i].second);
  }
  return good;
}

// Queries that try the edges: values of the training set, thresholds and their neighbours, missing and huge values.
inline std::vector<double> edgy_queries(Engine& engine, const Sample& sample, const std::vector<Tree>& trees, int n_rows) {
  const int n_columns = static_cast<int>(sample.n_categories.size());
  std::vector<std::vector<double>> thresholds(sample.n_categories.size(), {0.0});
  for (const Tree& tree : trees)
    for (std::size_t i = 0; i < tree.n_nodes(); ++i)
      if (!std::isnan(tree.threshold[i])) thresholds[static_cast<std::size_t>(tree.feature[i])].push_back(tree.threshold[i]);
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> rows;
  for (int i = 0; i < n_rows; ++i) {
    const bool with_missing = below(engine, 4) == 0;
    for (int j = 0; j < n_columns; ++j) {
      const auto column = static_cast<std::size_t>(j);
      const double threshold = thresholds[column][engine() % thresholds[column].size()];
      double value =
          sample.values[engine() % (sample.values.size() / sample.n_categories.size()) * sample.n_categories.size() + column];
      if (std::isnan(value)) value = 0;
      switch (sample.n_categories[column] > 0 ? 10 + below(engine, 4) : below(engine, 10)) {
        case 0:
        case 1:
          value = threshold;
          break;
        case 2:
          value = static_cast<double>(static_cast<float>(threshold));
          break;
        case 3:
          value = std::nextafter(threshold, inf);
          break;
        case 4:
          value = std::nextafter(threshold, -inf);
          break;
        case 5:
          value = static_cast<double>(std::nextafter(static_cast<float>(threshold), below(engine, 2) ? 1e9f : -1e9f));
          break;
        case 6:
          value = below(engine, 2) ? inf : -inf;
          break;
        case 7:
          value = below(engine, 2) ? 1e300 : -1e300;
          break;
        case 10:
          value = below(engine, sample.n_categories[column] + 3) - 1;
          break;  // some of them unknown
        default:
          break;
      }
      rows.push_back(with_missing && below(engine, 2) == 0 ? kNaN : value);
    }
  }
  return rows;
}

inline LeafTables tables_with(std::size_t n_columns, const std::vector<std::vector<double>>& of_trees) {
  std::vector<std::size_t> n_leaves;
  for (const auto& values : of_trees) n_leaves.push_back(values.size() / n_columns);
  LeafTables tables(n_columns, n_leaves);
  for (std::size_t t = 0; t < of_trees.size(); ++t) std::copy(of_trees[t].begin(), of_trees[t].end(), tables.of_tree(t));
  return tables;
}

// Rows in one leaf each, and how often they are in the sample.
inline Members::OfTree members_of(LeafId n_leaves, const std::vector<LeafId>& leaves,
                                  const std::vector<std::uint16_t>& copies) {
  Members::OfTree tree;
  tree.n_leaves = n_leaves;
  tree.copies = copies;
  tree.reach.reset(leaves.size());
  std::copy(leaves.begin(), leaves.end(), tree.reach.leaves());
  return tree;
}

template <class F>
bool interrupted(F&& f) {
  try {
    f();
  } catch (const Interrupted&) {
    return true;
  }
  return false;
}
