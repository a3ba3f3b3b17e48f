// The ensemble's votes and the tables filed by them.
#include "votes/tables.hpp"

#include "votes/pooled_leaves.hpp"

#include "support.hpp"

namespace {

void test_ballot() {
  // Tables first: rows are divided by their sums, and empty ones are found.
  LeafTables tables = tables_with(2, {{1, 3, 0, 0}, {2, 2}, {0, 0, 0, 0}});
  tables.normalise();
  CHECK((tables.trees_with_empty_rows() == std::vector<std::size_t>{0, 2}));
  const LeafTables sums = tables.row_sums();
  const LeafTables wide = LeafTables::side_by_side({&tables, &sums});
  CHECK(wide.n_columns() == 3 && wide.n_leaves(0) == 2 && wide.n_leaves(1) == 1);
  CHECK(near(wide.table(0), std::vector<double>{0.25, 0.75, 1, 0, 0, 0}));
  const std::vector<double> added = {1, 2, 3, 4, 5, 6};
  tables.add(added.data());
  CHECK(near(tables.table(0), std::vector<double>{1.25, 2.75, 1, 2}) && near(tables.table(1), std::vector<double>{3.5, 4.5}));

  // Two trees of two leaves: rows 0..2 are in leaves (0, 0), (0, 1), (1, 1); row 3 is spread over the leaves of the first.
  Members members;
  members.n_rows = 4;
  members.trees.push_back(members_of(2, {0, 0, 1, 0}, {0, 0, 3, 0}));
  members.trees.push_back(members_of(2, {0, 1, 1, 1}, {0, 0, 1, 1}));
  members.trees[0].reach.add_part(1, 0.75);
  members.trees[0].reach.add_part(0, 0.25);
  members.trees[0].reach.end_row(3);
  const auto winners = [&](const LeafTables& frequencies, const std::vector<double>& prior) {
    ThreadPool pool(2);
    std::vector<std::int32_t> found(4, 9);
    std::vector<double> votes(8, 9);
    out_of_bag_votes(members, Ballot({{0, 1}, {0, 1}}, LeafFrequencies(frequencies), prior), pool, found.data(),
                     votes.data());
    CHECK(near(std::vector<double>(votes.begin(), votes.begin() + 6), std::vector<double>{2, 0, 1, 1, 0, 0}));
    CHECK(votes[6] + votes[7] == 1 && votes[6 + static_cast<std::size_t>(found[3])] == 1);
    return found;
  };
  using Winners = std::vector<std::int32_t>;
  // The tie of row 1 goes to the larger mean frequency, then to the more frequent class, then to the first; row 2 has been
  // seen by both trees.
  CHECK((winners(tables_with(2, {{.6, .4, .2, .8}, {.6, .4, .1, .9}}), {5, 1}) == Winners{0, 1, -1, 1}));
  CHECK((winners(tables_with(2, {{.9, .1, .4, .6}, {.6, .4, .4, .6}}), {1, 5}) == Winners{0, 0, -1, 0}));
  CHECK((winners(tables_with(2, {{.7, .3, .4, .6}, {.6, .4, .3, .7}}), {1, 5}) == Winners{0, 1, -1, 1}));
  CHECK((winners(tables_with(2, {{.7, .3, .4, .6}, {.6, .4, .3, .7}}), {5, 5}) == Winners{0, 0, -1, 1}));
}

void test_vote_tables() {
  // The members of one leaf: class, vote, copies.
  const std::vector<std::array<int, 3>> rows = {{0, 0, 2}, {0, 0, 1}, {1, 0, 1}, {1, 1, 3}, {0, 1, 1},
                                                {0, 0, 0}, {1, 1, 0}, {1, 1, 0}, {1, 0, 0}, {1, -1, 0}};
  std::vector<ClassId> labels;
  std::vector<std::int32_t> votes;
  std::vector<std::uint16_t> copies;
  for (const auto& [label, vote, n] : rows) {
    labels.push_back(static_cast<ClassId>(label));
    votes.push_back(vote);
    copies.push_back(static_cast<std::uint16_t>(n));
  }
  // The leaf is the middle one of three; the first is empty, and row 9, which has no vote, is alone in the last.
  std::vector<LeafId> leaves(rows.size(), 1);
  leaves.back() = 2;
  Members members;
  members.n_rows = rows.size();
  members.trees.push_back(members_of(3, leaves, copies));
  members.trees.push_back(members.trees[0]);
  ThreadPool pool(2);
  const TrainingRows training{labels.data(), nullptr};

  Members query;
  query.n_rows = 1;
  query.trees = {members_of(3, {1}, {0}), members_of(3, {1}, {0})};
  const auto ask = [&](const VoteTables& tables, ClassId first, ClassId second, VoteTables::Rows which) {
    const LeafFrequencies frequencies(tables_with(2, {{1, 0, 1, 0, 1, 0}, {1, 0, 1, 0, 1, 0}}));
    const Ballot ballot({{0, first, 0}, {0, second, 0}}, frequencies, {1, 1});
    std::vector<double> n_votes(2), out(2);
    std::int32_t winner = -1;
    tables.look_up(query, ballot, 2, which, pool, &winner, n_votes.data(), out.data());
    CHECK(winner == (first == 1 && second == 1 ? 1 : 0));
    CHECK(n_votes[1] == first + second && n_votes[0] == 2 - n_votes[1]);
    return out;
  };
  const auto check_rows = [&](const VoteTables& tables, std::vector<double> of_0, std::vector<double> of_1) {
    for (const auto which : {VoteTables::Rows::winner, VoteTables::Rows::shared}) {
      CHECK(near(ask(tables, 0, 0, which), of_0));
      CHECK(near(ask(tables, 1, 1, which), of_1));
    }
    CHECK(near(ask(tables, 1, 0, VoteTables::Rows::winner), of_0));
    CHECK(near(ask(tables, 1, 0, VoteTables::Rows::shared),
               std::vector<double>{(of_0[0] + of_1[0]) / 2, (of_0[1] + of_1[1]) / 2}));
  };
  VoteTables distinct(members, votes.data(), training, 2, true, pool),
      with_copies(members, votes.data(), training, 2, false, pool);
  CHECK(distinct.n_trees() == 2 && distinct.n_leaves(0) == 3);
  const VoteTables::OfTree& tree = distinct.trees()[0];
  CHECK((tree.row_vote == std::vector<ClassId>{0, 1}) && (tree.entry_class == std::vector<ClassId>{0, 1, 0, 1}));
  CHECK((tree.row_start == std::vector<std::int32_t>{0, 0, 2, 2}) &&
        (tree.entry_start == std::vector<std::int32_t>{0, 2, 4}));
  CHECK(near(tree.in_bag, std::vector<double>{2, 1, 1, 1}) && near(tree.out_of_bag, std::vector<double>{1, 1, 0, 2}));
  CHECK(near(with_copies.trees()[0].in_bag, std::vector<double>{3, 1, 1, 3}));
  distinct.mix(1);
  check_rows(distinct, {.6, .4}, {.25, .75});
  with_copies.mix(1);
  check_rows(with_copies, {4. / 6, 2. / 6}, {1. / 6, 5. / 6});
  distinct.mix(2);
  check_rows(distinct, {4. / 7, 3. / 7}, {1. / 6, 5. / 6});

  // Out of bag: the row itself is taken out of the row of its vote; those in every sample, and those alone, get nothing.
  std::vector<double> n_votes(2 * rows.size(), 1.0), out(2 * rows.size(), 9);
  distinct.out_of_bag(members, votes.data(), n_votes.data(), VoteTables::Rows::winner, training, {nullptr, rows.size()}, pool,
                      out.data());
  CHECK(near(out, std::vector<double>{kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN,
                                      .4,   .6,   .25,  .75,  .25,  .75,  .8,   .2,   kNaN, kNaN}));
  const std::vector<RowId> some = {8, 5};
  distinct.out_of_bag(members, votes.data(), n_votes.data(), VoteTables::Rows::shared, training, {some.data(), 2}, pool,
                      out.data());
  CHECK(near(std::vector<double>(out.begin(), out.begin() + 4),
             std::vector<double>{(.8 + 1. / 6) / 2, (.2 + 5. / 6) / 2, (.4 + 1. / 6) / 2, (.6 + 5. / 6) / 2}));
  // A leaf where nobody has the vote says nothing.
  query.trees = {members_of(3, {0}, {0}), members_of(3, {2}, {0})};
  CHECK(near(ask(distinct, 0, 0, VoteTables::Rows::shared), std::vector<double>{kNaN, kNaN}));

  // On random forests: both ways to look queries up agree, and answers are probabilities.
  Engine engine(13);
  for (int round = 0; round < 30; ++round) {
    Sample sample(engine, 1 + below(engine, 300), 1 + below(engine, 4), 3);
    ForestOptions forest = random_forest_options(engine);
    const GrownForest grown = sample.forest_with(6, random_options(engine, 3), forest, 1);
    const std::size_t n = sample.dataset.n_rows();
    std::vector<std::vector<double>> of_trees;
    std::vector<std::vector<ClassId>> leaf_votes;
    for (const PackedTree& packed : grown.forest.trees) {
      of_trees.emplace_back(3 * packed.vote.size(), 0.0);
      packed.in_bag.add(1.0, 3, of_trees.back().data());
      leaf_votes.emplace_back();
      for (std::size_t i = 0; i < packed.vote.size(); ++i)
        leaf_votes.back().push_back(static_cast<ClassId>(packed.vote.at(i)));
    }
    LeafTables frequencies = tables_with(3, of_trees);
    frequencies.normalise();
    const Ballot ballot(leaf_votes, LeafFrequencies(frequencies), sample.class_weights());
    std::vector<std::int32_t> winners(n), found_winners(n);
    std::vector<double> all_votes(3 * n), found_votes(3 * n), answers(3 * n), found_answers(3 * n), averages(3 * n),
        expected(3 * n);
    out_of_bag_votes(grown.members, ballot, pool, winners.data(), all_votes.data());
    const auto& weights = sample.dataset.weights;
    const TrainingRows of_sample{sample.dataset.labels.data(), weights.empty() ? nullptr : weights.data()};
    VoteTables tables(grown.members, winners.data(), of_sample, 3, forest.distinct, pool);
    tables.mix(0.5);
    const auto which = static_cast<VoteTables::Rows>(round % 2);
    const auto probabilities = [&](const std::vector<double>& table) {
      bool good = true;
      for (std::size_t i = 0; i < n; ++i) {
        const double sum = table[3 * i] + table[3 * i + 1] + table[3 * i + 2];
        good &= std::isnan(sum) || near(sum, 1, 1e-6);
        for (std::size_t k = 0; k < 3; ++k) good &= !(table[3 * i + k] < 0);
      }
      return good;
    };
    tables.out_of_bag(grown.members, winners.data(), all_votes.data(), which, of_sample, {nullptr, n}, pool, answers.data());
    CHECK(probabilities(answers));
    const ForestRouter router(grown.forest, pool);
    tables.look_up(router, sample.dataset.matrix, ballot, 4, which, &frequencies, pool, winners.data(), all_votes.data(),
                   answers.data(), averages.data());
    tables.look_up(router.members(sample.dataset.matrix, pool), ballot, 4, which, pool, found_winners.data(),
                   found_votes.data(), found_answers.data());
    CHECK(winners == found_winners && all_votes == found_votes && near(answers, found_answers) && probabilities(answers));
    router.average(sample.dataset.matrix, frequencies, nullptr, pool, expected.data(), nullptr, nullptr);
    CHECK(near(averages, expected));

    // Records of all that a leaf has say the same, to the bit where no row is spread.
    tables.look_up(router, sample.dataset.matrix, ballot, 6, VoteTables::Rows::shared, &frequencies, pool, winners.data(),
                   all_votes.data(), answers.data(), averages.data());
    const auto leaves = PooledLeaves::of(tables, frequencies, ballot);
    CHECK(leaves && leaves->n_trees() == 6 && leaves->n_leaves(0) == frequencies.n_leaves(0));
    leaves->look_up(router, sample.dataset.matrix, ballot, pool, found_answers.data(), expected.data());
    CHECK(near(answers, found_answers) && near(averages, expected));
    const Members reached = router.members(sample.dataset.matrix, pool);
    const bool any_spread =
        std::any_of(reached.trees.begin(), reached.trees.end(), [](const auto& tree) { return tree.reach.any_spread(); });
    const auto same_bits = [](const std::vector<double>& one, const std::vector<double>& other) {
      return std::memcmp(one.data(), other.data(), one.size() * sizeof(double)) == 0;
    };
    CHECK(any_spread || (same_bits(answers, found_answers) && same_bits(averages, expected)));
  }
}

// Numbers of which there are more than codes cannot be kept by their codes.
void test_numbers_without_codes() {
  for (const std::size_t n_leaves : {std::size_t{65'000}, std::size_t{70'000}}) {
    std::vector<double> numbers(n_leaves);
    for (std::size_t i = 0; i < n_leaves; ++i) numbers[i] = 1 + static_cast<double>(i);
    const LeafTables tables = tables_with(1, {numbers});
    VoteTables::OfTree none;
    none.row_start.assign(n_leaves + 1, 0);
    VoteTables votes(1, {none});
    votes.mix(1);
    const Ballot ballot({std::vector<ClassId>(n_leaves, 0)}, LeafFrequencies(tables), {1});
    CHECK(PooledLeaves::of(votes, tables, ballot).has_value() == (n_leaves < 65'536));
  }
}

}  // namespace

void votes_tests() {
  test_ballot();
  test_vote_tables();
  test_numbers_without_codes();
}
