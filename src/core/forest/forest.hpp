// A forest in memory: trees packed into the narrowest integers, with the class counts of their leaves only.
//
// The counts of an inner node are the sums over the leaves below it, and most leaves hold few classes, so leaves keep lists
// of (class, weight). A packed tree takes about ten bytes per node for any number of classes.
#pragma once

#include "base/codes.hpp"
#include "data/sample.hpp"
#include "grow/grow.hpp"
#include "tree/reach.hpp"

namespace petiole {

// The weights of classes at each leaf of a tree.
class LeafCounts {
 public:
  LeafCounts() = default;
  // table: n_classes numbers for each leaf.
  LeafCounts(const double* table, std::size_t n_leaves, int n_classes);
  // The entries of each leaf, with the classes of a leaf in increasing order.
  LeafCounts(const std::vector<std::uint32_t>& n_entries, const std::vector<ClassId>& classes,
             const std::vector<double>& weights);
  LeafCounts(const std::vector<std::uint32_t>& n_entries, const std::vector<ClassId>& classes,
             const std::vector<std::uint32_t>& weights)
      : n_entries_(to_codes(n_entries)), class_(to_codes(classes)), whole_(to_codes(weights)) {}
  LeafCounts(Codes n_entries, Codes classes, Codes whole, std::vector<double> real)
      : n_entries_(std::move(n_entries)), class_(std::move(classes)), whole_(std::move(whole)), real_(std::move(real)) {}

  // One number per leaf: its weight.
  LeafCounts summed() const;

  // The counts of two batches of rows together: scale times these plus the others. Empty counts are zero.
  LeafCounts plus(const LeafCounts& other, double scale = 1) const;

  // Calls add(class, weight) for the weights of a leaf and then next_leaf(), leaf by leaf: scale times these plus scale_other
  // times the others, classes in increasing order. Empty counts are zero; without both there is no leaf.
  template <class Add, class NextLeaf>
  void visit_sum(double scale, const LeafCounts& other, double scale_other, Add&& add, NextLeaf&& next_leaf) const {
    const Entries my(*this), their(other);
    std::size_t mine = 0, theirs = 0;
    const std::size_t n_leaves = std::max(n_entries_.size(), other.n_entries_.size());
    for (std::size_t leaf = 0; leaf < n_leaves; ++leaf, next_leaf()) {
      const std::size_t my_end = mine + (n_entries_.empty() ? 0 : n_entries_.at(leaf));
      const std::size_t their_end = theirs + (other.n_entries_.empty() ? 0 : other.n_entries_.at(leaf));
      while (mine < my_end && theirs < their_end) {
        const bool take_mine = my.label[mine] <= their.label[theirs], take_theirs = their.label[theirs] <= my.label[mine];
        const ClassId label = take_mine ? my.label[mine] : their.label[theirs];
        const double sum =
            (take_mine ? scale * my.weight[mine] : 0.0) + (take_theirs ? scale_other * their.weight[theirs] : 0.0);
        mine += take_mine;
        theirs += take_theirs;
        add(label, sum);
      }
      for (; mine < my_end; ++mine) add(my.label[mine], scale * my.weight[mine]);
      for (; theirs < their_end; ++theirs) add(their.label[theirs], scale_other * their.weight[theirs]);
    }
  }

  // Adds scale times the weight of each class in the whole tree.
  void add_up(double scale, double* sums) const;

  // Adds scale times the weights to a table of n_classes numbers for each leaf.
  void add(double scale, int n_classes, double* table) const;

  // Calls f(leaf, classes, weights, n) for each leaf in turn.
  template <class F>
  void visit(F&& f) const {
    const Entries entries(*this);
    std::size_t entry = 0;
    for (std::size_t leaf = 0; leaf < n_entries_.size(); ++leaf) {
      const std::size_t n = n_entries_.at(leaf);
      f(leaf, entries.label.data() + entry, entries.weight.data() + entry, n);
      entry += n;
    }
  }

  const Codes& n_entries() const { return n_entries_; }
  const Codes& classes() const { return class_; }
  const Codes& whole() const { return whole_; }              // the weights, if all are whole numbers
  const std::vector<double>& real() const { return real_; }  // else these

 private:
  // All entries unpacked.
  struct Entries {
    explicit Entries(const LeafCounts& of)
        : label(of.class_.widened<ClassId>()), weight(of.real_.empty() ? of.whole_.widened<double>() : of.real_) {}
    std::vector<ClassId> label;
    std::vector<double> weight;
  };

  double weight(std::size_t entry) const { return real_.empty() ? static_cast<double>(whole_.at(entry)) : real_[entry]; }

