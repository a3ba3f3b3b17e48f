// The best cut of a feature whose rows are grouped by code: one of the inner loops. Groups are walked in a given
// order, that of the codes for a numeric feature or that of the shares of a class for a categorical one.
#pragma once

#include "grow/ordered_cut.hpp"
#include "grow/two_sides.hpp"

namespace petiole {

// Cells (code x class) per row up to which rows are added up in a table of cells.
constexpr std::uint64_t kCellsPerRow = 32;

// Cells per row up to which all cells are walked: cheaper than remembering which are in use.
constexpr std::uint32_t kDenseCells = 2;

// Groups by adding up the rows in a table of cells and walking the cells in use.
template <class W, class Code>
void group_by_cells(const NodeView<W>& node, std::uint32_t n_cells, const Code* codes, SearchScratch<W>& scratch) {
  Groups<W>& groups = scratch.groups;
  const auto n_classes = static_cast<std::uint32_t>(node.n_classes());
  if (scratch.cells.size() < n_cells) scratch.cells.resize(n_cells);
  W* cells = scratch.cells.data();
  std::uint32_t end = 0, end_of_code = 0;
  const auto take = [&](std::uint32_t cell) {
    if (cell >= end_of_code) {
      const std::uint32_t code = cell / n_classes;
      end_of_code = (code + 1) * n_classes;
      groups.start_group(code, end);
    }
    groups.label[end] = static_cast<ClassId>(cell + n_classes - end_of_code);
    groups.weight[end++] = std::exchange(cells[cell], W{0});
  };
  if (n_cells <= kDenseCells * node.n) {
    for (std::uint32_t i = 0; i < node.n; ++i) {
      const Entry<W>& entry = node.entries[i];
      cells[codes[entry.row] * n_classes + entry.label] += entry.weight;
    }
    for (std::uint32_t cell = 0; cell < n_cells; ++cell)
      if (cells[cell] != W{0}) take(cell);
  } else {
    scratch.present.reserve(n_cells);
    for (std::uint32_t i = 0; i < node.n; ++i) {
      const Entry<W>& entry = node.entries[i];
      const std::uint32_t cell = codes[entry.row] * n_classes + entry.label;
      cells[cell] += entry.weight;
      scratch.present.insert(cell);
    }
    scratch.present.drain(n_cells, take);
  }
  groups.finish(end);
}

// Groups by putting the rows in order, for features of so many values that a table would be mostly empty.
template <class W, class Code>
void group_by_sorting(const NodeView<W>& node, const FrameColumn& column, const Code* codes, SearchScratch<W>& scratch) {
  Groups<W>& groups = scratch.groups;
  std::uint32_t* next = counters_for<std::uint32_t>(column, scratch);
  for (std::uint32_t i = 0; i < node.n; ++i) {
    const std::uint32_t code = codes[node.entries[i].row];
    ++next[code];
    scratch.present.insert(code);
  }
  std::uint32_t end = 0;
  scratch.present.drain(column.n_codes + 1, [&](std::uint32_t code) {
    groups.start_group(code, end);
    end += std::exchange(next[code], end);
  });
  groups.finish(end);
  for (std::uint32_t i = 0; i < node.n; ++i) {
    const Entry<W>& entry = node.entries[i];
    const std::uint32_t to = next[codes[entry.row]]++;
    groups.label[to] = entry.label;
    groups.weight[to] = entry.weight;
  }
  for (std::uint32_t g = 0; g < groups.size(); ++g) next[groups.code[g]] = 0;
}

// Groups the rows by code, in order of code.
template <class W, class Code>
void group_by_code(const NodeView<W>& node, const FrameColumn& column, const Code* codes, SearchScratch<W>& scratch) {
  scratch.groups.reserve(node.n);
  const std::uint64_t n_cells = (std::uint64_t{column.n_codes} + 1) * static_cast<std::uint64_t>(node.n_classes());
  if (n_cells <= kCellsPerRow * node.n)
    group_by_cells(node, static_cast<std::uint32_t>(n_cells), codes, scratch);
  else
    group_by_sorting(node, column, codes, scratch);
}

// Finds the cut with the least mass among the groups in the given order. scratch.right_counts holds the true class
// weights of all these groups. Cuts that are not allowed are passed over.
template <class W, class C, class Allowed = AnyCut>
Cut walk_groups(const NodeView<W>& node, const std::vector<std::uint32_t>& order, const C& criterion, CutLimits limits,
                SearchScratch<W>& scratch, Allowed allowed = {}) {
  const Groups<W>& groups = scratch.groups;
  W total{0}, left{0};
  for (const W weight : scratch.right_counts) total += weight;
  TwoSides sides(criterion, scale_of(node), scratch.left_counts, scratch.right_counts);
  const W least = weight_bound<W>(limits.min_side);
  const typename C::Mass slack = criterion.slack(limits.tie_weight);
  Cut cut;
  typename C::Mass best{};
  for (std::uint32_t g = 0; g + 1 < order.size(); ++g) {
    for (std::uint32_t i = groups.start[order[g]]; i < groups.start[order[g] + 1]; ++i) {
      sides.move_left(groups.label[i], groups.weight[i]);
      allowed.move_left(groups.label[i], groups.weight[i]);
      left += groups.weight[i];
    }
    if (left < least || total - left < least || !allowed.allows(left, total)) continue;
    ++cut.tries;
    const auto mass = sides.mass();
    if (cut.found && !(mass < best - slack)) continue;
    cut.found = true;
    cut.position = g + 1;
    cut.left = sides.left_weight();
    best = mass;
  }
  cut.mass = criterion.real(best);
  return cut;
}

}  // namespace petiole
