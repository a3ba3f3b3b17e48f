#include "votes/filing.hpp"

#include <algorithm>
#include <numeric>

namespace petiole {
namespace {

// Up to this many keys of a leaf are searched one by one.
constexpr std::size_t kFewKeys = 32;

// A vote and a class in one number, in the order of the tables; rows without a vote have none.
using Key = std::uint32_t;
constexpr Key kNoKey = std::numeric_limits<Key>::max();
Key key_of(std::uint32_t vote, ClassId label) { return vote << 16 | label; }
ClassId vote_of(Key key) { return static_cast<ClassId>(key >> 16); }
ClassId label_of(Key key) { return static_cast<ClassId>(key & 0xffff); }

// A part of a training row at a leaf.
class WeighedPart {
 public:
  using Weight = double;
  WeighedPart() = default;
  WeighedPart(Key key, bool unseen, double weight) : key_(key), unseen_(unseen), weight_(weight) {}
  Key key() const { return key_; }
  bool unseen() const { return unseen_; }
  double weight() const { return weight_; }

 private:
  Key key_;
  bool unseen_;
  double weight_;
};

// A whole row that weighs 1, as most do: four bytes instead of sixteen.
class UnitPart {
 public:
  using Weight = std::uint32_t;
  UnitPart() = default;
  UnitPart(Key key, bool unseen) : bits_(key << 1 | unseen) {}
  static bool fits(int n_classes) { return n_classes <= 1 << 15; }
  Key key() const { return bits_ >> 1; }
  bool unseen() const { return (bits_ & 1) != 0; }
  Weight weight() const { return 1; }

 private:
  std::uint32_t bits_;
};

// The parts at every leaf, grouped by leaf.
template <class Part>
struct PartsByLeaf {
  std::vector<std::uint32_t> start, next;
  std::vector<Part> parts;
};

// over_parts(f) calls f(leaf, part) for all parts; it is called twice.
template <class Part, class F>
void group_parts(std::size_t n_leaves, PartsByLeaf<Part>& found, F&& over_parts) {
  found.start.assign(n_leaves + 1, 0);
  over_parts([&](LeafId leaf, const auto&) { ++found.start[static_cast<std::size_t>(leaf) + 1]; });
  std::partial_sum(found.start.begin(), found.start.end(), found.start.begin());
  found.parts.resize(found.start.back());
  found.next = found.start;
  over_parts(
      [&](LeafId leaf, const auto& part_of) { found.parts[found.next[static_cast<std::size_t>(leaf)]++] = part_of(); });
}

// Rows of any weight, which may be spread.
void find_parts(const Members::OfTree& tree, const std::vector<Key>& keys, TrainingRows rows, bool distinct,
                PartsByLeaf<WeighedPart>& found) {
  group_parts(static_cast<std::size_t>(tree.n_leaves), found, [&](auto&& f) {
    for (std::size_t row = 0; row < keys.size(); ++row) {
      if (keys[row] == kNoKey) continue;
      const std::uint16_t copies = tree.copies_of(row);
      const double weight = rows.weight(row) * (distinct ? 1 : std::max<std::uint16_t>(copies, 1));
      tree.reach.visit(row, [&](LeafId leaf, double share) {
        f(leaf, [&] { return WeighedPart(keys[row], copies == 0, share * weight); });
      });
    }
  });
}

// Rows that weigh 1 and are not spread.
void find_parts(const Members::OfTree& tree, const std::vector<Key>& keys, TrainingRows, bool, PartsByLeaf<UnitPart>& found) {
  const LeafId* leaves = tree.reach.leaves();
  const std::uint16_t* copies = tree.copies.data();
  group_parts(static_cast<std::size_t>(tree.n_leaves), found, [&](auto&& f) {
    for (std::size_t row = 0; row < keys.size(); ++row)
      if (keys[row] != kNoKey) f(leaves[row], [&] { return UnitPart(keys[row], copies[row] == 0); });
  });
}

// The parts of one key together.
template <class Part>
struct Sum {
  Key key;
  typename Part::Weight in_bag_or_not[2] = {0, 0};