  Codes n_entries_, class_, whole_;
  std::vector<double> real_;
};

struct PackedTree {
  Codes n_children;               // per node
  Codes feature;                  // per inner node, like the following
  std::vector<double> threshold;  // NaN: categorical
  Codes missing_branch;           // plus one; empty: missing values are spread everywhere
  Codes n_categories;             // empty: there is no categorical split
  Codes category_branch;          // plus one
  Codes n_terms;                  // of oblique splits' projections; empty: there is none
  Codes projection_feature;
  std::vector<double> projection_weight;
  std::vector<NodeId> child_nodes;  // empty: children are where TreeBuilder puts them
  LeafCounts in_bag, out_of_bag;
  LeafCounts spread_weights;  // one number per leaf; empty: the sums of in_bag
  Codes vote;                 // per leaf: the class with the most in-bag rows

  std::size_t n_nodes() const { return n_children.size(); }
};

// The data of the leaves of a tree.
struct LeafFacts {
  LeafCounts in_bag, out_of_bag;  // the latter may be empty: zero
  LeafCounts spread_weights;      // one number each, or empty: the sums of in_bag
  std::vector<ClassId> votes;
};

PackedTree pack(const Tree& tree, LeafFacts leaves);

// The leaves of a tree in order of node id.
std::vector<NodeId> leaves_of(const Tree& tree);

// The class with the most weight at a leaf; in a tie the more frequent one, then the first.
class Vote {
 public:
  explicit Vote(const std::vector<double>& prior) : prior_(prior) {}

  // Classes come in increasing order.
  void consider(ClassId label, double weight) {
    const bool more = weight > weight_ + kWeightSlack, less = weight < weight_ - kWeightSlack;
    if (first_ || more || (!less && prior_[label] > prior_[winner_] + kWeightSlack)) {
      winner_ = label;
      weight_ = weight;
    }
    first_ = false;
  }
  ClassId winner() const { return winner_; }

 private:
  const std::vector<double>& prior_;
  ClassId winner_ = 0;
  double weight_ = 0;
  bool first_ = true;
};

// The vote of each leaf, given the counts of all nodes with copies. An empty leaf votes as its nearest ancestor that is not.
std::vector<ClassId> leaf_votes(const Tree& tree, const std::vector<double>& node_counts, const std::vector<double>& prior);

// The tree, with its spread weights and, if asked for, the in-bag counts of all nodes.
Tree unpack(const PackedTree& packed, int n_classes, bool with_counts);

// Counts at all nodes from those at leaves.
std::vector<double> node_counts(const Tree& structure, const LeafCounts& leaves, int n_classes);

// The weights of in-bag and out-of-bag rows at a leaf.
struct CountedRows {
  double in_bag = 1, out_of_bag = 0;
  double least = 0;  // counts are those of the nearest ancestor that has this weight of them, or of the root

  bool is_enough(double weight) const { return least <= 0 || weight >= least * (1 - kWeightSlack); }
};

// Whose counts a leaf holds: those of the leaves in a range of the order in which a walk from the root meets them.
struct CountedLeaves {
  LeafId position = 0;  // of the leaf itself in that order
  LeafId begin = 0, end = 0;

  bool holds(const CountedLeaves& other) const { return begin <= other.position && other.position < end; }
};

// Adds the counts to a table of n_classes numbers for each leaf, which is all zero. Returns whose they are; empty: each
// leaf's own.
std::vector<CountedLeaves> leaf_counts(const PackedTree& packed, int n_classes, CountedRows rows, double* out);

struct Forest {
  int n_classes = 0;
  std::vector<PackedTree> trees;
};

// Whether a split of a tree tests a projection.
bool is_oblique(const Forest& forest);

// The trees of several forests, which have the same classes.
Forest joined(const std::vector<const Forest*>& forests);

// Weighted sums of the counts at the root of each tree, n_trees x n_classes.
std::vector<double> root_counts(const Forest& forest, double in_bag, double out_of_bag);

// Throws std::invalid_argument unless the rest of the core can rely on every number.
void check(const Forest& forest);

// Of trees that were not grown here; votes are those of the in-bag counts.
PackedTree pack(const Tree& tree, const std::vector<double>& out_of_bag_node_counts, const std::vector<double>& prior);

struct ForestOptions {
  Bootstrap bootstrap = Bootstrap::stratified;
  bool distinct = false;  // a row counts once in the leaves, however often it is in the sample
  bool keep_members = false;
  std::uint64_t first_tree = 0;
};

struct GrownForest {
  Forest forest;
  Members members;  // empty unless asked for
};

// Grows trees first_tree, first_tree + 1, ... of the forest with `options.seed`; trees in parallel.
GrownForest grow_forest(const Dataset& dataset, int n_trees, const GrowOptions& options, const ForestOptions& forest,
                        ThreadPool& pool, Interrupt& interrupt);

// The same for trees that exist already: their members and counts. In-bag counts with copies are those of the trees.
GrownForest count_forest(const Dataset& dataset, const std::vector<Tree>& trees, std::uint64_t seed,
                         const ForestOptions& forest, ThreadPool& pool, Interrupt& interrupt);

}  // namespace petiole
