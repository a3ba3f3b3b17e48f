// The rows of each node: frames, windows and the stable partition.
//
// A frame holds compact coded columns for the rows of one subtree. A window is a range of entries (row of the frame,
// label, weight): the rows of one node. Splitting a node permutes its range so that each child is a range of it. When a
// window has become much smaller than its frame, `compact` copies its rows into a frame of their own, with codes ranked
// again: deep levels then use memory that fits the first cache.
#pragma once

#include <bit>
#include <memory>
#include <type_traits>

#include "base/types.hpp"
#include "data/dataset.hpp"

namespace petiole {

struct FrameColumn {
  const Codes* codes = nullptr;
  std::uint32_t n_codes = 0;  // the code n_codes means missing
  std::int32_t feature = -1;
  bool categorical = false;
  bool has_missing = false;
  double heaviest_code = 0;  // no code has more weight than this in the dataset
  bool is_made = false;      // for the rows of one node: it belongs to no frame
  int sign = 0;              // of a made column, as those of GrowOptions
};

struct Frame {
  RowId n_rows = 0;
  std::vector<RowId> origin;  // row of the dataset for each row of the frame; empty: they are the same
  std::vector<FrameColumn> columns;
  std::vector<std::int32_t> column_of;  // feature -> column, -1: constant in this frame and left out
  std::vector<Codes> storage;           // codes owned by this frame; empty for the frame of the whole dataset
  std::size_t code_bytes = 0;           // of all columns
  std::uint32_t most_codes = 0;         // of any numeric column

  void add(const FrameColumn& column);

  std::size_t index_of(const FrameColumn& column) const { return static_cast<std::size_t>(&column - columns.data()); }
  RowId dataset_row(RowId row) const { return origin.empty() ? row : origin[row]; }
};

// The frame of the whole dataset; no row is in a sample more often than `most_copies`.
std::shared_ptr<const Frame> frame_of(const Dataset& dataset, std::uint32_t most_copies);

// W: std::uint32_t for whole-number weights, double otherwise.
template <class W>
struct Entry {
  // Counts are kept in 16 bits, so that an entry is one machine word: it is read and moved once per level of the tree.
  using Stored = std::conditional_t<std::is_same_v<W, double>, double, std::uint16_t>;
  RowId row;  // of the frame
  ClassId label;
  Stored weight;

  static constexpr double kMostWeight = std::is_same_v<W, double> ? std::numeric_limits<double>::infinity() : 65535;
};
static_assert(sizeof(Entry<std::uint32_t>) == sizeof(std::uint64_t));

template <class W>
using Entries = std::vector<Entry<W>>;

template <class W>
struct Window {
  std::shared_ptr<const Frame> frame;
  std::shared_ptr<Entries<W>> store;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  std::uint32_t size() const { return end - begin; }
  Entry<W>* entries() const { return store->data() + begin; }
};

// Set of codes seen in a window, walked in increasing order.
class CodeSet {
 public:
  void reserve(std::uint32_t n_codes) {
    if (words_.size() * 64 < n_codes) words_.resize(n_codes / 64 + 1);
  }
  void insert(std::uint32_t code) { words_[code >> 6] |= std::uint64_t{1} << (code & 63); }
  void erase(std::uint32_t code) { words_[code >> 6] &= ~(std::uint64_t{1} << (code & 63)); }

  // Calls f(code) for every member below `limit` in increasing order and empties the set.
  template <class F>
  void drain(std::uint32_t limit, F&& f) {
    const std::uint32_t n_words = (limit + 63) / 64;
    for (std::uint32_t w = 0; w < n_words; ++w) {
      for (std::uint64_t bits = std::exchange(words_[w], 0); bits != 0; bits &= bits - 1)
        f(w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

// Buffers that live as long as a tree is grown.
struct CompactScratch {
  CodeSet present;
  std::vector<std::uint32_t> new_code;
};

// Moves the window onto a new frame that holds just its rows, in window order.
template <class W>
void compact(Window<W>& window, CompactScratch& scratch);

// Whether that is worthwhile: a window this many times smaller than its frame gets a frame of its own,
inline constexpr std::uint32_t kShrink = 4;
// unless the frame is this small anyway,
inline constexpr RowId kSmallFrame = 64;
// or stays in the second cache and has few codes to walk.
inline constexpr std::size_t kCacheBytes = 512 << 10;

template <class W>
bool compacting_pays(const Window<W>& window) {
  const Frame& frame = *window.frame;
  if (frame.n_rows <= kSmallFrame || window.size() > frame.n_rows / kShrink) return false;
  return frame.code_bytes > kCacheBytes || frame.most_codes > window.size();
}

// Buffers of the partition.
template <class W>
struct PartitionScratch {
  Entries<W> entries;
  std::vector<std::uint32_t> start;

  void reserve(std::size_t n) {
    if (entries.size() < n) entries.resize(n);
  }
};

struct TwoParts {
  std::uint32_t n_left = 0;
  RowId low = 0, high = 0;  // rows of the frame with the largest code on the left and the smallest on the right
};

// Permutes the window so that rows with code <= cut come first, both sides in their old order.
template <class W>
TwoParts partition_at(const Window<W>& window, const FrameColumn& column, std::uint32_t cut, PartitionScratch<W>& scratch);

// Permutes the window by branch_of_code (one entry per code, the missing code last), keeping the order within a branch;
// returns the offsets of the branches, n_branches + 1 of them.
template <class W>
std::vector<std::uint32_t> partition_by(const Window<W>& window, const FrameColumn& column,
                                        const std::vector<std::int32_t>& branch_of_code, int n_branches,
                                        PartitionScratch<W>& scratch);

}  // namespace petiole
