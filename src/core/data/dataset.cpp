#include "data/dataset.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

namespace petiole {
namespace {

struct Item {
  std::uint32_t key;
  RowId row;
};

// Keys whose unsigned order is the order of the numbers: flip all bits of negatives, the sign bit of the others.
std::uint32_t ordered_key(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits & 0x80000000u) ? ~bits : bits | 0x80000000u;
}

std::uint32_t ordered_key(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto key = (bits >> 63) ? ~bits : bits | (std::uint64_t{1} << 63);
  return static_cast<std::uint32_t>(key >> 32);
}

// Sorts by key in three passes of 11, 11 and 10 bits; a pass in which all keys agree is skipped.
void radix_sort(std::vector<Item>& items, std::vector<Item>& spare) {
  constexpr int kBits = 11, kBuckets = 1 << kBits;
  std::array<std::array<std::uint32_t, kBuckets>, 3> counts{};
  for (const Item item : items) {
    ++counts[0][item.key & (kBuckets - 1)];
    ++counts[1][(item.key >> kBits) & (kBuckets - 1)];
    ++counts[2][item.key >> (2 * kBits)];
  }
  spare.resize(items.size());
  for (int pass = 0; pass < 3; ++pass) {
    auto& count = counts[static_cast<std::size_t>(pass)];
    const int shift = pass * kBits;
    const auto bucket = [shift](Item item) { return (item.key >> shift) & (kBuckets - 1); };
    if (items.empty() || count[bucket(items[0])] == items.size()) continue;
    std::uint32_t start = 0;
    for (auto& c : count) start += std::exchange(c, start);
    for (const Item item : items) spare[count[bucket(item)]++] = item;
    items.swap(spare);
  }
}

constexpr double kNarrow = 4096;  // a table of this range stays in the first cache

class NumericCoder {
 public:
  NumericCoder(const Dataset& dataset, const CodingOptions& options) : dataset_(dataset), options_(options) {
    for (const double weight : dataset.weights) largest_weight_ = std::max(largest_weight_, weight);
  }

  Column code(std::span<const double> values) {
    values_ = values;
    Column column;
    if (!code_small_integers(column)) code_by_rank(column);
    if (column.codes.width() == 1 && column.bin_low.empty()) keep_values(column);
    return column;
  }

 private:
  void code_by_rank(Column& column) {
    sort_known_rows();
    column.has_missing = items_.size() < values_.size();
    rank(column);
    if (options_.max_bins != 0 && column.n_codes > options_.max_bins) bin(column);
    column.heaviest_code = heaviest_code();
    write_codes(column);
    if (options_.keep_distinct) keep_distinct(column);
  }

  // A short table is quicker to look values up in than the matrix.
  void keep_values(Column& column) {
    column.values.resize(std::size_t{column.n_codes} + 1);
    for (std::size_t row = 0; row < values_.size(); ++row) column.values[column.codes.at(row)] = values_[row];
  }

