// Adding up the rows of a tree by leaf and class. Most leaves hold few classes, so there is never a table of all.
#pragma once

#include <algorithm>

#include "forest.hpp"

namespace petiole {

class LeafTally {
 public:
  void start(std::size_t n_leaves, int n_classes) {
    parts_.clear();
    start_.assign(n_leaves + 1, 0);
    counted_.assign(static_cast<std::size_t>(n_classes), 0.0);
    grown_.assign(static_cast<std::size_t>(n_classes), 0.0);
  }

  // A row, or a part of one: its weight in the counts, and with all its copies in growth.
  void add(LeafId leaf, ClassId label, double counted, double grown) {
    parts_.push_back({leaf, label, counted, grown});
    ++start_[static_cast<std::size_t>(leaf) + 1];
  }

  // Calls f(leaf, classes, counted, grown) for each leaf: its classes in increasing order, and two tables by class.
  template <class F>
  void visit(F&& f) {
    for (std::size_t leaf = 1; leaf < start_.size(); ++leaf) start_[leaf] += start_[leaf - 1];
    sorted_.resize(parts_.size());
    next_.assign(start_.begin(), start_.end() - 1);
    for (std::uint32_t i = 0; i < parts_.size(); ++i) sorted_[next_[static_cast<std::size_t>(parts_[i].leaf)]++] = i;
    for (std::size_t leaf = 0; leaf + 1 < start_.size(); ++leaf) {
      add_up(leaf);
      f(leaf, classes_, counted_.data(), grown_.data());
      for (const ClassId k : classes_) counted_[k] = grown_[k] = 0;
    }
  }

 private:
  struct Part {
    LeafId leaf;
    ClassId label;
    double counted, grown;
  };

  void add_up(std::size_t leaf) {
    classes_.clear();
    for (std::uint32_t i = start_[leaf]; i < start_[leaf + 1]; ++i) {
      const Part& part = parts_[sorted_[i]];
      if (counted_[part.label] == 0 && grown_[part.label] == 0) classes_.push_back(part.label);
      counted_[part.label] += part.counted;
      grown_[part.label] += part.grown;
    }
    if (!std::is_sorted(classes_.begin(), classes_.end())) std::sort(classes_.begin(), classes_.end());
  }

  std::vector<Part> parts_;
  std::vector<std::uint32_t> start_, next_, sorted_;
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
