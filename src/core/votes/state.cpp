#include "votes/state.hpp"

namespace petiole {
namespace {

void append_sizes(const std::vector<std::int32_t>& start, std::vector<std::uint32_t>& sizes) {
  for (std::size_t i = 0; i + 1 < start.size(); ++i) sizes.push_back(static_cast<std::uint32_t>(start[i + 1] - start[i]));
}

template <class From, class To>
void append(const std::vector<From>& values, std::vector<To>& to) {
  to.insert(to.end(), values.begin(), values.end());
}

// Reads the arrays from their beginning to their end, tree by tree.
class StateReader {
 public:
  explicit StateReader(const VoteState& state) : state_(state), n_classes_(static_cast<std::uint32_t>(state.n_classes)) {
    require(state.n_classes > 0 && state.row_vote.size() == state.entries_per_row.size());
    require(state.in_bag.size() == state.entry_class.size() && state.out_of_bag.size() == state.entry_class.size());
  }

  VoteTables::OfTree next_tree(std::uint32_t n_leaves) {
    VoteTables::OfTree tree;
    require(n_leaves <= state_.rows_per_leaf.size() - leaf_);
    for (std::uint32_t l = 0; l < n_leaves; ++l, ++leaf_) {
      require(state_.rows_per_leaf[leaf_] <= state_.row_vote.size() - row_);
      for (std::uint32_t r = 0; r < state_.rows_per_leaf[leaf_]; ++r, ++row_) read_row(tree);
      tree.row_start.push_back(static_cast<std::int32_t>(tree.row_vote.size()));
    }
    return tree;
  }

  void require_end() const {
    require(leaf_ == state_.rows_per_leaf.size() && row_ == state_.row_vote.size() && entry_ == state_.entry_class.size());
  }

 private:
  static void require(bool ok) {
    if (!ok) throw std::invalid_argument("the arrays of vote tables do not fit together");
  }

  void read_row(VoteTables::OfTree& tree) {
    require(state_.row_vote[row_] < n_classes_ && state_.entries_per_row[row_] <= state_.entry_class.size() - entry_);
    tree.row_vote.push_back(static_cast<ClassId>(state_.row_vote[row_]));
    for (std::uint32_t e = 0; e < state_.entries_per_row[row_]; ++e, ++entry_) {
      require(state_.entry_class[entry_] < n_classes_ && state_.in_bag[entry_] >= 0 && state_.out_of_bag[entry_] >= 0);
      tree.entry_class.push_back(static_cast<ClassId>(state_.entry_class[entry_]));
      tree.in_bag.push_back(state_.in_bag[entry_]);
      tree.out_of_bag.push_back(state_.out_of_bag[entry_]);
    }
    tree.entry_start.push_back(static_cast<std::int32_t>(tree.entry_class.size()));
  }

  const VoteState& state_;
  std::uint32_t n_classes_;
  std::size_t leaf_ = 0, row_ = 0, entry_ = 0;
};

}  // namespace

VoteState to_state(const VoteTables& tables) {
  VoteState state;
  state.n_classes = tables.n_classes();
  for (const VoteTables::OfTree& tree : tables.trees()) {
    state.n_leaves.push_back(static_cast<std::uint32_t>(tree.row_start.size() - 1));
    append_sizes(tree.row_start, state.rows_per_leaf);
    append_sizes(tree.entry_start, state.entries_per_row);
    append(tree.row_vote, state.row_vote);
    append(tree.entry_class, state.entry_class);
    append(tree.in_bag, state.in_bag);
    append(tree.out_of_bag, state.out_of_bag);
  }
  return state;
}

VoteTables from_state(const VoteState& state) {
  StateReader reader(state);
  std::vector<VoteTables::OfTree> trees;
  trees.reserve(state.n_leaves.size());
  for (const std::uint32_t n : state.n_leaves) trees.push_back(reader.next_tree(n));
  reader.require_end();
  return VoteTables(state.n_classes, std::move(trees));
}

VoteTables joined_tables(const std::vector<const VoteTables*>& parts, double oob_weight) {
  std::vector<VoteTables::OfTree> trees;
  for (const VoteTables* part : parts) trees.insert(trees.end(), part->trees().begin(), part->trees().end());
  VoteTables all(parts.at(0)->n_classes(), std::move(trees));
  all.mix(oob_weight);
  return all;
}

}  // namespace petiole