  // Whole numbers in a narrow range, such as counts and grades, need no sort: a table holds which of them occur.
  bool code_small_integers(Column& column) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double value : values_) {
      if (std::isnan(value)) continue;
      low = value < low ? value : low;
      high = value > high ? value : high;
      if (!(std::abs(value) < 1e9) || value != static_cast<double>(static_cast<std::int64_t>(value))) return false;
    }
    if (!(low <= high && high - low < kNarrow)) return false;
    slots_.assign(static_cast<std::size_t>(high - low) + 1, 0);
    const auto slot = [low](double value) { return static_cast<std::size_t>(static_cast<std::int64_t>(value - low)); };
    for (const double value : values_)
      if (!std::isnan(value))
        slots_[slot(value)] = 1;
      else
        column.has_missing = true;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i] == 0) continue;
      slots_[i] = column.n_codes++;
      if (options_.keep_distinct) column.distinct.push_back(low + static_cast<double>(i));
    }
    if (options_.max_bins != 0 && column.n_codes > options_.max_bins) {
      column = Column{};
      return false;
    }
    column.codes = Codes(values_.size(), std::uint64_t{column.n_codes} + 1);
    column.codes.visit([&](auto* codes) {
      using Code = std::remove_pointer_t<decltype(codes)>;
      for (std::size_t row = 0; row < values_.size(); ++row) {
        const double value = values_[row];
        codes[row] = static_cast<Code>(std::isnan(value) ? column.n_codes : slots_[slot(value)]);
      }
    });
    return true;
  }

  // A 32-bit key is the whole value when every value fits a float; otherwise it is the upper half of a double and
  // equal keys are put in order afterwards.
  void sort_known_rows() {
    keys_are_values_ = dataset_.matrix.is_float32 || std::all_of(values_.begin(), values_.end(), [](double v) {
                         return static_cast<double>(static_cast<float>(v)) == v || std::isnan(v);
                       });
    items_.resize(values_.size());
    std::size_t n_known = 0;
    for (RowId row = 0; row < values_.size(); ++row) {
      const double value = values_[row];
      items_[n_known] = {keys_are_values_ ? ordered_key(static_cast<float>(value)) : ordered_key(value), row};
      n_known += !std::isnan(value);
    }
    items_.resize(n_known);
    radix_sort(items_, spare_);
    if (!keys_are_values_) sort_equal_keys();
  }

  void sort_equal_keys() {
    const auto by_value = [this](Item a, Item b) { return values_[a.row] < values_[b.row]; };
    for (auto run = items_.begin(); run != items_.end();) {
      auto end = run + 1;
      while (end != items_.end() && end->key == run->key) ++end;
      if (end - run > 1 && !std::is_sorted(run, end, by_value)) std::sort(run, end, by_value);
      run = end;
    }
  }

  // Overwrites each item's key by the dense rank of its value.
  void rank(Column& column) {
    if (items_.empty()) return;
    std::uint32_t rank = 0, last_key = items_[0].key;
    RowId last_row = items_[0].row;
    for (Item& item : items_) {
      const bool differs = item.key != last_key || (!keys_are_values_ && values_[item.row] != values_[last_row]);
      rank += differs;
      last_key = std::exchange(item.key, rank);
      last_row = item.row;
    }
    column.n_codes = rank + 1;
  }

  // Equal-weight bins: a value's bin is the share of the weight below it, times the number of bins, rounded down.
  void bin(Column& column) {
    const bool weighted = !dataset_.weights.empty();
    double total = static_cast<double>(items_.size());
    if (weighted) {
      total = 0;
      for (const Item item : items_) total += dataset_.weights[item.row];
    }
    double below = 0;
    std::int64_t last_bin = -1;
    std::uint32_t n_bins = 0;
    for (std::size_t start = 0; start < items_.size();) {
      const std::uint32_t rank = items_[start].key;
      const double value = values_[items_[start].row];
      const auto wanted = static_cast<std::int64_t>(below / total * options_.max_bins);
      if (wanted != last_bin) {
        last_bin = wanted;
        ++n_bins;
        column.bin_low.push_back(value);
        column.bin_high.push_back(value);
      }
      column.bin_high.back() = value;
      for (; start < items_.size() && items_[start].key == rank; ++start) {
        below += weighted ? dataset_.weights[items_[start].row] : 1.0;
        items_[start].key = n_bins - 1;
      }
    }
    column.n_codes = n_bins;
  }

  double heaviest_code() const {
    std::size_t longest = values_.size() - items_.size(), run = 0;  // the missing rows share a code, too
    for (std::size_t i = 0; i < items_.size(); ++i) {
      run = i > 0 && items_[i].key == items_[i - 1].key ? run + 1 : 1;
      longest = std::max(longest, run);
    }
    return static_cast<double>(longest) * largest_weight_;
  }

  void write_codes(Column& column) {
    column.codes = Codes(values_.size(), std::uint64_t{column.n_codes} + 1);
    column.codes.visit([&](auto* codes) {
      using Code = std::remove_pointer_t<decltype(codes)>;
      if (column.has_missing) std::fill_n(codes, values_.size(), static_cast<Code>(column.n_codes));
      for (const Item item : items_) codes[item.row] = static_cast<Code>(item.key);
    });
  }

  void keep_distinct(Column& column) {
    for (const Item item : items_) column.distinct.push_back(values_[item.row]);
    column.distinct.erase(std::unique(column.distinct.begin(), column.distinct.end()), column.distinct.end());
  }

  const Dataset& dataset_;
  const CodingOptions& options_;
  std::span<const double> values_;
  std::vector<Item> items_, spare_;
  std::vector<std::uint32_t> slots_;
  bool keys_are_values_ = false;  // a key determines its value
  double largest_weight_ = 1;
};

