// Forests: packing, growing, counting, routing, and what rows say out of bag.
#include "forest/leaf_tally.hpp"
#include "forest/ordered_shares.hpp"
#include "forest/out_of_bag.hpp"
#include "forest/router.hpp"
#include "tree/route.hpp"

#include "support.hpp"

namespace {

bool refused(const Forest& forest) {
  try {
    check(forest);
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

void check_packing(const Tree& tree) {
  const PackedTree packed = pack(tree, {}, root_counts(tree));
  const Tree again = unpack(packed, tree.n_classes, true);
  CHECK(same_structure(tree, again));
  CHECK(near(again.counts, tree.counts));
  CHECK(near(again.spread_weights, tree.spread_weights.empty() ? node_weights(tree) : tree.spread_weights));
  CHECK(unpack(packed, tree.n_classes, false).counts.empty());
  CHECK(!refused({tree.n_classes, {packed}}));
}

void test_packing() {
  Engine engine(7);
  int n_categorical = 0, n_separate = 0, n_one_leaf = 0, n_numeric = 0;
  for (int round = 0; round < 200; ++round) {
    const int n_classes = round % 10 == 0 ? 300 : 1 + below(engine, 5);  // classes that need two bytes as well
    Sample sample(engine, 1 + below(engine, 300), 1 + below(engine, 6), n_classes);
    const Tree tree = sample.grow_with(random_options(engine, n_classes), {}, 1);
    check_packing(tree);
    n_one_leaf += tree.n_nodes() == 1;
    n_categorical += !tree.category_branch.empty();
    n_numeric += tree.n_nodes() > 1 && tree.category_branch.empty();
    n_separate += std::any_of(tree.missing_branch.begin(), tree.missing_branch.end(), [](int b) { return b >= 0; });
  }
  CHECK(n_one_leaf > 0 && n_categorical > 0 && n_numeric > 0 && n_separate > 0);
  Sample categories(engine, 3000, 2, 2);
  categories.n_categories = {700, 700};  // branches that need two bytes
  for (auto& value : categories.values) value = below(engine, 700);
  check_packing(categories.grow_with({}, {}, 1));
}

// x0 <= 0.5: leaf (3, 1); else a categorical split on x1 whose third category is unknown: leaves (0, 2.5) and (0, 0).
Tree small_tree() {
  Tree tree;
  tree.n_classes = 2;
  tree.feature = {0, -1, 1, -1, -1};
  tree.threshold = {0.5, kNaN, kNaN, kNaN, kNaN};
  tree.child_start = {0, 2, 2, 4, 4, 4};
  tree.child_nodes = {1, 2, 3, 4};
  tree.missing_branch = {1, -1, -1, -1, -1};
  tree.category_start = {0, 0, 0, 3, 3, 3};
  tree.category_branch = {0, 1, -1};
  tree.counts = {3, 3.5, 3, 1, 0, 2.5, 0, 2.5, 0, 0};
  return tree;
}

void test_packing_keeps_what_it_is_given() {
  Tree tree = small_tree();
  check_packing(tree);
  CHECK(pack(tree, {}, {3, 3.5}).child_nodes.empty());
  tree.spread_weights = {10, 7, 3, 1, 2};
  check_packing(tree);
  const std::vector<double> out_of_bag = {2, 3, 2, 0, 0, 3, 0, 0.25, 0, 2.75};
  const PackedTree packed = pack(tree, out_of_bag, {3, 3.5});
  CHECK(near(node_counts(tree, packed.out_of_bag, 2), out_of_bag));
  CHECK(packed.vote.size() == 3 && packed.vote.at(0) == 0 && packed.vote.at(1) == 1);
  CHECK(packed.vote.at(2) == 1);  // an empty leaf votes as its parent
  std::vector<double> sums(2, 0.5);
  packed.out_of_bag.add_up(2, sums.data());
  CHECK(near(sums, std::vector<double>{4.5, 6.5}));
  std::vector<double> of_ancestors(6);
  of_ancestors.assign(6, 0.0);
  leaf_counts(packed, 2, {1, 1, 2.7}, of_ancestors.data());
  CHECK(near(of_ancestors, std::vector<double>{5, 1, 0, 2.75, 0, 2.75}));
  of_ancestors.assign(6, 0.0);
  leaf_counts(packed, 2, {1, 1, 3}, of_ancestors.data());
  CHECK(near(of_ancestors, std::vector<double>{5, 1, 0, 5.5, 0, 5.5}));
  of_ancestors.assign(6, 0.0);
  leaf_counts(packed, 2, {1, 1, 1e9}, of_ancestors.data());
  CHECK(near(of_ancestors, std::vector<double>{5, 6.5, 5, 6.5, 5, 6.5}));

  // The same tree with its nodes in another order: ids and the leaves' order stay what they are.
  Tree other = small_tree();
  other.feature = {0, -1, -1, -1, 1};
  other.threshold = {0.5, kNaN, kNaN, kNaN, kNaN};
  other.child_start = {0, 2, 2, 2, 2, 4};
  other.child_nodes = {3, 4, 2, 1};
  other.category_start = {0, 0, 0, 0, 0, 3};
  other.counts = {3, 3.5, 0, 0, 0, 2.5, 3, 1, 0, 2.5};
  check_packing(other);
  CHECK(pack(other, {}, {3, 3.5}).child_nodes == other.child_nodes);
  const Router router(other);
  CHECK(router.n_leaves() == 3 && router.n_features_needed() == 2 && !router.only_thresholds());
  const std::vector<double> rows = {0.5, 0, 0.75, 0, 0.75, 1, kNaN, 1, 0.75, 7, kNaN, kNaN};
  std::vector<std::int32_t> leaves(6);
  ThreadPool pool(1);
  router.apply({rows.data(), false, 6, 2, 2, 1}, pool, leaves.data());
  CHECK((leaves == std::vector<std::int32_t>{3, 2, 1, 1, 2, 2}));
}

using Numbers = std::vector<std::uint32_t>;

void test_check_refuses_hostile_trees() {
  const PackedTree good = pack(small_tree(), {}, {3, 3.5});
  const auto bad = [&](auto&& spoil) {
    PackedTree tree = good;
    spoil(tree);
    return refused({2, {good, tree}});
  };
  const auto codes = [](Numbers numbers) { return to_codes(numbers); };
  const auto counts = [&](Numbers n, Numbers k, Numbers whole, std::vector<double> real) {
    return LeafCounts(to_codes(n), to_codes(k), to_codes(whole), std::move(real));
  };
  CHECK(!bad([](PackedTree&) {}));
  CHECK(bad([](PackedTree& t) { t = {}; }));
  // Children.
  CHECK(bad([&](PackedTree& t) { t.n_children = codes({2, 0, 2, 0}); }));
  CHECK(bad([&](PackedTree& t) { t.n_children = codes({2, 0, 2, 0, 0, 0}); }));
  CHECK(bad([&](PackedTree& t) { t.n_children = codes({2, 0, 3, 0, 0}); }));
  CHECK(bad([&](PackedTree& t) { t.n_children = codes({0, 2, 2, 0, 0}); }));  // adds up, but the root is a leaf
  CHECK(bad([&](PackedTree& t) { t.n_children = codes({2, 0, 0, 2, 0}); }));  // a child of its sibling's missing child
  CHECK(bad([&](PackedTree& t) { t.n_children = codes({4294967295u, 5, 0, 0, 0}); }));
  for (const std::vector<NodeId>& children : std::vector<std::vector<NodeId>>{
           {1, 2, 2, 4}, {1, 3, 2, 4}, {1, 2, 3}, {1, 2, 3, 4, 4}, {1, 2, 3, 5}, {1, 2, 3, -1}, {0, 2, 3, 4}, {1, 2, 0, 4}})
    CHECK(bad([&](PackedTree& t) { t.child_nodes = children; }));
  CHECK(bad([&](PackedTree& t) {  // a cycle of nodes 1 and 2 that the root, a leaf, does not reach
    t.n_children = codes({0, 2, 2, 0, 0});
    t.child_nodes = {2, 3, 1, 4};
  }));
  // Splits.
  CHECK(bad([&](PackedTree& t) { t.feature = codes({0}); }));
  CHECK(bad([&](PackedTree& t) { t.feature = codes({0, 1, 1}); }));
  CHECK(bad([&](PackedTree& t) { t.feature = codes({0, 4294967295u}); }));
  CHECK(bad([&](PackedTree& t) { t.threshold.pop_back(); }));
  CHECK(bad([&](PackedTree& t) { t.missing_branch = codes({3, 0}); }));
  CHECK(bad([&](PackedTree& t) { t.missing_branch = codes({0}); }));
  CHECK(bad([&](PackedTree& t) { t.n_categories = codes({0}); }));
  CHECK(bad([&](PackedTree& t) { t.n_categories = codes({0, 4}); }));
  CHECK(bad([&](PackedTree& t) { t.n_categories = codes({0, 2}); }));
  CHECK(bad([&](PackedTree& t) { t.category_branch = codes({1, 3, 0}); }));
  CHECK(bad([&](PackedTree& t) {
    t.n_children = codes({4, 0, 0, 0, 0});  // a threshold with four branches
    t.feature = codes({0});
    t.threshold = {0.5};
    t.missing_branch = t.n_categories = t.category_branch = {};
    t.in_bag = {};
    t.vote = codes({0, 0, 0, 0});
  }));
  // Leaves.
  CHECK(bad([&](PackedTree& t) { t.vote = codes({0, 1}); }));
  CHECK(bad([&](PackedTree& t) { t.vote = codes({0, 1, 1, 1}); }));
  CHECK(bad([&](PackedTree& t) { t.vote = codes({0, 1, 2}); }));
  CHECK(!bad([&](PackedTree& t) { t.in_bag = counts({2, 1, 0}, {0, 1, 1}, {3, 1, 2}, {}); }));
  for (LeafCounts PackedTree::* which : {&PackedTree::in_bag, &PackedTree::out_of_bag}) {
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1, 0}, {0, 1, 2}, {3, 1, 2}, {}); }));
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1}, {0, 1, 1}, {3, 1, 2}, {}); }));
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1, 1}, {0, 1, 1}, {3, 1, 2}, {}); }));
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1, 0}, {0, 1}, {3, 1, 2}, {}); }));
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1, 0}, {0, 1, 1}, {3, 1}, {}); }));
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1, 0}, {0, 1, 1}, {}, {3, 1}); }));
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1, 0}, {0, 1, 1}, {}, {3, 1, -0.5}); }));
    CHECK(bad([&](PackedTree& t) { t.*which = counts({2, 1, 0}, {0, 1, 1}, {}, {3, 1, kNaN}); }));
  }
  CHECK(!bad([&](PackedTree& t) { t.spread_weights = counts({1, 1, 0}, {0, 0}, {4, 2}, {}); }));
  CHECK(bad([&](PackedTree& t) { t.spread_weights = counts({1, 1, 0}, {0, 1}, {4, 2}, {}); }));
  CHECK(bad([&](PackedTree& t) { t.spread_weights = counts({1, 1}, {0, 0}, {4, 2}, {}); }));
  CHECK(bad([&](PackedTree& t) { t.in_bag = counts({2, 1, 0}, {0, 1, 1}, {3, 1, 2}, {1.0}); }));
  CHECK(bad([&](PackedTree& t) { t.feature = codes({0, 2147483647u}); }));
}

