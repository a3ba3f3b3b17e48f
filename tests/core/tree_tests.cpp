// One tree: its counts, routing and pruning.
#include "tree/prune.hpp"
#include "tree/route.hpp"

#include "support.hpp"

namespace {

// Sending the training rows down the tree gives the counts it was grown with, unless rows were divided very often.
void check_routing_gives_counts(const Tree& tree, const Sample& sample) {
  const Router router(tree);
  std::vector<double> counts(tree.counts.size(), 0.0);
  const auto& weights = sample.dataset.weights;
  router.count(sample.dataset.matrix, sample.dataset.labels.data(), weights.empty() ? nullptr : weights.data(),
               tree.n_classes, counts.data());
  double worst = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) worst = std::max(worst, std::abs(counts[i] - tree.counts[i]));
  CHECK(worst < 0.05 * (1 + node_weight(tree, 0)));
  ThreadPool pool(2);
  std::vector<std::int32_t> leaves(sample.dataset.labels.size());
  router.apply(sample.dataset.matrix, pool, leaves.data());
  for (const std::int32_t leaf : leaves) CHECK(tree.feature[static_cast<std::size_t>(leaf)] < 0);
  const NodeWeights found = router.traverse(sample.dataset.matrix, false);
  for (std::size_t i = 0; i + 1 < found.start.size(); ++i) {
    double sum = 0;
    for (std::int64_t at = found.start[i]; at < found.start[i + 1]; ++at) sum += found.weight[static_cast<std::size_t>(at)];
    CHECK(std::abs(sum - 1) < 1e-9);
  }
}

void test_random_trees() {
  Engine engine(1);
  for (int round = 0; round < 400; ++round) {
    const int n_classes = 1 + below(engine, 5);
    Sample sample(engine, 1 + below(engine, 300), 1 + below(engine, 8), n_classes);
    const GrowOptions options = random_options(engine, n_classes);
    CodingOptions coding;
    if (below(engine, 3) == 0) coding.max_bins = static_cast<std::uint32_t>(2 + below(engine, 20));
    const Tree tree = sample.grow_with(options, coding, 1);
    check_children_add_up(tree);
    check_routing_gives_counts(tree, sample);
    Interrupt interrupt;
    const PruningData data{sample.dataset.matrix, sample.dataset.labels, sample.dataset.weights};
    const Tree pruned = prune_by_error(tree, data, 0.25, 0.6744897501960817, interrupt);
    CHECK(pruned.n_nodes() <= tree.n_nodes());
    CHECK(collapse(tree).n_nodes() <= tree.n_nodes());
    check_children_add_up(pruned);
  }
}

}  // namespace

void tree_tests() { test_random_trees(); }
