// Weights by code and class in a table of 16-bit cells, for nodes of many classes and features of few values: eight classes
// are one step of the walk.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/simd.hpp"
#include "grow/criterion.hpp"

namespace petiole {

using Cell = std::int16_t;

inline constexpr std::uint32_t kCellBlock = 8;
// A node this heavy still fits: no cell and no sum of squares overflows.
inline constexpr double kMostCellWeight = 32767;

// Cells of one code: a whole number of blocks.
inline std::uint32_t cell_width(std::uint32_t n_classes) { return (n_classes + kCellBlock - 1) / kCellBlock * kCellBlock; }

#if defined(PETIOLE_SSE2)

inline __m128i load_cells(const Cell* cells) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(cells)); }
inline void store_cells(Cell* cells, __m128i values) { _mm_storeu_si128(reinterpret_cast<__m128i*>(cells), values); }

// The weights of all classes at the node and on the left of a cut, in registers.
template <std::uint32_t kBlocks>
class CellsInRegisters {
 public:
  CellsInRegisters(const Cell* totals, Cell*, std::uint32_t) {
    for (std::uint32_t b = 0; b < kBlocks; ++b) {
      totals_[b] = load_cells(totals + b * kCellBlock);
      left_[b] = _mm_setzero_si128();
    }
  }
  static constexpr std::uint32_t n_blocks() { return kBlocks; }
  __m128i total(std::uint32_t block) const { return totals_[block]; }
  __m128i left(std::uint32_t block) const { return left_[block]; }
  void set_left(std::uint32_t block, __m128i weights) { left_[block] = weights; }

 private:
  __m128i totals_[kBlocks], left_[kBlocks];
};

// The same in memory, for any number of blocks.
class CellsInMemory {
 public:
  CellsInMemory(const Cell* totals, Cell* left, std::uint32_t n_blocks) : totals_(totals), left_(left), n_blocks_(n_blocks) {
    std::fill_n(left, n_blocks * kCellBlock, Cell{0});
  }
  std::uint32_t n_blocks() const { return n_blocks_; }
  __m128i total(std::uint32_t block) const { return load_cells(totals_ + block * kCellBlock); }
  __m128i left(std::uint32_t block) const { return load_cells(left_ + block * kCellBlock); }
  void set_left(std::uint32_t block, __m128i weights) { store_cells(left_ + block * kCellBlock, weights); }

 private:
  const Cell* totals_;
  Cell* left_;
  std::uint32_t n_blocks_;
};

// Both sides of a cut that moves from code to code, for the Gini index.
template <class Sides>
class GiniCells {
 public:
  GiniCells(const Cell* totals, Cell* left, std::uint32_t width, std::uint32_t total_weight)
      : sides_(totals, left, width / kCellBlock), total_(_mm_cvtsi32_si128(static_cast<int>(total_weight))) {}

  // Moves a code's cells to the left and empties them. Returns the weight on the left.
  std::uint32_t take(Cell* cells) {
    __m128i left_squares = _mm_setzero_si128(), right_squares = left_squares, sums = left_squares;
    for (std::uint32_t b = 0; b < sides_.n_blocks(); ++b) {
      const __m128i left = _mm_add_epi16(sides_.left(b), load_cells(cells + b * kCellBlock));
      const __m128i right = _mm_sub_epi16(sides_.total(b), left);
      sides_.set_left(b, left);
      store_cells(cells + b * kCellBlock, _mm_setzero_si128());
      left_squares = _mm_add_epi32(left_squares, _mm_madd_epi16(left, left));
      right_squares = _mm_add_epi32(right_squares, _mm_madd_epi16(right, right));
      sums = _mm_add_epi32(sums, _mm_madd_epi16(left, _mm_set1_epi16(1)));
    }
    const __m128i halves =
        _mm_add_epi32(_mm_unpacklo_epi32(left_squares, right_squares), _mm_unpackhi_epi32(left_squares, right_squares));
    squares_ = _mm_add_epi32(halves, _mm_unpackhi_epi64(halves, halves));
    sums = _mm_add_epi32(sums, _mm_unpackhi_epi64(sums, sums));
    n_left_ = _mm_add_epi32(sums, _mm_srli_epi64(sums, 32));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(n_left_));
  }

  // The weights on the left, as many as there are cells.
  void copy_left(std::uint32_t* to) const {
    for (std::uint32_t b = 0; b < sides_.n_blocks(); ++b) {
      // No cell is negative.
      const __m128i left = sides_.left(b), none = _mm_setzero_si128();
      auto* block = reinterpret_cast<__m128i*>(to + b * kCellBlock);
      _mm_storeu_si128(block, _mm_unpacklo_epi16(left, none));
      _mm_storeu_si128(block + 1, _mm_unpackhi_epi16(left, none));
    }
  }

  // Neither side is empty. Equal to CountGini to the last bit.
  double mass() const {
    const __m128d n = _mm_cvtepi32_pd(_mm_unpacklo_epi32(n_left_, _mm_sub_epi32(total_, n_left_)));
    const __m128d masses = _mm_sub_pd(n, _mm_div_pd(_mm_cvtepi32_pd(squares_), n));
    return _mm_cvtsd_f64(_mm_add_sd(masses, _mm_unpackhi_pd(masses, masses)));
  }

 private:
  Sides sides_;
  __m128i total_;
  __m128i squares_{}, n_left_{};  // (left, right) and the weight on the left, in the first numbers
};

