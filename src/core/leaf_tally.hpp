// Adding up the rows of a tree by leaf and class. Most leaves hold few classes, so there is never a table of all.
#pragma once

#include <algorithm>

#include "forest.hpp"

namespace petiole {

class LeafTally {
 public:
  // each(f) calls f(leaf, label, counted, grown) for the rows, or the parts of rows: their weight in the counts, and with all
  // their copies in growth. It is called twice, so that the parts of a leaf are put side by side at once.
  template <class Each>
  void add_up(std::size_t n_leaves, int n_classes, Each&& each) {
    counted_.assign(static_cast<std::size_t>(n_classes), 0.0);
    grown_.assign(static_cast<std::size_t>(n_classes), 0.0);
    start_.assign(n_leaves + 1, 0);
    each([this](LeafId leaf, ClassId, double, double) { ++start_[static_cast<std::size_t>(leaf) + 1]; });
    for (std::size_t leaf = 1; leaf < start_.size(); ++leaf) start_[leaf] += start_[leaf - 1];
    parts_.resize(start_.back());
    next_.assign(start_.begin(), start_.end() - 1);
    each([this](LeafId leaf, ClassId label, double counted, double grown) {
      parts_[next_[static_cast<std::size_t>(leaf)]++] = {label, counted, grown};
    });
  }

  // Calls f(leaf, classes, counted, grown) for each leaf: its classes in increasing order, and two tables by class.
  template <class F>
  void visit(F&& f) {
    for (std::size_t leaf = 0; leaf + 1 < start_.size(); ++leaf) {
      add_leaf(leaf);
      f(leaf, classes_, counted_.data(), grown_.data());
      for (const ClassId k : classes_) counted_[k] = grown_[k] = 0;
    }
  }

 private:
  struct Part {
    ClassId label;
    double counted, grown;
  };

  void add_leaf(std::size_t leaf) {
    classes_.clear();
    for (std::uint32_t i = start_[leaf]; i < start_[leaf + 1]; ++i) {
      const Part& part = parts_[i];
      if (counted_[part.label] == 0 && grown_[part.label] == 0) classes_.push_back(part.label);
      counted_[part.label] += part.counted;
      grown_[part.label] += part.grown;
    }
    if (!std::is_sorted(classes_.begin(), classes_.end())) std::sort(classes_.begin(), classes_.end());
  }

  std::vector<Part> parts_;
  std::vector<std::uint32_t> start_, next_;
  std::vector<ClassId> classes_;
  std::vector<double> counted_, grown_;
};

// The entries of leaf after leaf, until they are packed.
class LeafEntries {
 public:
  void add_leaf() { n_entries_.push_back(0); }
  void add(ClassId label, double weight) {
    ++n_entries_.back();
    classes_.push_back(label);
    weights_.push_back(weight);
  }
  LeafCounts packed() && { return LeafCounts(n_entries_, classes_, std::move(weights_)); }

 private:
  std::vector<std::uint32_t> n_entries_;
  std::vector<ClassId> classes_;
  std::vector<double> weights_;
};

}  // namespace petiole
