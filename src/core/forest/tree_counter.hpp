// Counting the rows of a forest's training set at the leaves of one tree: those of its sample, and those outside it.
#pragma once

#include "forest/forest.hpp"
#include "forest/leaf_tally.hpp"
#include "tree/narrow_steps.hpp"

namespace petiole {

class TreeCounter {
 public:
  // Room for counts in weights of type W.
  template <class W>
  struct Tallies {
    LeafTally<W> by_leaf;
    ClassTally<W> of_leaf;
    LeafEntries<W> counted, grown, sums;
  };

  // The buffers of one thread.
  struct Scratch {
    std::vector<std::uint32_t> copies;  // the sample of the tree at hand
    Placement placement;                // and where its growth has left it, if that is known
    std::vector<RowId> unseen;          // rows that are sent down the tree,
    std::vector<LeafId> unseen_leaf;    // and where they get to
    std::vector<NarrowStep> steps;
    std::vector<LeafId> leaf_index;
    Tallies<std::uint32_t> whole;
    Tallies<double> real;
    Members::OfTree members;  // unless they are kept

    template <class W>
    Tallies<W>& tallies() {
      if constexpr (std::is_same_v<W, double>)
        return real;
      else
        return whole;
    }
  };

  TreeCounter(const Dataset& dataset, const ForestOptions& options);

  const Sampler& sampler() const { return sampler_; }

  // Both fill `members` unless it is null.
  // Counts a tree that has just been grown and has no counts yet: scratch.placement says where its sample is.
  PackedTree count_placed(Tree& tree, Scratch& scratch, Members::OfTree* members) const;
  // Counts a tree with counts of its own.
  PackedTree count(Tree& tree, Scratch& scratch, Members::OfTree* members) const;

 private:
  // Leaves hold each row once, not with its copies.
  bool counts_once() const { return options_.distinct && sampler_.draws(); }
  bool walks_narrow(const Tree& tree) const;

  template <class W>
  PackedTree count_placed_as(Tree& tree, Scratch& scratch, Members::OfTree* members) const;
  template <class W>
  LeafFacts facts_of_sample(Tree& tree, Scratch& scratch, Members::OfTree* members) const;
  template <class W>
  LeafCounts count_unseen(Scratch& scratch, std::size_t n_leaves) const;
  LeafFacts facts_as_grown(const Tree& tree, const Members::OfTree& members, Scratch& scratch) const;
  template <class F>
  LeafCounts count_rows(const Members::OfTree& members, Scratch& scratch, F&& counts) const;

  void start(std::size_t n_leaves, const Scratch& scratch, Members::OfTree& members) const;
  void list_unseen(Scratch& scratch) const;
  void walk_unseen(const Tree& tree, Scratch& scratch) const;

  const Dataset& dataset_;
  const ForestOptions& options_;
  Sampler sampler_;
  std::vector<double> prior_;
  bool any_missing_ = false, can_spread_ = false;  // as far as columns are coded, which growing needs and counting does not
};

}  // namespace petiole