  // Which of the two cannot be foreseen, so there is no branch on it.
  void add(const Part& part) { in_bag_or_not[part.unseen()] += part.weight(); }
};

// Adds up the parts of a leaf by key, in increasing order of key.
template <class Part>
void add_up(Part* begin, Part* end, std::vector<Sum<Part>>& sums) {
  sums.clear();
  // Most leaves have few keys, and most rows that of the row before.
  Part* part = begin;
  for (std::size_t at = 0; part != end; ++part) {
    const Key key = part->key();
    if (sums.empty() || sums[at].key != key) {
      at = static_cast<std::size_t>(
          std::find_if(sums.begin(), sums.end(), [key](const auto& sum) { return sum.key == key; }) - sums.begin());
      if (at == kFewKeys) break;
      if (at == sums.size()) sums.push_back({key});
    }
    sums[at].add(*part);
  }
  const auto before = [](const auto& a, const auto& b) { return a.key < b.key; };
  if (part == end) return std::sort(sums.begin(), sums.end(), before);
  std::stable_sort(begin, end, [](const Part& a, const Part& b) { return a.key() < b.key(); });
  sums.clear();
  for (part = begin; part != end; ++part) {
    if (sums.empty() || sums.back().key != part->key()) sums.push_back({part->key()});
    sums.back().add(*part);
  }
}

// The tables of a tree while they are made. There is room for as many entries as the tree has parts.
class TableWriter {
 public:
  void start(std::size_t n_leaves, std::size_t n_parts) {
    tables_.row_start.resize(n_leaves + 1);
    tables_.entry_start.resize(n_parts + 1);
    tables_.row_vote.resize(n_parts);
    tables_.entry_class.resize(n_parts);
    tables_.in_bag.resize(n_parts);
    tables_.out_of_bag.resize(n_parts);
    n_leaves_ = n_rows_ = n_entries_ = 0;
    tables_.row_start[0] = tables_.entry_start[0] = 0;
    new_leaf_ = true;
  }

  void entry(Key key, double in_bag, double out_of_bag) {
    const ClassId vote = vote_of(key);
    if (new_leaf_ || tables_.row_vote[n_rows_ - 1] != vote) tables_.row_vote[n_rows_++] = vote;
    new_leaf_ = false;
    tables_.entry_class[n_entries_] = label_of(key);
    tables_.in_bag[n_entries_] = in_bag;
    tables_.out_of_bag[n_entries_] = out_of_bag;
    tables_.entry_start[n_rows_] = static_cast<std::int32_t>(++n_entries_);
  }

  void end_leaf() {
    tables_.row_start[++n_leaves_] = static_cast<std::int32_t>(n_rows_);
    new_leaf_ = true;
  }

  // Without room to spare.
  VoteTables::OfTree finish() const {
    const auto first = [](const auto& numbers, std::size_t n) {
      return std::vector(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(n));
    };
    return {tables_.row_start,
            first(tables_.row_vote, n_rows_),
            first(tables_.entry_start, n_rows_ + 1),
            first(tables_.entry_class, n_entries_),
            first(tables_.in_bag, n_entries_),
            first(tables_.out_of_bag, n_entries_)};
  }

 private:
  VoteTables::OfTree tables_;
  std::size_t n_leaves_ = 0, n_rows_ = 0, n_entries_ = 0;
  bool new_leaf_ = true;
};

// Makes a tree's tables of the parts, which it may sort.
template <class Part>
VoteTables::OfTree make_tables(PartsByLeaf<Part>& found, TableWriter& writer) {
  const std::size_t n_leaves = found.start.size() - 1;
  std::vector<Sum<Part>> sums;
  writer.start(n_leaves, found.parts.size());
  for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
    add_up(found.parts.data() + found.start[leaf], found.parts.data() + found.start[leaf + 1], sums);
    for (const auto& [key, weights] : sums)
      writer.entry(key, static_cast<double>(weights[0]), static_cast<double>(weights[1]));
    writer.end_leaf();
  }
  return writer.finish();
}

}  // namespace

std::vector<VoteTables::OfTree> file_rows(const Members& members, const std::int32_t* votes, TrainingRows rows, int n_classes,
                                          bool distinct, ThreadPool& pool) {
  struct Scratch {
    PartsByLeaf<UnitPart> units;
    PartsByLeaf<WeighedPart> weighed;
    TableWriter writer;
  };
  std::vector<Scratch> scratch(static_cast<std::size_t>(pool.n_threads()));
  std::vector<Key> keys(members.n_rows);
  for (std::size_t row = 0; row < keys.size(); ++row)
    keys[row] = votes[row] < 0 ? kNoKey : key_of(static_cast<std::uint32_t>(votes[row]), rows.labels[row]);
  const bool units = rows.weights == nullptr && distinct && UnitPart::fits(n_classes);
  std::vector<VoteTables::OfTree> trees(members.trees.size());
  pool.run(static_cast<int>(trees.size()), [&](int thread, int item) {
    const auto t = static_cast<std::size_t>(item);
    Scratch& mine = scratch[static_cast<std::size_t>(thread)];
    const auto file = [&](auto& parts) {
      find_parts(members.trees[t], keys, rows, distinct, parts);
      trees[t] = make_tables(parts, mine.writer);
    };
    if (units && !members.trees[t].reach.any_spread() && !members.trees[t].copies.empty())
      file(mine.units);
    else
      file(mine.weighed);
  });
  return trees;
}

}  // namespace petiole