// Threads do not matter, nor does what a forest starts with: tree i is tree i.
void test_forests() {
  Engine engine(6);
  for (int round = 0; round < 40; ++round) {
    Sample sample(engine, 1 + below(engine, 400), 4, 3);
    const GrowOptions options = random_options(engine, 3);
    ForestOptions forest = random_forest_options(engine);
    const GrownForest grown = sample.forest_with(5, options, forest, 1), again = sample.forest_with(5, options, forest, 3);
    CHECK(!refused(grown.forest));
    CHECK(grown.forest.trees.size() == 5 && grown.members.trees.size() == 5);
    forest.first_tree += 2;
    forest.keep_members = false;
    const GrownForest later = sample.forest_with(3, options, forest, 2);
    CHECK(later.members.trees.empty());
    ThreadPool pool(2);
    for (std::size_t t = 0; t < grown.forest.trees.size(); ++t) {
      check_children_add_up(unpack(grown.forest.trees[t], 3, true));
      CHECK(same(grown.forest.trees[t], again.forest.trees[t], 3));
      CHECK(same_reach(grown.members.trees[t].reach, again.members.trees[t].reach));
      CHECK(grown.members.trees[t].copies == again.members.trees[t].copies);
      if (t >= 2) CHECK(same(grown.forest.trees[t], later.forest.trees[t - 2], 3));
    }
    if (forest.bootstrap != Bootstrap::none) continue;
    // Without samples a forest of one tree is the tree.
    Interrupt interrupt;
    const Tree alone =
        TreeGrower(sample.dataset, options, pool).grow({}, tree_key(options.seed, forest.first_tree), interrupt);
    CHECK(same_structure(alone, unpack(later.forest.trees[0], 3, false)));
  }
}