// Some columns of the matrix, each contiguous. Rows are read whole where the matrix is stored by rows: column by column,
// every cache line would be fetched once per column.
class ColumnBatch {
 public:
  explicit ColumnBatch(const Matrix& matrix) : matrix_(matrix) {
    const auto rows = static_cast<std::size_t>(matrix.n_rows);
    width_ = static_cast<int>(std::clamp<std::size_t>(kBatchBytes / (rows * sizeof(double)), 1, 64));
    width_ = std::min(width_, static_cast<int>(matrix.n_columns));
    values_.resize(rows * static_cast<std::size_t>(width_));
  }

  int width() const { return width_; }

  std::span<const double> column(int c) const {
    const auto rows = static_cast<std::size_t>(matrix_.n_rows);
    return {values_.data() + static_cast<std::size_t>(c) * rows, rows};
  }

  void read(int first, int n) {
    matrix_.visit([&](const auto* data) {
      constexpr std::int64_t kBlock = 256;
      for (std::int64_t begin = 0; begin < matrix_.n_rows; begin += kBlock) {
        const std::int64_t end = std::min(matrix_.n_rows, begin + kBlock);
        for (int c = 0; c < n; ++c) {
          const auto* cell = data + (first + c) * matrix_.column_stride + begin * matrix_.row_stride;
          double* to = values_.data() + c * matrix_.n_rows + begin;
          for (std::int64_t row = begin; row < end; ++row, cell += matrix_.row_stride)
            *to++ = static_cast<double>(*cell) + 0.0;  // + 0.0 turns -0.0 into 0.0: they are one value
        }
      }
    });
  }

 private:
  static constexpr std::size_t kBatchBytes = 16 << 20;
  const Matrix& matrix_;
  int width_ = 1;
  std::vector<double> values_;
};

Column code_categorical(std::span<const double> values, std::uint32_t n_categories) {
  Column column;
  column.categorical = true;
  column.n_codes = n_categories;
  column.codes = Codes(values.size(), std::uint64_t{n_categories} + 1);
  column.codes.visit([&](auto* codes) {
    using Code = std::remove_pointer_t<decltype(codes)>;
    for (std::size_t row = 0; row < values.size(); ++row) {
      const double value = values[row];
      const bool known = value >= 0 && value < n_categories;
      codes[row] = static_cast<Code>(known ? static_cast<std::uint32_t>(value) : n_categories);
      column.has_missing |= !known;
    }
  });
  return column;
}

}  // namespace

void code_columns(Dataset& dataset, const std::vector<std::int32_t>& n_categories, const CodingOptions& options,
                  ThreadPool& pool, Interrupt& interrupt) {
  const auto n_columns = static_cast<int>(dataset.matrix.n_columns);
  dataset.columns.resize(static_cast<std::size_t>(n_columns));
  std::vector<NumericCoder> coders(static_cast<std::size_t>(pool.n_threads()), NumericCoder(dataset, options));
  ColumnBatch batch(dataset.matrix);
  for (int first = 0; first < n_columns; first += batch.width()) {
    const int n = std::min(batch.width(), n_columns - first);
    batch.read(first, n);
    pool.run(n, [&](int thread, int item) {
      const auto j = static_cast<std::size_t>(first + item);
      dataset.columns[j] = n_categories[j] > 0
                               ? code_categorical(batch.column(item), static_cast<std::uint32_t>(n_categories[j]))
                               : coders[static_cast<std::size_t>(thread)].code(batch.column(item));
    });
    interrupt.check(static_cast<std::uint64_t>(dataset.n_rows()) * static_cast<std::uint64_t>(n) * 8);
  }
}

Column to_column(CodedColumn&& coded) {
  Column column;
  column.n_codes = coded.n_codes;
  column.categorical = coded.categorical;
  column.has_missing = coded.has_missing;
  column.codes = Codes(coded.codes.size(), std::uint64_t{column.n_codes} + 1);
  for (const std::uint32_t code : coded.codes) {
    if (code > column.n_codes) throw std::invalid_argument("codes: too large");
    column.has_missing |= code == column.n_codes;
  }
  column.codes.visit([&](auto* to) {
    using Code = std::remove_pointer_t<decltype(to)>;
    std::transform(coded.codes.begin(), coded.codes.end(), to, [](std::uint32_t code) { return static_cast<Code>(code); });
  });
  column.bin_low = std::move(coded.low);
  column.bin_high = std::move(coded.high);
  column.distinct = std::move(coded.distinct);
  if (!column.categorical && (column.bin_low.size() != column.n_codes || column.bin_high.size() != column.n_codes))
    throw std::invalid_argument("low and high: one value per code of a numeric column");
  return column;
}

}  // namespace petiole
