#include "grow/partition.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace petiole {
namespace {

// This few codes (per row) need not be ranked again.
constexpr std::uint32_t kFewCodes = 4;

// Copies the codes of the window's rows.
template <class W>
void copy_column(const Window<W>& window, FrameColumn& column, Codes& storage) {
  storage = Codes(window.size(), std::uint64_t{column.n_codes} + 1);
  const std::uint32_t n = window.size();
  const Entry<W>* entries = window.entries();  // asked once: the compiler must think that writing a byte may move them
  column.codes->visit([&](const auto* codes) {
    storage.visit([&](auto* fresh) {
      using Code = std::remove_pointer_t<decltype(fresh)>;
      for (std::uint32_t i = 0; i < n; ++i) fresh[i] = static_cast<Code>(codes[entries[i].row]);
    });
  });
  column.codes = &storage;
}

// A row whose code no other's is before, where nothing is before `first`.
template <class W, class Before>
RowId extreme_row(const FrameColumn& column, const Entry<W>* entries, std::uint32_t n, std::uint32_t first, Before before) {
  return column.codes->visit([&](const auto* codes) {
    RowId found = entries[0].row;
    for (std::uint32_t i = 1; i < n && codes[found] != first; ++i)
      if (before(codes[entries[i].row], codes[found])) found = entries[i].row;
    return found;
  });
}

// Ranks the codes of the window's rows again. Categorical codes stay, because split tables are indexed by category.
template <class W>
void rank_column(const Window<W>& window, FrameColumn& column, Codes& storage, CompactScratch& scratch) {
  const std::uint32_t n = window.size();
  const Entry<W>* entries = window.entries();
  const std::uint32_t n_old = column.n_codes + (column.has_missing ? 1 : 0);
  column.codes->visit([&](const auto* codes) {
    scratch.present.reserve(n_old);
    for (std::uint32_t i = 0; i < n; ++i) scratch.present.insert(codes[entries[i].row]);
    if (scratch.new_code.size() < n_old) scratch.new_code.resize(n_old);
    std::uint32_t n_present = 0;
    std::uint32_t last = 0;
    scratch.present.drain(n_old, [&](std::uint32_t code) {
      scratch.new_code[code] = column.categorical ? code : n_present;
      ++n_present;
      last = code;
    });
    column.has_missing = last == column.n_codes;
    if (n_present == 1) {  // constant, or wholly missing: no split here or below
      column.codes = nullptr;
      return;
    }
    if (!column.categorical) column.n_codes = n_present - (column.has_missing ? 1 : 0);
    storage = Codes(n, std::uint64_t{column.n_codes} + 1);
    const std::uint32_t* new_code = scratch.new_code.data();
    storage.visit([&](auto* fresh) {
      using Code = std::remove_pointer_t<decltype(fresh)>;
      for (std::uint32_t i = 0; i < n; ++i) fresh[i] = static_cast<Code>(new_code[codes[entries[i].row]]);
    });
    column.codes = &storage;
  });
}

}  // namespace

void Frame::add(const FrameColumn& column) {
  column_of[static_cast<std::size_t>(column.feature)] = static_cast<std::int32_t>(columns.size());
  columns.push_back(column);
  code_bytes += std::size_t{n_rows} * static_cast<std::size_t>(column.codes->width());
  if (!column.categorical) most_codes = std::max(most_codes, column.n_codes);
}

std::shared_ptr<const Frame> frame_of(const Dataset& dataset, std::uint32_t most_copies) {
  auto frame = std::make_shared<Frame>();
  frame->n_rows = dataset.n_rows();
  frame->column_of.assign(dataset.columns.size(), -1);
  for (std::size_t j = 0; j < dataset.columns.size(); ++j) {
    const Column& column = dataset.columns[j];
    frame->add({&column.codes, column.n_codes, static_cast<std::int32_t>(j), column.categorical, column.has_missing,
                column.heaviest_code * most_copies});
  }
  return frame;
}