std::vector<double> class_sums(const LeafCounts& counts, std::size_t n_classes) {
  std::vector<double> sums(n_classes, 0.0);
  counts.add_up(1, sums.data());
  return sums;
}

// Counts of classes add up, over all trees and options; counting grown trees again gives the same forest.
void test_forest_laws() {
  Engine engine(9);
  for (int round = 0; round < 60; ++round) {
    const int n_classes = 1 + below(engine, 4);
    Sample sample(engine, 1 + below(engine, 300), 1 + below(engine, 5), n_classes);
    const GrowOptions options = random_options(engine, n_classes);
    const ForestOptions forest = random_forest_options(engine);
    const GrownForest grown = sample.forest_with(4, options, forest, 2);
    const std::vector<double> sizes = sample.class_weights();
    std::vector<Tree> trees;
    ThreadPool pool(2);
    Interrupt interrupt;
    TreeGrower grower(sample.dataset, options, pool);
    for (std::size_t t = 0; t < 4; ++t) {
      const PackedTree& tree = grown.forest.trees[t];
      const Members::OfTree& members = grown.members.trees[t];
      std::vector<double> in_bag = class_sums(tree.in_bag, sizes.size()), expected(sizes.size(), 0.0);
      const std::vector<double> out_of_bag = class_sums(tree.out_of_bag, sizes.size());
      for (RowId row = 0; row < sample.dataset.n_rows(); ++row)
        expected[sample.dataset.labels[row]] += sample.dataset.weight(row) * members.copies_of(row);
      if (forest.distinct || forest.bootstrap == Bootstrap::none) {
        for (std::size_t k = 0; k < sizes.size(); ++k) in_bag[k] += out_of_bag[k];
        CHECK(near(in_bag, sizes, 1e-6));
      } else {
        CHECK(near(in_bag, expected, 1e-6));
      }
      // However rows count in the leaves, missing values are spread as the sample with its copies is.
      CHECK(near(unpack(tree, n_classes, false).spread_weights[0], std::accumulate(expected.begin(), expected.end(), 0.0),
                 1e-6));
      CHECK(static_cast<std::size_t>(members.n_leaves) == tree.vote.size());
      const Numbers copies(members.copies.begin(), members.copies.end());
      trees.push_back(grower.grow(copies, tree_key(options.seed, forest.first_tree + t), interrupt));
      CHECK(same_structure(trees.back(), unpack(tree, n_classes, false)));
    }
    const GrownForest counted = count_forest(sample.dataset, trees, options.seed, forest, pool, interrupt);
    for (std::size_t t = 0; t < 4; ++t) {
      CHECK(same(counted.forest.trees[t], grown.forest.trees[t], n_classes));
      CHECK(counted.members.trees[t].copies == grown.members.trees[t].copies);
      CHECK(same_reach(counted.members.trees[t].reach, grown.members.trees[t].reach));
    }
  }
}

