// Growing: threads, odd shapes, rounding and interrupts.
#include "forest/router.hpp"
#include "grow/code_block.hpp"
#include "soft/route.hpp"
#include "tree/route.hpp"

#include "support.hpp"

namespace {

void test_threads_do_not_matter() {
  Engine engine(2);
  for (int round = 0; round < 6; ++round) {
    Sample sample(engine, 20000, 6, 2 + round % 3);
    const GrowOptions options = random_options(engine, 2 + round % 3);
    CHECK(same(sample.grow_with(options, {}, 1), sample.grow_with(options, {}, 3)));
  }
}

void test_odd_shapes() {
  Engine engine(3);
  Sample one_row(engine, 1, 3, 1);
  CHECK(one_row.grow_with({}, {}, 1).n_nodes() == 1);
  Sample many_classes(engine, 3000, 4, 1000);
  check_children_add_up(many_classes.grow_with({}, {}, 2));
  Sample constant(engine, 50, 2, 2);
  std::fill(constant.values.begin(), constant.values.end(), 0.0);
  CHECK(constant.grow_with({}, {}, 1).n_nodes() == 1);
  Sample missing(engine, 50, 2, 2);
  std::fill(missing.values.begin(), missing.values.end(), std::nan(""));
  CHECK(missing.grow_with({}, {}, 1).n_nodes() == 1);
  Sample categories(engine, 5000, 2, 2);
  categories.n_categories = {1000, 1000};
  for (auto& value : categories.values) value = below(engine, 1000);
  check_children_add_up(categories.grow_with({}, {}, 1));
}

// Sums of heavy weights differ by more than a row's weight when they are taken in another order: what is left of a node
// without its missing rows is then not nothing, but it is not a row either, and no cut can be made of it.
void test_rounding_is_no_row() {
  Engine engine(77);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<double> values(100, std::nan(""));
    Dataset dataset;
    dataset.n_classes = 2;
    for (int i = 0; i < 100; ++i) {
      dataset.labels.push_back(static_cast<ClassId>(below(engine, 2)));
      dataset.weights.push_back(1e18 * (1 + below(engine, 1000) / 999.0));
    }
    dataset.matrix = {values.data(), false, 100, 1, 1, 1};
    GrowOptions options;
    options.criterion = static_cast<Criterion>(repeat % 4);
    options.thresholds_from_data = true;
    CodingOptions coding;
    coding.keep_distinct = true;
    ThreadPool pool(1);
    Interrupt interrupt;
    code_columns(dataset, {0}, coding, pool, interrupt);
    CHECK(TreeGrower(dataset, options, pool).grow({}, 0, interrupt).n_nodes() == 1);
  }
}

void test_interrupt() {
  Engine engine(4);
  Sample sample(engine, 200000, 4, 2);
  const GrowOptions options;
  ThreadPool pool(2);
  Interrupt always([] { return true; }), never;
  CHECK(interrupted([&] { code_columns(sample.dataset, sample.n_categories, {}, pool, always); }));
  code_columns(sample.dataset, sample.n_categories, {}, pool, never);
  TreeGrower grower(sample.dataset, options, pool);
  CHECK(interrupted([&] { grower.grow({}, 1, always); }));
  const Tree after = grower.grow({}, 1, never);  // a grower can be used again
  CHECK(same(after, TreeGrower(sample.dataset, options, pool).grow({}, 1, never)));
  for (const int n_threads : {1, 3}) {
    ThreadPool some(n_threads);
    CHECK(interrupted([&] { grow_forest(sample.dataset, 4, options, {}, some, always); }));
    CHECK(interrupted([&] { count_forest(sample.dataset, {after, after, after, after}, 1, {}, some, always); }));
    CHECK(!interrupted([&] { count_forest(sample.dataset, {after}, 1, {}, some, never); }));
    const SoftRouter router(after);
    const Perturbation noise{false, 1e-4, std::vector<double>(4, 1.0), std::vector<double>(4, 0.0),
                             std::vector<std::vector<double>>(4)};
    CHECK(interrupted([&] { router.members(sample.dataset.matrix, noise, nullptr, some, always); }));
  }
}

