// Queries whose values are perturbed.
#include "soft/out_of_bag.hpp"
#include "soft/route.hpp"

#include "support.hpp"

namespace {

// Random noise on some features; categorical ones are swapped now and then.
Perturbation random_perturbation(Engine& engine, const Sample& sample, double tolerance) {
  Perturbation made;
  made.independent_tests = below(engine, 2) == 0;
  made.tolerance = tolerance;
  for (const std::int32_t n : sample.n_categories) {
    made.scale.push_back(below(engine, 4) == 0 ? 0.0 : 0.05 * (1 << below(engine, 8)));
    made.swap.push_back(below(engine, 3) == 0 ? 0.0 : 0.4);
    made.frequencies.emplace_back(static_cast<std::size_t>(n), n > 0 ? 1.0 / n : 0.0);
  }
  return made;
}

// Masses sum to one whatever is cut; without noise the router's answer is that of the hard one; threads do not matter; the
// sum of what the leaves say is the average; rows in blocks are those one by one.
void test_soft_routes() {
  Engine engine(31);
  for (int round = 0; round < 40; ++round) {
    Sample sample(engine, 1 + below(engine, 300), 1 + below(engine, 5), 3);
    const GrownForest grown =
        sample.forest_with(1 + below(engine, 6), random_options(engine, 3), random_forest_options(engine), 2);
    ThreadPool one(1), some(3);
    Interrupt never;
    const SoftRouter router(grown.forest, some);
    std::vector<std::size_t> n_leaves;
    std::vector<Tree> trees;
    for (const PackedTree& tree : grown.forest.trees) {
      n_leaves.push_back(tree.vote.size());
      trees.push_back(unpack(tree, 3, true));
    }
    LeafTables tables(2, n_leaves);
    for (std::size_t t = 0; t < trees.size(); ++t)
      for (std::size_t i = 0; i < 2 * n_leaves[t]; ++i) tables.of_tree(t)[i] = 0.001 * (1 + below(engine, 1000));
    const int n = round < 3 ? 6500 : 1 + below(engine, 60);
    const std::vector<double> values = edgy_queries(engine, sample, trees, n);
    const auto n_columns = static_cast<std::int64_t>(sample.n_categories.size());
    const Matrix queries{values.data(), false, n, n_columns, n_columns, 1};
    const Perturbation noise = random_perturbation(engine, sample, round % 3 == 0 ? 0.0 : 1e-3);
    const auto n_rows = static_cast<std::size_t>(n);
    std::vector<double> mean(2 * n_rows), again(2 * n_rows), from_masses(2 * n_rows, 0.0);
    router.average(queries, tables, noise, nullptr, one, never, mean.data());
    router.average(queries, tables, noise, nullptr, some, never, again.data());
    CHECK(mean == again);
    const Members found = router.members(queries, noise, nullptr, some, never);
    bool sums_to_one = true;
    for (std::size_t t = 0; t < trees.size(); ++t)
      for (std::size_t row = 0; row < n_rows; ++row) {
        double sum = 0;
        found.trees[t].reach.visit(row, [&](LeafId leaf, double mass) {
          sum += mass;
          tables.add_row(t, leaf, mass / static_cast<double>(trees.size()), from_masses.data() + 2 * row);
        });
        sums_to_one &= std::abs(sum - 1) < 1e-9;
      }
    CHECK(sums_to_one);
    bool same_mean = true;
    for (std::size_t i = 0; i < mean.size(); ++i) same_mean &= near(mean[i], from_masses[i]);
    CHECK(same_mean);
    Perturbation none = noise;
    std::fill(none.scale.begin(), none.scale.end(), 0.0);
    std::fill(none.swap.begin(), none.swap.end(), 0.0);
    none.tolerance = 0;
    std::vector<double> hard(2 * n_rows);
    router.average(queries, tables, none, nullptr, some, never, mean.data());
    ForestRouter(grown.forest, some).average(queries, tables, nullptr, some, hard.data(), nullptr, nullptr);
    bool is_hard = true;
    for (std::size_t i = 0; i < mean.size(); ++i) is_hard &= std::abs(mean[i] - hard[i]) < 1e-6;
    CHECK(is_hard);
  }
}

// Out of bag: asked without noise, a row gets the answer of the functions that know no noise.
void test_soft_out_of_bag() {
  Engine engine(37);
  for (int round = 0; round < 30; ++round) {
    Sample sample(engine, 2 + below(engine, 200), 1 + below(engine, 4), 3);
    ForestOptions forest = random_forest_options(engine);
    forest.bootstrap = Bootstrap::plain;
    forest.keep_members = true;
    const GrownForest grown = sample.forest_with(1 + below(engine, 12), random_options(engine, 3), forest, 2);
    ThreadPool pool(2);
    Interrupt never;
    const SoftRouter router(grown.forest, pool);
    Perturbation none = random_perturbation(engine, sample, 0.0);
    std::fill(none.scale.begin(), none.scale.end(), 0.0);
    std::fill(none.swap.begin(), none.swap.end(), 0.0);
    const Members asked = router.members(sample.dataset.matrix, none, &grown.members, pool, never);
    std::vector<std::size_t> n_leaves;
    for (const PackedTree& tree : grown.forest.trees) n_leaves.push_back(tree.vote.size());
    LeafTables counts(3, n_leaves);
    for (std::size_t t = 0; t < n_leaves.size(); ++t)
      leaf_counts(grown.forest.trees[t], 3, {1.0, 1.0, 0.0}, counts.of_tree(t));
    const std::size_t n = sample.dataset.n_rows();
    const TrainingRows rows{sample.dataset.labels.data(),
                            sample.dataset.weights.empty() ? nullptr : sample.dataset.weights.data()};
    std::vector<double> soft(3 * n), hard(3 * n), slopes(sample.n_categories.size(), 0.0);
    soft_out_of_bag_frequencies({asked, grown.members, rows, 1.0}, counts, pool, soft.data());
    out_of_bag_frequencies(grown.members, counts, 1.0, rows, {nullptr, n}, pool, hard.data());
    bool same = true;
    for (std::size_t i = 0; i < soft.size(); ++i)
      same &= std::isnan(hard[i]) ? std::isnan(soft[i]) : std::abs(soft[i] - hard[i]) < 1e-6;
    CHECK(same);
    // With noise the loss is a number, and its slopes are zero where a feature has none.
    const Perturbation noise = random_perturbation(engine, sample, 1e-3);
    counts.normalise();
    CHECK(std::isfinite(
        router.loss(sample.dataset.matrix, rows, counts, noise, &grown.members, 1e-6, pool, never, slopes.data())));
    for (std::size_t f = 0; f < slopes.size(); ++f) CHECK(std::isfinite(slopes[f]) && (noise.scale[f] > 0 || slopes[f] == 0));
  }
}

}  // namespace

void soft_tests() {
  test_soft_routes();
  test_soft_out_of_bag();
}
