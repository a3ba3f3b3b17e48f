// Forests as a whole: put together, and added up over their trees.
#include "forest/forest.hpp"

#include <algorithm>

namespace petiole {

bool is_oblique(const Forest& forest) {
  return std::any_of(forest.trees.begin(), forest.trees.end(), [](const PackedTree& tree) { return !tree.n_terms.empty(); });
}

Forest joined(const std::vector<const Forest*>& forests) {
  Forest all;
  for (const Forest* forest : forests) {
    all.n_classes = forest->n_classes;
    all.trees.insert(all.trees.end(), forest->trees.begin(), forest->trees.end());
  }
  return all;
}

std::vector<double> root_counts(const Forest& forest, double in_bag, double out_of_bag) {
  const auto width = static_cast<std::size_t>(forest.n_classes);
  std::vector<double> roots(forest.trees.size() * width, 0.0);
  double* sums = roots.data();
  for (const PackedTree& tree : forest.trees) {
    tree.in_bag.add_up(in_bag, sums);
    tree.out_of_bag.add_up(out_of_bag, sums);
    sums += width;
  }
  return roots;
}

}  // namespace petiole