// A block of counters, against a walk code by code: every boundary is found, and what is before each is right.
void test_code_blocks() {
  if (!kHasCodeBlocks) return;
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    alignas(16) std::uint16_t counters[kBlockCodes];
    const auto draw = [&](unsigned n) { return static_cast<std::uint16_t>(random() % n); };
    for (auto& counter : counters) {
      const unsigned kind = draw(round % 3 == 0 ? 3 : 8);  // unused, one class, the other, or both
      const unsigned most = round % 2 == 0 ? 4 : 256;
      counter = static_cast<std::uint16_t>((kind % 3 >= 1 ? draw(most) : 0) | (kind % 3 == 2 ? draw(most) << 8 : 0));
    }
    std::uint16_t before[kBlockCodes];
    std::copy_n(counters, kBlockCodes, before);
    CodeBlock block;
    block.take(counters);
    unsigned zero = 0, one = 0, n_used = 0;
    std::uint16_t last = 0;
    for (std::uint32_t i = 0; i < kBlockCodes; ++i) {
      const bool cut = (block.cuts >> i) & 1;
      const unsigned both = last | before[i];
      const bool boundary = before[i] != 0 && last != 0 && (both & 0xff) != 0 && (both >> 8) != 0;
      CHECK(block.zero[i] == zero && block.one[i] == one);
      CHECK(!boundary || cut);
      CHECK(!cut || before[i] != 0);
      CHECK(counters[i] == 0);
      zero += before[i] & 0xff;
      one += before[i] >> 8;
      n_used += before[i] != 0;
      if (before[i] != 0) last = before[i];
    }
    CHECK(block.zero[kBlockCodes] == zero && block.one[kBlockCodes] == one && block.n_used == n_used);
  }
}

// Tests that are drawn for a node: threads, counts that add up, and rows in the leaves that counted them.
void test_drawn_splits() {
  Engine engine(8);
  for (int round = 0; round < 60; ++round) {
    Sample sample(engine, 1 + below(engine, round % 10 == 0 ? 9000 : 400), 2 + below(engine, 5), 2 + below(engine, 5));
    GrowOptions options = random_options(engine, sample.dataset.n_classes);
    options.splits = round % 2 == 0 ? Splits::oblique : Splits::random;
    CodingOptions coding;
    if (round % 5 == 0) coding.max_bins = 8;
    const Tree tree = sample.grow_with(options, coding, 1);
    CHECK(same_structure(tree, sample.grow_with(options, coding, 3)));
    check_children_add_up(tree);
    if (!sample.dataset.weights.empty()) continue;
    std::vector<double> counts(tree.counts.size(), 0.0);
    Router(tree).count(sample.dataset.matrix, sample.dataset.labels.data(), nullptr, tree.n_classes, counts.data());
    CHECK(near(counts, tree.counts, 1e-6) || options.missing == Missing::fractional);
    ForestOptions forest = random_forest_options(engine);
    const GrownForest grown = sample.forest_with(4, options, forest, 1);
    const GrownForest again = sample.forest_with(4, options, forest, 3);
    check(grown.forest);
    for (std::size_t t = 0; t < 4; ++t) {
      CHECK(same(grown.forest.trees[t], again.forest.trees[t], sample.dataset.n_classes));
      ThreadPool pool(1);
      const Members found = ForestRouter(grown.forest, pool).members(sample.dataset.matrix, pool);
      CHECK(leaf_shares(found.trees[t].reach).leaf == leaf_shares(grown.members.trees[t].reach).leaf);
    }
  }
}

}  // namespace

void grow_tests() {
  test_drawn_splits();
  test_threads_do_not_matter();
  test_odd_shapes();
  test_rounding_is_no_row();
  test_interrupt();
  test_code_blocks();
}
