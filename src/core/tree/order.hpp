// In what order the leaves of a tree are, if its answer must not fall along some columns, or must not rise.
//
// Leaf l is below leaf r if a row of l can become a row of r while its constrained columns move in their directions and all
// others keep their values. The answer of a tree is monotone exactly if no leaf says more than one that it is below. Both
// leaves are boxes: an interval of each numeric column, a set of categories of each categorical one, and whether the value may
// be missing. So pairs are found by walking the tree with two rows at once, never further than both can go.
//
// A missing value is neither below nor above a known one; missing values are equal.
#pragma once

#include <span>

#include "tree/tree.hpp"

namespace petiole {

// What is demanded of each column: 1 if the answer must not fall as it rises, -1 if it must not rise, 0 nothing.
using Signs = std::span<const std::int8_t>;

// The splits of a tree as far as order goes. A column is that of a table, or a sum of several, which is one of its own.
struct SplitTree {
  struct Node {
    std::int32_t column = -1;  // -1: a cell, which says the same to all of its rows
    int sign = 0;
    double threshold = std::numeric_limits<double>::quiet_NaN();  // NaN: categorical
    std::int32_t first_child = 0, n_children = 0;                 // in `children`
    std::int32_t missing_child = -1;                              // -1: rows without the value are nowhere below
    std::int32_t first_category = 0, n_categories = 0;            // in `branch_of_category`
  };
  std::vector<Node> nodes;  // 0 is the root
  std::vector<NodeId> children;
  std::vector<std::int32_t> branch_of_category;  // -1: as missing values
  std::int32_t n_columns = 0;

  const Node& node(NodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
  NodeId child(const Node& of, std::int32_t branch) const {
    return children[static_cast<std::size_t>(of.first_child + branch)];
  }
};

// Splits by sums whose terms point in different directions are cells, as leaves are.
SplitTree split_tree(const Tree& tree, Signs signs);

// The sign of a sum of columns. 0 if nothing is demanded of any, kBothWays if its terms point in different directions.
inline constexpr int kBothWays = 2;
int sign_of_sum(std::span<const ProjectionTerm> terms, Signs signs);

struct CellOrder {
  std::vector<NodeId> cells;  // each after all that are below it
  std::vector<std::uint32_t> start;
  std::vector<std::uint32_t> below;  // places in `cells`: those below cell i are below[start[i]] .. below[start[i + 1] - 1]
};

CellOrder cell_order(const SplitTree& tree);

// The cell of each node that is a cell or below one, by its position; others have kNoCell.
inline constexpr std::uint32_t kNoCell = std::numeric_limits<std::uint32_t>::max();
std::vector<std::uint32_t> cells_of_nodes(const Tree& tree, const CellOrder& order);

// Values that are near others and monotone.
struct Pooled {
  std::vector<std::uint32_t> block;  // of each cell: the number of one cell of its block
  std::vector<double> value;         // of each cell: about the weighted mean of its block
};

// Cells are taken in turn, and as long as one of those below a block has a larger value, the block with the largest is joined
// to it: generalised pool-adjacent-violators (Burdakov, Sysoev, Grimvall & Hussian 2006). Weights are positive.
Pooled pool_violators(const CellOrder& order, std::span<const double> values, std::span<const double> weights);

}  // namespace petiole