// Calls f with a cut before all codes. totals: the weights of all classes at the node, `width` of them; left: room for as many.
template <class F>
void with_gini_cells(const Cell* totals, Cell* left, std::uint32_t width, std::uint32_t total_weight, F&& f) {
  switch (width / kCellBlock) {
    case 1:
      return f(GiniCells<CellsInRegisters<1>>(totals, left, width, total_weight));
    case 2:
      return f(GiniCells<CellsInRegisters<2>>(totals, left, width, total_weight));
    case 3:
      return f(GiniCells<CellsInRegisters<3>>(totals, left, width, total_weight));
    case 4:
      return f(GiniCells<CellsInRegisters<4>>(totals, left, width, total_weight));
    default:
      return f(GiniCells<CellsInMemory>(totals, left, width, total_weight));
  }
}
#else
class GiniCells {
 public:
  GiniCells(const Cell* totals, Cell* left, std::uint32_t width, std::uint32_t total_weight)
      : totals_(totals), left_(left), width_(width), total_(total_weight) {
    std::fill_n(left, width, Cell{0});
  }

  std::uint32_t take(Cell* cells) {
    left_squares_ = right_squares_ = 0;
    std::int32_t n_left = 0;
    for (std::uint32_t k = 0; k < width_; ++k) {
      left_[k] = static_cast<Cell>(left_[k] + cells[k]);
      cells[k] = 0;
      const std::int32_t left = left_[k], right = totals_[k] - left;
      left_squares_ += left * left;
      right_squares_ += right * right;
      n_left += left;
    }
    n_left_ = static_cast<std::uint32_t>(n_left);
    return n_left_;
  }

  void copy_left(std::uint32_t* to) const { std::copy_n(left_, width_, to); }

  double mass() const {
    const CountGini gini;
    return gini.of_sum(n_left_, left_squares_) + gini.of_sum(total_ - n_left_, right_squares_);
  }

 private:
  const Cell* totals_;
  Cell* left_;
  std::uint32_t width_, total_;
  std::uint32_t n_left_ = 0;
  std::int32_t left_squares_ = 0, right_squares_ = 0;
};

template <class F>
void with_gini_cells(const Cell* totals, Cell* left, std::uint32_t width, std::uint32_t total_weight, F&& f) {
  f(GiniCells(totals, left, width, total_weight));
}
#endif

// Calls f(class, weight) for the cells of a code that are in use, and empties them.
template <class F>
void take_cells(Cell* cells, std::uint32_t width, F&& f) {
  for (std::uint32_t first = 0; first < width; first += kCellBlock) {
#if defined(PETIOLE_SSE2)
    auto* block = reinterpret_cast<__m128i*>(cells + first);
    const __m128i unused = _mm_cmpeq_epi16(_mm_loadu_si128(block), _mm_setzero_si128());
    auto used = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(unused, unused)) & 0xff) ^ 0xffu;
    if (used == 0) continue;
    for (; used != 0; used &= used - 1) {
      const std::uint32_t k = first + static_cast<std::uint32_t>(std::countr_zero(used));
      f(k, static_cast<std::uint32_t>(cells[k]));
    }
    _mm_storeu_si128(block, _mm_setzero_si128());
#else
    for (std::uint32_t k = first; k < first + kCellBlock; ++k) {
      if (cells[k] == 0) continue;
      f(k, static_cast<std::uint32_t>(cells[k]));
      cells[k] = 0;
    }
#endif
  }
}

}  // namespace petiole