// Rows of single precision, one after the other or column by column, give the forest that the same numbers give in double.
void test_single_precision() {
  Engine engine(31);
  for (int round = 0; round < 40; ++round) {
    const int n_rows = 2 + below(engine, 600), n_columns = 1 + below(engine, 6), n_classes = 2 + below(engine, 45);
    Sample sample(engine, n_rows, n_columns, n_classes);
    sample.fill_in_missing();
    std::fill(sample.n_categories.begin(), sample.n_categories.end(), 0);
    std::vector<float> by_row(sample.values.begin(), sample.values.end()), by_column(by_row.size());
    for (int i = 0; i < n_rows; ++i)
      for (int j = 0; j < n_columns; ++j)
        by_column[static_cast<std::size_t>(j * n_rows + i)] = by_row[static_cast<std::size_t>(i * n_columns + j)];
    std::copy(by_row.begin(), by_row.end(), sample.values.begin());
    const GrowOptions options = random_options(engine, n_classes);
    ForestOptions forest = random_forest_options(engine);
    const GrownForest expected = sample.forest_with(3, options, forest, 1);
    const Matrix one_after_the_other{by_row.data(), true, n_rows, n_columns, n_columns, 1};
    for (const Matrix& matrix : {one_after_the_other, Matrix{by_column.data(), true, n_rows, n_columns, 1, n_rows}}) {
      sample.dataset.matrix = matrix;
      forest.keep_members = true;
      const GrownForest grown = sample.forest_with(3, options, forest, 2);
      forest.keep_members = false;
      const GrownForest unkept = sample.forest_with(3, options, forest, 1);
      for (std::size_t t = 0; t < 3; ++t) {
        CHECK(same(grown.forest.trees[t], expected.forest.trees[t], n_classes));
        CHECK(same(unkept.forest.trees[t], expected.forest.trees[t], n_classes));
        CHECK(same_reach(grown.members.trees[t].reach, expected.members.trees[t].reach));
      }
    }
  }
}