template <class W>
void compact(Window<W>& window, CompactScratch& scratch) {
  const Frame& old = *window.frame;
  auto frame = std::make_shared<Frame>();
  frame->n_rows = window.size();
  frame->origin.resize(window.size());
  Entry<W>* entries = window.entries();
  for (std::uint32_t i = 0; i < window.size(); ++i) frame->origin[i] = old.dataset_row(entries[i].row);
  frame->column_of.assign(old.column_of.size(), -1);
  frame->storage.resize(old.columns.size());  // never resized again: columns point into it
  for (std::size_t j = 0; j < old.columns.size(); ++j) {
    FrameColumn column = old.columns[j];
    if (!column.categorical && !column.has_missing && column.n_codes * kFewCodes <= window.size())
      copy_column(window, column, frame->storage[j]);
    else
      rank_column(window, column, frame->storage[j], scratch);
    if (column.codes != nullptr) frame->add(column);
  }
  for (std::uint32_t i = 0; i < window.size(); ++i) entries[i].row = i;
  window.frame = std::move(frame);
}

template <class W>
TwoParts partition_at(const Window<W>& window, const FrameColumn& column, std::uint32_t cut, PartitionScratch<W>& scratch) {
  const std::uint32_t n = window.size();
  scratch.reserve(n);
  Entry<W>*entries = window.entries(), *waiting = scratch.entries.data();
  // Left entries move down in place, right entries wait in the scratch:
  //   entries   a B c D E f    (capitals go right)
  //   in place: a c f      scratch: B D E     then the scratch is appended.
  std::uint32_t n_left = 0;
  // The rows next to the cut, as code and row in one number: its maximum on the left, its minimum on the right.
  std::uint64_t low = 0, high = std::numeric_limits<std::uint64_t>::max();
  const bool many_codes = column.codes->width() > 1;
  column.codes->visit([&](const auto* codes) {
    for (std::uint32_t i = 0; i < n; ++i) {
      const RowId row = entries[i].row;
      const std::uint32_t code = codes[row];
      const std::uint32_t right = code > cut;
      if constexpr (sizeof(*codes) > 1) {
        const std::uint64_t key = std::uint64_t{code} << 32 | row, goes_left = std::uint64_t{right} - 1;
        low = std::max(low, key & goes_left);
        high = std::min(high, key | goes_left);
      }
      waiting[i - n_left] = entries[i];
      entries[n_left] = entries[i];
      n_left += 1 - right;
    }
  });
  std::copy_n(waiting, n - n_left, entries + n_left);
  if (many_codes) return {n_left, static_cast<RowId>(low), static_cast<RowId>(high)};
  // With few codes, those next to the cut occur early.
  return {n_left, extreme_row(column, entries, n_left, cut, std::greater<>{}),
          extreme_row(column, entries + n_left, n - n_left, cut + 1, std::less<>{})};
}

template <class W>
std::vector<std::uint32_t> partition_by(const Window<W>& window, const FrameColumn& column,
                                        const std::vector<std::int32_t>& branch_of_code, int n_branches,
                                        PartitionScratch<W>& scratch) {
  const std::uint32_t n = window.size();
  scratch.reserve(n);
  std::vector<std::uint32_t> offsets(static_cast<std::size_t>(n_branches) + 1, 0);
  Entry<W>* entries = window.entries();
  column.codes->visit([&](const auto* codes) {
    const auto branch = [&](std::uint32_t i) { return static_cast<std::size_t>(branch_of_code[codes[entries[i].row]]); };
    for (std::uint32_t i = 0; i < n; ++i) ++offsets[branch(i) + 1];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    auto& next = scratch.start;
    next.assign(offsets.begin(), offsets.end() - 1);
    for (std::uint32_t i = 0; i < n; ++i) scratch.entries[next[branch(i)]++] = entries[i];
  });
  std::copy_n(scratch.entries.begin(), n, entries);
  return offsets;
}

template void compact(Window<std::uint32_t>&, CompactScratch&);
template void compact(Window<double>&, CompactScratch&);
template TwoParts partition_at(const Window<std::uint32_t>&, const FrameColumn&, std::uint32_t,
                               PartitionScratch<std::uint32_t>&);
template TwoParts partition_at(const Window<double>&, const FrameColumn&, std::uint32_t, PartitionScratch<double>&);
template std::vector<std::uint32_t> partition_by(const Window<std::uint32_t>&, const FrameColumn&,
                                                 const std::vector<std::int32_t>&, int, PartitionScratch<std::uint32_t>&);
template std::vector<std::uint32_t> partition_by(const Window<double>&, const FrameColumn&, const std::vector<std::int32_t>&,
                                                 int, PartitionScratch<double>&);

}  // namespace petiole
