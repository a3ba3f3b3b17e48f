// The coded columns in the layout for boosting: the codes of four columns side by side in one word for each row, so that one
// read serves four histograms.
#pragma once

#include <span>

#include "data/dataset.hpp"

namespace petiole::boosting {

class BoostColumns {
 public:
  static constexpr int kGroup = 4;
  static constexpr std::uint32_t kMostBins = 255;  // of a numeric column

  // Codes the columns of a matrix once; n_categories[j] is 0 for a numeric column. Throws std::invalid_argument if a column
  // has more than 65,535 categories.
  BoostColumns(const Matrix& matrix, const std::vector<double>& weights, const std::vector<std::int32_t>& n_categories,
               std::uint32_t max_bins, ThreadPool& pool, Interrupt& interrupt);

  struct Column {
    std::uint32_t n_codes = 0;    // missing has the code after the last
    std::uint32_t first_bin = 0;  // of the column in a histogram of all columns
    bool categorical = false, has_missing = false;
    std::vector<double> low, high;  // of numeric columns: the smallest and the largest value of each code

    std::uint32_t n_bins() const { return n_codes + has_missing; }
    // A number between those of this code and those of the next.
    double threshold_after(std::uint32_t code) const;
  };

  int n_columns() const { return static_cast<int>(columns_.size()); }
  int n_groups() const { return (n_columns() + kGroup - 1) / kGroup; }
  RowId n_rows() const { return n_rows_; }
  // Of a histogram of all columns.
  std::uint32_t n_bins() const { return n_bins_; }
  const Column& operator[](int column) const { return columns_[static_cast<std::size_t>(column)]; }

  // Calls f with a typed pointer to the words of a group's rows.
  template <class F>
  decltype(auto) visit_group(int group, F&& f) const {
    const std::size_t offset = static_cast<std::size_t>(group) * n_rows_;
    if (!narrow_.empty()) return f(narrow_.data() + offset);
    return f(wide_.data() + offset);
  }

  template <class Word>
  static constexpr int kCodeBits = 2 * static_cast<int>(sizeof(Word));
  // Code number `lane` of a word.
  template <class Word>
  static std::uint32_t code(Word word, int lane) {
    constexpr Word kMask = (Word{1} << kCodeBits<Word>)-1;
    return static_cast<std::uint32_t>((word >> (kCodeBits<Word> * lane)) & kMask);
  }

 private:
  template <class Word>
  void pack(const Dataset& dataset, std::vector<Word>& words) const;

  RowId n_rows_ = 0;
  std::uint32_t n_bins_ = 0;
  std::vector<Column> columns_;
  std::vector<std::uint32_t> narrow_;  // words of four 8-bit codes, group by group; empty: `wide_` has them
  std::vector<std::uint64_t> wide_;    // words of four 16-bit codes
};

}  // namespace petiole::boosting