// The leaves that growing has recorded are those that routing finds.
void test_members() {
  Engine engine(10);
  int n_spread = 0;
  for (int round = 0; round < 60; ++round) {
    Sample sample(engine, 1 + below(engine, 400), 1 + below(engine, 5), 3);
    GrowOptions options = random_options(engine, 3);
    if (round % 3 == 0) sample.fill_in_missing();
    const GrownForest grown = sample.forest_with(3, options, random_forest_options(engine), 1);
    ThreadPool pool(2);
    const Members found = ForestRouter(grown.forest, pool).members(sample.dataset.matrix, pool);
    CHECK(found.n_rows == sample.dataset.n_rows() && grown.members.n_rows == found.n_rows);
    std::vector<RowId> rows(found.n_rows);
    std::iota(rows.begin(), rows.end(), RowId{0});
    for (std::size_t t = 0; t < 3; ++t) {
      const TreeReach& recorded = grown.members.trees[t].reach;
      TreeReach reach;
      reach.reset(rows.size());
      Router(unpack(grown.forest.trees[t], 3, false)).reach(sample.dataset.matrix, rows.data(), rows.size(), false, reach);
      CHECK(same_reach(recorded, reach));
      CHECK(same_reach(found.trees[t].reach, reach));
      CHECK(found.trees[t].n_leaves == grown.members.trees[t].n_leaves);
      bool good = true;
      for (const RowId row : rows) {
        double sum = 0;
        recorded.visit(row, [&](LeafId leaf, double share) {
          good &= leaf >= 0 && leaf < grown.members.trees[t].n_leaves && share > 0;
          sum += share;
        });
        good &= near(sum, 1);
        n_spread += recorded.is_spread(row);
        // Without missing values only rows that growing has not seen can be spread: by a category new to a node.
        const bool seen = grown.members.trees[t].copies_of(row) > 0;
        if (seen && (round % 3 == 0 || options.missing == Missing::separate)) good &= !recorded.is_spread(row);
      }
      CHECK(good);
    }
  }
  CHECK(n_spread > 0);
  // What a grower says of the rows of its sample, and of those outside.
  for (int round = 0; round < 20; ++round) {
    Sample sample(engine, 2 + below(engine, 400), 1 + below(engine, 5), 3);
    sample.fill_in_missing();
    const GrowOptions options = random_options(engine, 3);
    sample.grow_with(options, {}, 1);  // codes the columns
    ThreadPool pool(1);
    Interrupt interrupt;
    TreeGrower grower(sample.dataset, options, pool);
    for (const std::uint64_t key : {1, 2}) {
      Numbers copies;
      Sampler(Bootstrap::plain, sample.dataset.labels, 3).draw(key, copies);
      Placement placement;
      placement.leaf = {99};
      Tree tree = grower.grow(copies, key, interrupt, &placement);
      CHECK(tree.counts.empty());
      tree.spread_weights.assign(tree.n_nodes(), 1.0);  // rows of the sample are never spread
      std::vector<std::int32_t> leaves(copies.size());
      Router(tree).apply(sample.dataset.matrix, pool, leaves.data());
      std::vector<NodeId> placed_leaves = placement.leaf;
      std::sort(placed_leaves.begin(), placed_leaves.end());
      CHECK(placed_leaves == leaves_of(tree));
      std::size_t n_placed = 0;
      const auto check_entries = [&](const auto& entries) {
        for (std::size_t g = 0; g < placement.leaf.size(); ++g)
          for (std::uint32_t i = placement.start[g]; i < placement.start[g + 1]; ++i, ++n_placed) {
            const auto& [row, label, weight] = entries[i];
            CHECK(leaves[row] == placement.leaf[g] && label == sample.dataset.labels[row]);
            CHECK(static_cast<double>(weight) == sample.dataset.weight(row) * copies[row] && copies[row] > 0);
            CHECK(i == placement.start[g] || entries[i - 1].row < row);
          }
        CHECK(n_placed == entries.size());
      };
      if (placement.is_whole)
        check_entries(placement.whole);
      else
        check_entries(placement.real);
      CHECK(n_placed == copies.size() - static_cast<std::size_t>(std::count(copies.begin(), copies.end(), 0u)));
    }
  }
}

// The mean over trees of what each tree's own router says; the tables hold rows for leaves.
std::vector<double> mean_of_routers(const std::vector<Tree>& trees, const LeafTables& tables, const Matrix& queries,
                                    bool squared) {
  const std::size_t width = tables.n_columns();
  ThreadPool pool(1);
  std::vector<double> mean(static_cast<std::size_t>(queries.n_rows) * width, 0.0), of_tree(mean.size());
  for (std::size_t t = 0; t < trees.size(); ++t) {
    std::vector<double> table(trees[t].n_nodes() * width, kNaN);
    LeafId leaf = 0;
    std::vector<double> room;
    for (std::size_t i = 0; i < trees[t].n_nodes(); ++i)
      if (trees[t].feature[i] < 0) std::copy_n(tables.row(t, leaf++, room), width, table.data() + i * width);
    Router(trees[t]).average(queries, table.data(), static_cast<std::int64_t>(width), pool, of_tree.data());
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += (squared ? of_tree[i] * of_tree[i] : of_tree[i]) / static_cast<double>(trees.size());
  }
  return mean;
}

void check_averages(const ForestRouter& router, const std::vector<Tree>& trees, const LeafTables& tables,
                    const Matrix& queries) {
  ThreadPool pool(2);
  const auto n_rows = static_cast<std::size_t>(queries.n_rows);
  const std::vector<double> expected = mean_of_routers(trees, tables, queries, false);
  std::vector<double> mean(expected.size(), kNaN), again(expected.size(), kNaN), squares(expected.size(), kNaN);
  std::vector<std::int32_t> n_used(n_rows, -1);
  router.average(queries, tables, nullptr, pool, mean.data(), nullptr, nullptr);
  CHECK(near(mean, expected));
  router.average(queries, tables, nullptr, pool, again.data(), squares.data(), n_used.data());
  CHECK(near(again, expected));
  CHECK(near(squares, mean_of_routers(trees, tables, queries, true)));
  CHECK(std::all_of(n_used.begin(), n_used.end(), [&](std::int32_t n) { return n == static_cast<int>(trees.size()); }));
  std::vector<std::int32_t> leaves(n_rows * trees.size()), of_tree(n_rows);
  router.apply(queries, pool, leaves.data());
  bool good = true;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    Router(trees[t]).apply(queries, pool, of_tree.data());
    for (std::size_t i = 0; i < n_rows; ++i) good &= leaves[i * trees.size() + t] == of_tree[i];
  }
  CHECK(good);
}

