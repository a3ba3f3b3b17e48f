// Adding up the rows of a tree by leaf and class. Most leaves hold few classes, so there is never a table of all.
#pragma once

#include <algorithm>

#include "forest/forest.hpp"

namespace petiole {

// The weights of one leaf's classes, each in two tables. W: std::uint32_t where all weights are whole numbers, else double.
template <class W>
class ClassTally {
 public:
  void reset(int n_classes) {
    classes_.clear();
    counted_.assign(static_cast<std::size_t>(n_classes), W{0});
    grown_.assign(static_cast<std::size_t>(n_classes), W{0});
  }

  void add(ClassId label, W counted, W grown) {
    // A share that has become zero by underflow: its class would be listed once more with the next one.
    if (counted == 0 && grown == 0) return;
    if (counted_[label] == 0 && grown_[label] == 0) classes_.push_back(label);
    counted_[label] += counted;
    grown_[label] += grown;
  }

  // Calls f(class, counted, grown) for the classes that were added, in increasing order, and empties the tally.
  template <class F>
  void take(F&& f) {
    if (!std::is_sorted(classes_.begin(), classes_.end())) std::sort(classes_.begin(), classes_.end());
    for (const ClassId k : classes_) f(k, std::exchange(counted_[k], W{0}), std::exchange(grown_[k], W{0}));
    classes_.clear();
  }

 private:
  std::vector<ClassId> classes_;
  std::vector<W> counted_, grown_;
};

template <class W>
class LeafTally {
 public:
  // each(f) calls f(leaf, label, weight) for the rows, or the parts of rows. It is called twice, so that the parts of a leaf
  // are put side by side at once.
  template <class Each>
  void add_up(std::size_t n_leaves, int n_classes, Each&& each) {
    of_leaf_.reset(n_classes);
    start_.assign(n_leaves + 1, 0);
    each([this](LeafId leaf, ClassId, W) { ++start_[static_cast<std::size_t>(leaf) + 1]; });
    for (std::size_t leaf = 1; leaf < start_.size(); ++leaf) start_[leaf] += start_[leaf - 1];
    parts_.resize(start_.back());
    next_.assign(start_.begin(), start_.end() - 1);
    each([this](LeafId leaf, ClassId label, W weight) { parts_[next_[static_cast<std::size_t>(leaf)]++] = {label, weight}; });
  }

  // Calls add_leaf() for each leaf in turn, and then add(class, weight) for its classes in increasing order.
  template <class AddLeaf, class Add>
  void visit(AddLeaf&& add_leaf, Add&& add) {
    for (std::size_t leaf = 0; leaf + 1 < start_.size(); ++leaf) {
      add_leaf();
      for (std::uint32_t i = start_[leaf]; i < start_[leaf + 1]; ++i) of_leaf_.add(parts_[i].label, parts_[i].weight, W{0});
      of_leaf_.take([&](ClassId k, W weight, W) { add(k, weight); });
    }
  }

 private:
  struct Part {
    ClassId label;
    W weight;
  };

  std::vector<Part> parts_;
  std::vector<std::uint32_t> start_, next_;
  ClassTally<W> of_leaf_;
};

// The entries of leaf after leaf, until they are packed.
template <class W>
class LeafEntries {
 public:
  void clear() {
    n_entries_.clear();
    classes_.clear();
    weights_.clear();
  }
  void add_leaf() { n_entries_.push_back(0); }
  void add(ClassId label, W weight) {
    ++n_entries_.back();
    classes_.push_back(label);
    weights_.push_back(weight);
  }
  LeafCounts packed() const { return LeafCounts(n_entries_, classes_, weights_); }

 private:
  std::vector<std::uint32_t> n_entries_;
  std::vector<ClassId> classes_;
  std::vector<W> weights_;
};

// What a tally has found; `entries` is room for it.
template <class W>
LeafCounts packed_counts(LeafTally<W>& tally, LeafEntries<W>& entries) {
  entries.clear();
  tally.visit([&] { entries.add_leaf(); }, [&](ClassId k, W weight) { entries.add(k, weight); });
  return entries.packed();
}

}  // namespace petiole
