// The best cut of a numeric feature between many classes where a table of codes and classes is small: one of the
// inner loops. Cells are 16 bits wide, so that eight are walked at a time, and the tables of several features are
// filled in one pass over the rows.
#pragma once

#include "grow/two_sides.hpp"

namespace petiole {

// Cells per row up to which the table of 16-bit cells is used: all of it is walked, eight cells at a time.
constexpr std::uint64_t kNarrowCellsPerRow = 8;
// Tables of several columns are filled in one pass over the rows, as many as stay in the first cache.
constexpr std::uint32_t kCellsAtOnce = 8192;
constexpr std::size_t kColumnsAtOnce = 4;

// A column's table: the cells of code c begin at cells + c * width, those of missing rows are the last.
struct CellColumn {
  const FrameColumn* column = nullptr;
  std::size_t position = 0;  // among the candidates
  Cell* cells = nullptr;
};

// Adds the rows to the tables of kColumns columns. kLookUp: the labels are still to be numbered.
template <int kColumns, bool kLookUp, class W, class Code>
void count_cells(const NodeView<W>& node, const CellColumn* columns, std::uint32_t width) {
  const Code* codes[kColumns];
  Cell* cells[kColumns];
  for (int c = 0; c < kColumns; ++c) {
    columns[c].column->codes->visit([&](const auto* of_column) { codes[c] = reinterpret_cast<const Code*>(of_column); });
    cells[c] = columns[c].cells;
  }
  const Entry<W>* entries = node.entries;
  const ClassId* local_class = node.local_class;
  const std::uint32_t n = node.n;
  for (std::uint32_t i = 0; i < n; ++i) {
    const Entry<W> entry = entries[i];
    const ClassId label = kLookUp ? local_class[entry.label] : entry.label;
    for (int c = 0; c < kColumns; ++c) {
      Cell& cell = cells[c][std::size_t{codes[c][entry.row]} * width + label];
      cell = static_cast<Cell>(cell + static_cast<Cell>(entry.weight));
    }
  }
}

// Finds the cut with the least mass (in a tie, the first) and empties the cells of known rows. scratch.right_counts holds
// the class weights of these rows, `total` their sum; scratch.best_left gets those on the left of the cut.
template <class C>
Cut walk_cells(const C& criterion, const CellColumn& table, std::uint32_t width, std::uint32_t total, CutLimits limits,
               SearchScratch<std::uint32_t>& scratch) {
  const auto least = weight_bound<std::uint32_t>(limits.min_side);
  const typename C::Mass slack = criterion.slack(limits.tie_weight);
  Cut cut;
  typename C::Mass best{};
  const auto consider = [&](std::uint32_t code, std::uint32_t left, const auto& sides) {
    if (left < least || total - left < least) return;
    ++cut.tries;
    const typename C::Mass mass = sides.mass();
    if (cut.found && !(mass < best - slack)) return;
    cut.found = true;
    cut.position = code;
    cut.left = left;
    best = mass;
    sides.copy_left(scratch.best_left.data());
  };
  if (scratch.best_left.size() < width) scratch.best_left.resize(width);
  if constexpr (std::is_same_v<C, CountGini>) {
    scratch.cell_totals.assign(width, 0);
    scratch.cell_left.resize(width);
    std::copy(scratch.right_counts.begin(), scratch.right_counts.end(), scratch.cell_totals.begin());
    with_gini_cells(scratch.cell_totals.data(), scratch.cell_left.data(), width, total, [&](auto sides) {
      for (std::uint32_t code = 0; code < table.column->n_codes; ++code)
        consider(code, sides.take(table.cells + std::size_t{code} * width), sides);
    });
  } else {
    TwoSides sides(criterion, NoScale{}, scratch.left_counts, scratch.right_counts);
    std::uint32_t left = 0;
    for (std::uint32_t code = 0; code < table.column->n_codes; ++code) {
      const std::uint32_t before = left;
      take_cells(table.cells + std::size_t{code} * width, width, [&](std::uint32_t k, std::uint32_t weight) {
        sides.move_left(static_cast<ClassId>(k), weight);
        left += weight;
      });
      if (left > before) consider(code, left, sides);
    }
  }
  cut.mass = criterion.real(best);
  return cut;
}

}  // namespace petiole
