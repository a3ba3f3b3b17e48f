// Shapley values of the columns of rows, for sums over trees of what their leaves hold.
//
// A column's value is its mean effect when the columns become known one after the other, over all orders. What a tree says
// while only some are known is in "explain/game_tree.hpp"; there are two kinds of what is not known:
//
// - path-dependent: a row is divided as the training rows were, by the weights of the children;
// - interventional: it has the value of a background row, and the values are means over these.
//
// A sum of an oblique split is a player of its own; what it gets is divided evenly among its columns.
#pragma once

#include <functional>

#include "base/interrupt.hpp"
#include "base/parallel.hpp"
#include "forest/leaf_tables.hpp"
#include "tree/tree.hpp"

namespace petiole {

// Trees one by one, each made when it is its turn.
struct TreeSource {
  std::size_t n_trees;
  std::function<Tree(std::size_t)> tree;
};

// What is asked: `tables` has n_outputs numbers for each leaf.
struct ShapleyTask {
  const TreeSource& trees;
  const LeafTables& tables;
  const Matrix& rows;

  std::size_t n_outputs() const { return tables.n_columns(); }
};

// Adds to out, (row x column x output), and to base, one number per output, what is said while nothing is known.
// Throws std::invalid_argument if trees do not fit their tables or the rows.
void path_values(const ShapleyTask& task, ThreadPool& pool, Interrupt& interrupt, double* out, double* base);

// The same with background rows, of which there is one or more.
void interventional_values(const ShapleyTask& task, const Matrix& background, ThreadPool& pool, Interrupt& interrupt,
                           double* out, double* base);

}  // namespace petiole