void test_forest_router() {
  Engine engine(11);
  for (int round = 0; round < 40; ++round) {
    Sample sample(engine, 1 + below(engine, 500), 1 + below(engine, 5), 3);
    if (round % 2 == 0) std::fill(sample.n_categories.begin(), sample.n_categories.end(), 0);  // thresholds only
    const GrownForest grown =
        sample.forest_with(1 + below(engine, 40), random_options(engine, 3), random_forest_options(engine), 2);
    ThreadPool pool(2);
    const ForestRouter router(grown.forest, pool);
    std::vector<Tree> trees;
    std::vector<std::size_t> n_leaves;
    int n_features = 0;
    for (const PackedTree& tree : grown.forest.trees) {
      trees.push_back(unpack(tree, 3, true));
      n_leaves.push_back(tree.vote.size());
      n_features = std::max(n_features, Router(trees.back()).n_features_needed());
    }
    CHECK(router.n_trees() == trees.size() && router.n_features_needed() == n_features);
    LeafTables tables(2, n_leaves);
    for (std::size_t t = 0; t < trees.size(); ++t) {
      CHECK(router.n_leaves(t) == n_leaves[t] && tables.n_leaves(t) == n_leaves[t]);
      for (std::size_t i = 0; i < 2 * n_leaves[t]; ++i) tables.of_tree(t)[i] = 0.001 * below(engine, 1000);
    }
    const auto n_columns = static_cast<std::int64_t>(sample.n_categories.size());
    for (const int n : {1, 5, 40, round < 4 ? 2100 : 0}) {
      const std::vector<double> rows = edgy_queries(engine, sample, trees, n);
      std::vector<float> narrow, by_column(rows.size());
      for (const double value : rows)
        narrow.push_back(std::abs(value) > 1e38 ? static_cast<float>(std::copysign(HUGE_VAL, value))
                                                : static_cast<float>(value));
      for (std::size_t i = 0; i < rows.size(); ++i)
        by_column[i % static_cast<std::size_t>(n_columns) * static_cast<std::size_t>(n) +
                  i / static_cast<std::size_t>(n_columns)] = narrow[i];
      check_averages(router, trees, tables, {rows.data(), false, n, n_columns, n_columns, 1});
      check_averages(router, trees, tables, {narrow.data(), true, n, n_columns, n_columns, 1});
      check_averages(router, trees, tables, {by_column.data(), true, n, n_columns, 1, n});
    }
    // Trees that have seen a row are left out; both ways to say so agree.
    const std::size_t n_rows = sample.dataset.n_rows();
    std::vector<double> mean(2 * n_rows), unseen(2 * n_rows);
    std::vector<std::int32_t> n_used(n_rows);
    router.average(sample.dataset.matrix, tables, &grown.members, pool, mean.data(), nullptr, n_used.data());
    out_of_bag_average(grown.members, tables, {nullptr, n_rows}, pool, unseen.data());
    for (std::size_t i = 0; i < n_rows; ++i) {
      int n = 0;
      for (const auto& tree : grown.members.trees) n += tree.copies_of(i) == 0;
      CHECK(n_used[i] == n);
      if (n == 0)
        CHECK(std::isnan(unseen[2 * i]) && std::isnan(unseen[2 * i + 1]) && mean[2 * i] == 0 && mean[2 * i + 1] == 0);
      else
        CHECK(near(mean[2 * i], unseen[2 * i]) && near(mean[2 * i + 1], unseen[2 * i + 1]));
    }
  }
}

