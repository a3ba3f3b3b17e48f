// MOB-ESP's leaf matrices: the classes of the rows at a leaf that the ensemble, asked without them, votes to be in class j.
//
// A leaf holds rows for the votes that occur among its members, and a row holds the classes that occur, so the size is at
// most that of the training set, whatever the number of classes.
#pragma once

#include "forest/out_of_bag.hpp"

namespace petiole {

class VoteTables {
 public:
  struct OfTree {
    std::vector<std::int32_t> row_start{0};    // rows of leaf l: row_start[l] .. row_start[l + 1]
    std::vector<ClassId> row_vote;             // ascending within a leaf
    std::vector<std::int32_t> entry_start{0};  // entries of a row
    std::vector<ClassId> entry_class;
    std::vector<double> in_bag, out_of_bag;  // weights of an entry
  };

  // votes: the winner among the trees that have not seen a row; rows with -1 are in no table.
  VoteTables(const Members& members, const std::int32_t* votes, TrainingRows rows, int n_classes, bool distinct,
             ThreadPool& pool);
  explicit VoteTables(int n_classes, std::vector<OfTree> trees) : n_classes_(n_classes), trees_(std::move(trees)) {}

  int n_classes() const { return n_classes_; }
  std::size_t n_trees() const { return trees_.size(); }
  std::size_t n_leaves(std::size_t tree) const { return trees_[tree].row_start.size() - 1; }
  const std::vector<OfTree>& trees() const { return trees_; }

  // The rows of two batches together: scale times these plus the others. To be mixed before it is asked.
  VoteTables plus(const VoteTables& more, double scale, ThreadPool& pool) const;

  // The weights of out-of-bag rows from now on.
  void mix(double oob_weight, ThreadPool& pool);
  void mix(double oob_weight) {
    ThreadPool alone(1);
    mix(oob_weight, alone);
  }

  // Calls f(vote, total, visit_entries) for the rows of a leaf; visit_entries(g) calls g(class, weight). To be mixed before.
  template <class F>
  void visit_rows(std::size_t tree, std::size_t leaf, F&& f) const {
    const Mixture& mixed = mixed_[tree];
    const Item* const end = mixed.items.data() + mixed.start[leaf + 1];
    for (const Item* head = mixed.items.data() + mixed.start[leaf]; head != end; head += 1 + head->n_entries)
      f(std::size_t{head->label}, head->weight, [head](auto&& g) {
        for (const Item* entry = head + 1; entry != head + 1 + head->n_entries; ++entry)
          g(std::size_t{entry->label}, entry->weight);
      });
  }

  // Which rows of the leaf matrices answer: that of the winner alone, or all in proportion to the votes.
  enum class Rows { winner, shared };

  // For each row asked the mean over the trees that have not seen it of its leaf's row, itself taken out; NaN where
  // nothing is left. winners and votes (n_rows x n_classes) are those of all rows.
  void out_of_bag(const Members& members, const std::int32_t* winners, const double* votes, Rows which, TrainingRows rows,
                  petiole::Asked asked, ThreadPool& pool, double* out) const;

  // For each query: winners, votes, the mean of its leaves' rows (NaN where there is none), and the mean of `tables`, if
  // given. The first n_voters trees vote.
  void look_up(const ForestRouter& router, const Matrix& queries, const Ballot& ballot, std::size_t n_voters, Rows which,
               const LeafTables* tables, ThreadPool& pool, std::int32_t* winners, double* votes, double* out,
               double* averages) const;

  // The same for leaves found elsewhere.
  void look_up(const Members& found, const Ballot& ballot, std::size_t n_voters, Rows which, ThreadPool& pool,
               std::int32_t* winners, double* votes, double* out) const;

 private:
  struct Answer;
  class WinnersRows;
  void look_up_winners(const ForestRouter::Block& block, const std::int32_t* winners, WinnersRows& said, double* out) const;
  void add_leaf(std::size_t tree, LeafId leaf, double share, double own, int own_vote, ClassId own_class,
                Answer& answer) const;
  template <class Reach, class TakesPart>
  void ask(std::size_t row, Reach&& reach_of, TakesPart&& takes_part, int winner, const double* votes, Rows which, double own,
           ClassId own_class, Answer& answer, double* out) const;

  // The mixture laid out for asking. The rows of a leaf follow each other, each a head and then its entries, so that a
  // query touches one or two pieces of memory per tree.
  struct Item {
    double weight;            // head: the sum of the entries
    ClassId label;            // head: the vote
    std::uint16_t n_entries;  // head: how many follow
  };
  struct Mixture {
    std::vector<std::uint32_t> start;  // of each leaf
    std::vector<Item> items;
  };
  static Mixture mixture(const OfTree& tree, double oob_weight);

  int n_classes_;
  std::vector<OfTree> trees_;
  std::vector<Mixture> mixed_;
  double oob_weight_ = 1;
};

}  // namespace petiole
