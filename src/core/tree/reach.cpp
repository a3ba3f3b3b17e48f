#include "tree/reach.hpp"

#include <algorithm>

namespace petiole {

Members Members::at_leaves(const LeafId* leaves, const std::uint16_t* copies, std::size_t n_rows,
                           const std::vector<LeafId>& n_leaves) {
  Members members;
  members.n_rows = n_rows;
  const std::size_t n_trees = n_leaves.size();
  members.trees.resize(n_trees);
  for (std::size_t t = 0; t < n_trees; ++t) {
    OfTree& tree = members.trees[t];
    tree.n_leaves = n_leaves[t];
    tree.reach.reset(n_rows);
    tree.copies.assign(n_rows, 0);
    for (std::size_t row = 0; row < n_rows; ++row) {
      const LeafId leaf = leaves[row * n_trees + t];
      if (leaf < 0 || leaf >= tree.n_leaves) throw std::invalid_argument("leaves: there is no such leaf");
      tree.reach.leaves()[row] = leaf;
      if (copies != nullptr) tree.copies[row] = copies[row * n_trees + t];
    }
  }
  return members;
}

void Members::set_copies(std::size_t tree, const std::uint32_t* copies) {
  auto& to = trees[tree].copies;
  to.resize(n_rows);
  std::transform(copies, copies + n_rows, to.begin(),
                 [](std::uint32_t n) { return static_cast<std::uint16_t>(std::min<std::uint32_t>(n, 65535)); });
}

void Members::append(Members& more) {
  for (OfTree& tree : more.trees) trees.push_back(std::move(tree));
  more.trees.clear();
}

LeafShares leaf_shares(const TreeReach& reach) {
  LeafShares found;
  for (std::size_t row = 0; row < reach.n_rows(); ++row) {
    reach.visit(row, [&](LeafId leaf, double share) {
      found.leaf.push_back(leaf);
      found.share.push_back(share);
    });
    found.start.push_back(static_cast<std::int64_t>(found.leaf.size()));
  }
  return found;
}

}  // namespace petiole