// Tables kept as lists say what whole tables say.
void test_lists_of_leaf_tables() {
  Engine engine(5);
  for (int trial = 0; trial < 50; ++trial) {
    const int n_columns = 1 + below(engine, 40), n_used = 1 + below(engine, 4);
    const auto width = static_cast<std::size_t>(n_columns), n_leaves = static_cast<std::size_t>(1 + below(engine, 6));
    std::vector<double> values(n_leaves * width, 0.0);
    for (std::size_t leaf = 0; leaf < n_leaves; ++leaf)
      for (int i = 0; i < n_used && trial % 5 != 0; ++i)
        values[leaf * width + static_cast<std::size_t>(below(engine, n_columns))] = 1 + below(engine, 9);
    LeafTables whole(width, {n_leaves}), kept = LeafTables::unset(width, {n_leaves});
    std::copy(values.begin(), values.end(), whole.of_tree(0));
    kept.set(0, values.data());
    const auto same = [&](const LeafTables& a, const LeafTables& b) { return a.table(0) == b.table(0); };
    CHECK(same(whole, kept));
    CHECK(whole.trees_with_empty_rows() == kept.trees_with_empty_rows());
    CHECK(same(whole.row_sums(), kept.row_sums()));
    CHECK(same(LeafTables::side_by_side({&whole, &kept}), LeafTables::side_by_side({&kept, &whole})));
    whole.normalise();
    kept.normalise();
    CHECK(same(whole, kept));
    std::vector<LeafId> leaves;
    for (int i = 0; i < 5; ++i) leaves.push_back(below(engine, static_cast<int>(n_leaves) + 1) - 1);
    std::vector<double> one(5 * width, 0.5), other = one, room;
    whole.add_rows(0, leaves.data(), 5, one.data());
    kept.add_rows(0, leaves.data(), 5, other.data());
    whole.add_row(0, 0, 0.25, one.data());
    kept.add_row(0, 0, 0.25, other.data());
    CHECK(one == other);
    const double* row = kept.row(0, 0, room);
    CHECK(std::equal(row, row + width, whole.of_tree(0)));
    const std::vector<double> more(width, 2.0);
    whole.add(more.data());
    kept.add(more.data());
    CHECK(same(whole, kept));
  }
}

void test_tally_lists_a_class_once() {
  LeafTally<double> tally;
  LeafEntries<double> entries;
  tally.add_up(1, 3, [](auto&& add) {
    for (const double weight : {0.0, 2.0, 0.0}) add(0, ClassId{1}, weight);
    add(0, ClassId{2}, 0.0);
  });
  const LeafCounts counts = packed_counts(tally, entries);
  CHECK(counts.classes().size() == 1 && counts.classes().at(0) == 1 && counts.whole().at(0) == 2);
}

// One tree, three leaves. Leaf 0: row 0 in bag, rows 1 and 2 not; leaf 1: row 3; leaf 2: row 5, alone. Row 4 is spread over
// the first two. Classes 0, 1, 0, 1, 0, 1.
void test_out_of_bag() {
  Members members;
  members.n_rows = 6;
  members.trees.push_back(members_of(3, {0, 0, 0, 1, 0, 2}, {2, 0, 0, 0, 0, 0}));
  members.trees[0].reach.add_part(0, 0.25);
  members.trees[0].reach.add_part(1, 0.75);
  members.trees[0].reach.end_row(4);
  const std::vector<ClassId> labels = {0, 1, 0, 1, 0, 1};
  ThreadPool pool(2);
  const std::vector<RowId> some = {4, 2, 5};
  std::vector<double> out(12, 9), of_some(6, 9);
  // In bag once, out of bag twice: 1 + 2 (1 + 1/4) and 2 of row 1; 2 * 3/4 and 2 of row 3; 2 of row 5.
  const LeafTables counts = tables_with(2, {{3.5, 2, 1.5, 2, 0, 2}});
  out_of_bag_frequencies(members, counts, 2, {labels.data(), nullptr}, {nullptr, 6}, pool, out.data());
  CHECK(near(out, std::vector<double>{kNaN, kNaN, 1, 0, 1.5 / 3.5, 2 / 3.5, 1, 0, 0.15, 0.85, kNaN, kNaN}));
  out_of_bag_frequencies(members, counts, 2, {labels.data(), nullptr}, {some.data(), 3}, pool, of_some.data());
  CHECK(near(of_some, std::vector<double>{0.15, 0.85, 1.5 / 3.5, 2 / 3.5, kNaN, kNaN}));
  // Rows that weigh 4, counted once: only the weights change.
  const std::vector<double> weights(6, 4.0);
  const LeafTables heavy = tables_with(2, {{4 + 4 * 1.25, 4, 3, 4, 0, 4}});
  out_of_bag_frequencies(members, heavy, 1, {labels.data(), weights.data()}, {nullptr, 6}, pool, out.data());
  CHECK(near(out,
             std::vector<double>{kNaN, kNaN, 1, 0, 5. / 9, 4. / 9, 1, 0, 0.25 * 8 / 12, 0.75 + 0.25 * 4 / 12, kNaN, kNaN}));
  // Frequencies, and what leaf 2 would say.
  const LeafTables frequencies = tables_with(2, {{.5, .5, .25, .75, 0, 1}});
  out_of_bag_average(members, frequencies, {nullptr, 6}, pool, out.data());
  CHECK(near(out, std::vector<double>{kNaN, kNaN, .5, .5, .5, .5, .25, .75, .3125, .6875, 0, 1}));

  // With every row of a random forest: taking a row out by hand gives the same.
  Engine engine(12);
  for (int round = 0; round < 20; ++round) {
    Sample sample(engine, 1 + below(engine, 200), 1 + below(engine, 4), 3);
    ForestOptions forest = random_forest_options(engine);
    forest.bootstrap = Bootstrap::plain;
    const GrownForest grown = sample.forest_with(5, random_options(engine, 3), forest, 1);
    const std::size_t n = sample.dataset.n_rows();
    std::vector<std::vector<double>> of_trees;
    for (const PackedTree& tree : grown.forest.trees) {
      std::vector<double> in_bag(3 * tree.vote.size(), 0.0), unseen(in_bag);
      tree.in_bag.add(1.0, 3, in_bag.data());
      tree.out_of_bag.add(1.0, 3, unseen.data());
      for (std::size_t i = 0; i < in_bag.size(); ++i) in_bag[i] += 1.5 * unseen[i];
      of_trees.push_back(in_bag);
    }
    std::vector<double> found(3 * n);
    const auto& weights_of_rows = sample.dataset.weights;
    out_of_bag_frequencies(grown.members, tables_with(3, of_trees), 1.5,
                           {sample.dataset.labels.data(), weights_of_rows.empty() ? nullptr : weights_of_rows.data()},
                           {nullptr, n}, pool, found.data());
    bool good = true;
    for (std::size_t row = 0; row < n; ++row) {
      std::vector<double> sums(3, 0.0);
      double shares = 0;
      for (std::size_t t = 0; t < 5; ++t) {
        if (grown.members.trees[t].copies_of(row) > 0) continue;
        grown.members.trees[t].reach.visit(row, [&](LeafId leaf, double share) {
          const double* from = of_trees[t].data() + 3 * leaf;
          std::vector<double> left(from, from + 3);
          left[sample.dataset.labels[row]] -= 1.5 * share * sample.dataset.weight(static_cast<RowId>(row));
          const double total = left[0] + left[1] + left[2];
          if (total <= 1e-9) return;
          shares += share;
          for (std::size_t k = 0; k < 3; ++k) sums[k] += share * left[k] / total;
        });
      }
      for (std::size_t k = 0; k < 3; ++k) good &= near(found[3 * row + k], shares > 0 ? sums[k] / shares : kNaN, 1e-6);
    }
    CHECK(good);
  }
}

