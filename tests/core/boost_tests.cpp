// Boosted trees: exact sums, histograms, chains that do not depend on threads, and sums over trees.
#include "boost/chain.hpp"
#include "boost/router.hpp"

#include "support.hpp"

using namespace petiole::boosting;

namespace {

void test_sums() {
  Engine engine(1);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const bool whole = below(engine, 2) == 0;
    const double unit = std::pow(10.0, below(engine, 200) - 100);
    std::vector<double> weights;
    double total = 0;
    for (int i = 0, n = 1 + below(engine, 300); i < n; ++i)
      total += weights.emplace_back(whole ? 1 + below(engine, 5) : unit * (1 + below(engine, 1000)));
    const FixedPoint units(total, whole);
    Sum forwards{}, backwards{};
    double gradient = 0, hessian = 0;
    std::vector<Sum> sums;
    for (const double weight : weights) {
      const double p = (1 + below(engine, 98)) / 100.0;
      sums.push_back(units.of(weight * (p - below(engine, 2)), weight * p * (1 - p), weight));
      gradient += units.gradient(sums.back());
      hessian += units.hessian(sums.back());
      forwards += sums.back();
    }
    for (std::size_t i = sums.size(); i-- > 0;) backwards += sums[i];
    const Moments all = units.moments(forwards);
    CHECK(forwards == backwards && forwards - sums[0] + sums[0] == forwards);
    CHECK(std::abs(all.gradient - gradient) <= 1e-9 * total && std::abs(all.hessian - hessian) <= 1e-9 * total);
    CHECK(whole ? all.weight == total : std::abs(all.weight - total) <= 1e-3 * total * static_cast<double>(weights.size()));
  }
}

BoostOptions random_boost_options(Engine& engine) {
  BoostOptions options;
  options.n_rounds = 1 + below(engine, 6);
  options.patience = 1 + below(engine, 4);
  options.max_leaf_nodes = below(engine, 3) == 0 ? 0 : 2 + below(engine, 12);
  options.max_depth = below(engine, 4);
  options.learning_rate = 0.1 * (1 + below(engine, 10));
  options.l2 = below(engine, 2);
  options.min_samples_leaf = 1 + below(engine, 4);
  options.category_smoothing = below(engine, 3);
  options.subsample = below(engine, 2) == 0 ? 1 : 0.5;
  options.max_features = below(engine, 4);
  options.seed = engine();
  return options;
}

bool same(const BoostedTrees& a, const BoostedTrees& b) {
  return a.node_start == b.node_start && a.feature == b.feature && a.left == b.left && a.missing_right == b.missing_right &&
         a.category_start == b.category_start && a.category_right == b.category_right && a.value == b.value &&
         a.gain == b.gain;
}

// Children follow their parents in pairs, and every node but the root is one of them.
void check_structure(const BoostedTrees& trees) {
  bool good = trees.category_start.size() == trees.feature.size() + 1;
  for (std::size_t t = 0; t < trees.n_trees(); ++t) {
    const std::int32_t size = trees.node_start[t + 1] - trees.node_start[t];
    std::vector<int> times(static_cast<std::size_t>(size), 0);
    for (std::int32_t i = 0; i < size; ++i) {
      const auto node = static_cast<std::size_t>(trees.node_start[t] + i);
      if (trees.feature[node] < 0) continue;
      good &= trees.left[node] > i && trees.left[node] + 1 < size && trees.gain[node] > 0;
      for (int side = 0; side < 2; ++side) ++times[static_cast<std::size_t>(trees.left[node] + side)];
    }
    good &= times[0] == 0 && std::all_of(times.begin() + 1, times.end(), [](int n) { return n == 1; });
  }
  CHECK(good);
}

void test_chains() {
  Engine engine(2);
  for (int repeat = 0; repeat < 150; ++repeat) {
    const int n_rows = 4 + below(engine, 120), n_columns = 1 + below(engine, 7), n_classes = 2 + below(engine, 3);
    const Sample sample(engine, n_rows, n_columns, n_classes);
    const Dataset& dataset = sample.dataset;
    const BoostOptions options = random_boost_options(engine);
    const auto max_bins = static_cast<std::uint32_t>(below(engine, 2) == 0 ? 255 : 2 + below(engine, 9));
    std::vector<ChainRows> rows(static_cast<std::size_t>(1 + below(engine, 3)));
    for (RowId row = 0; row < dataset.n_rows(); ++row)
      for (std::size_t c = 0; c < rows.size(); ++c)
        (rows[c].training.empty() || row % 4 != c ? rows[c].training : rows[c].held_out).push_back(row);
    const auto grow_with = [&](int n_threads) {
      ThreadPool pool(n_threads);
      Interrupt interrupt;
      const BoostColumns columns(dataset.matrix, dataset.weights, sample.n_categories, max_bins, pool, interrupt);
      return grow_chains({columns, {dataset.labels, dataset.weights}, n_classes, nullptr}, options, rows, pool, interrupt);
    };
    const BoostedChains one = grow_with(1), three = grow_with(3);
    const auto width = static_cast<std::size_t>(n_classes);
    for (std::size_t c = 0; c < rows.size(); ++c) {
      CHECK(same(one.trees[c], three.trees[c]));
      check_structure(one.trees[c]);
      const BoostRouter router(one.trees[c], Scores::width(n_classes), n_columns);
      std::vector<double> scores(static_cast<std::size_t>(n_rows * router.n_scores()), 0.0);
      ThreadPool pool(2);
      router.add_scores(dataset.matrix, pool, scores.data());
      bool good = true;
      for (const RowId row : rows[c].held_out)
        for (std::size_t k = 0; k < width; ++k) {
          const double added = n_classes > 2 ? scores[row * width + k] : k == 1 ? scores[row] : 0;
          good &= near(one.held_out_scores[row * width + k], one.bases[c][k] + added);
        }
      CHECK(good);
      // Rows that come alone or in few have the same sums, to the bit.
      for (std::int64_t first = 0; first < n_rows; first += 1 + static_cast<std::int64_t>(below(engine, 40))) {
        Matrix some = dataset.matrix;
        some.n_rows = std::min<std::int64_t>(n_rows - first, 1 + static_cast<std::int64_t>(below(engine, 18)));
        some.visit([&](const auto* data) { some.data = data + first * some.row_stride; });
        std::vector<double> of_some(static_cast<std::size_t>(some.n_rows * router.n_scores()), 0.0);
        router.add_scores(some, pool, of_some.data());
        CHECK(std::memcmp(of_some.data(), scores.data() + first * router.n_scores(), of_some.size() * sizeof(double)) == 0);
      }
    }
    CHECK(one.losses == three.losses);
  }
}

void test_interrupts() {
  Engine engine(3);
  const Sample sample(engine, 400, 6, 3);
  ThreadPool pool(2);
  Interrupt never;
  const BoostColumns columns(sample.dataset.matrix, {}, sample.n_categories, 255, pool, never);
  BoostOptions options;
  options.n_rounds = options.patience = 1'000'000;
  options.subsample = 0.9;
  ChainRows all;
  for (RowId row = 0; row < 400; ++row) all.training.push_back(row);
  Interrupt interrupt([] { return true; });
  bool stopped = false;
  try {
    grow_chains({columns, {sample.dataset.labels, {}}, 3, nullptr}, options, {all}, pool, interrupt);
  } catch (const Interrupted&) {
    stopped = true;
  }
  CHECK(stopped);
}

}  // namespace

void boost_tests() {
  test_sums();
  test_chains();
  test_interrupts();
}