// Shares that are drawn at random become monotone: pairs of rows that differ along a constrained column are in order.
void test_ordered_shares() {
  Engine engine(31);
  ThreadPool pool(1);
  int n_apart = 0;
  for (int round = 0; round < 60; ++round) {
    Sample sample(engine, 20 + below(engine, 200), 1 + below(engine, 4), 2);
    sample.fill_in_missing();
    GrowOptions options = random_options(engine, 2);
    options.missing = Missing::separate;
    for (const std::int32_t n : sample.n_categories)
      options.signs.push_back(static_cast<std::int8_t>(n > 0 ? 0 : below(engine, 3) - 1));
    const Tree tree = sample.grow_with(options, {}, 1);

    std::vector<std::size_t> place(tree.n_nodes(), 0);
    std::vector<double> drawn, weights;
    for (std::size_t node = 0; node < tree.n_nodes(); ++node) {
      if (tree.feature[node] >= 0) continue;
      place[node] = drawn.size();
      drawn.push_back(below(engine, 1000) / 1000.0);
      weights.push_back(below(engine, 4));  // also leaves without rows
    }
    const std::vector<double> shares = ordered_shares(tree, options.signs, drawn, weights);
    CHECK(shares.size() == drawn.size());
    const auto [least, most] = std::minmax_element(drawn.begin(), drawn.end());
    CHECK(std::all_of(shares.begin(), shares.end(), [&](double s) { return s >= *least - 1e-12 && s <= *most + 1e-12; }));

    std::vector<double> moved = sample.values;
    const std::size_t n_columns = options.signs.size();
    for (std::size_t cell = 0; cell < moved.size(); ++cell)
      moved[cell] += options.signs[cell % n_columns] * 0.25 * below(engine, 8);
    Matrix after = sample.dataset.matrix;
    after.data = moved.data();
    const Router router(tree);
    const auto n_rows = static_cast<std::size_t>(sample.dataset.n_rows());
    std::vector<std::int32_t> from(n_rows), to(n_rows);
    router.apply(sample.dataset.matrix, pool, from.data());
    router.apply(after, pool, to.data());
    for (std::size_t i = 0; i < n_rows; ++i) {
      const std::size_t here = place[static_cast<std::size_t>(from[i])], there = place[static_cast<std::size_t>(to[i])];
      CHECK(shares[here] <= shares[there] + 1e-12);
      n_apart += drawn[here] > drawn[there];
    }
  }
  CHECK(n_apart > 100);  // what was drawn was not in order
}

}  // namespace

void forest_tests() {
  test_packing();
  test_packing_keeps_what_it_is_given();
  test_check_refuses_hostile_trees();
  test_forests();
  test_forest_laws();
  test_single_precision();
  test_members();
  test_forest_router();
  test_lists_of_leaf_tables();
  test_tally_lists_a_class_once();
  test_out_of_bag();
  test_ordered_shares();
}
