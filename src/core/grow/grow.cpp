#include "grow/grow.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/random.hpp"
#include "grow/class_counts.hpp"
#include "grow/divide.hpp"
#include "grow/draw.hpp"
#include "grow/drawn_tests.hpp"
#include "grow/partition.hpp"
#include "grow/routing.hpp"
#include "grow/split.hpp"
#include "grow/task.hpp"
#include "grow/twig.hpp"
#include "grow/view_rows.hpp"
#include "grow/whole_weights.hpp"

namespace petiole {
namespace {

// Cells (rows x features) from which a node's features are searched by several threads.
constexpr std::uint64_t kParallelCells = 1 << 15;

template <class W>
class Grower {
 public:
  Grower(const Dataset& dataset, const GrowOptions& options, const DrawnTests& tests, ThreadPool& pool)
      : dataset_(dataset),
        options_(options),
        tests_(tests),
        pool_(pool),
        rules_(dataset, options),
        interactions_(options.groups, dataset.columns.size()),
        scratch_(static_cast<std::size_t>(pool.n_threads())),
        made_(scratch_.size()) {}

  Tree grow(Multiplicity multiplicity, Start start, Interrupt& interrupt, Placement* placement) {
    multiplicity_ = multiplicity;
    interrupt_ = &interrupt;
    placement_ = placement;
    if (placement_ != nullptr) placement_->template clear<W>();
    builder_.start(dataset_.n_classes, placement == nullptr);
    pending_.clear();
    add_root(start);
    while (!pending_.empty()) {
      Task<W> task = std::move(pending_.back());
      pending_.pop_back();
      split_if_useful(std::move(task));
    }
    std::vector<NodeId> new_id;
    Tree tree = builder_.finish(&new_id);
    if (placement_ != nullptr)
      for (NodeId& leaf : placement_->leaf) leaf = new_id[static_cast<std::size_t>(leaf)];
    return tree;
  }

 private:
  void add_root(Start start) {
    const std::uint32_t most = multiplicity_.empty() ? 1 : *std::max_element(multiplicity_.begin(), multiplicity_.end());
    Window<W> window{frame_of(dataset_, most), std::make_shared<Entries<W>>(dataset_.n_rows()), 0, 0};
    context_.dataset_weight = 0;
    Entry<W>* entries = window.entries();
    for (RowId row = 0; row < dataset_.n_rows(); ++row) {
      const double of_row = weight(row);
      entries[window.end] = {row, dataset_.labels[row], static_cast<typename Entry<W>::Stored>(of_row)};
      window.end += of_row > 0;
      context_.dataset_weight += of_row;
    }
    prepare_context(start.dataset_weight);
    pending_.push_back(Task<W>{0, 0, start.key, std::move(window)});
  }

  // Of a row in this tree's sample.
  double weight(RowId row) const {
    return multiplicity_.empty() ? dataset_.weight(row) : dataset_.weight(row) * multiplicity_[row];
  }

  void prepare_context(double dataset_weight) {
    context_.options = &options_;
    context_.n_classes = dataset_.n_classes;
    context_.many_valued.clear();
    if constexpr (!std::is_same_v<W, double>) {
      const bool logarithms = options_.criterion == Criterion::entropy || options_.criterion == Criterion::gain_ratio;
      const auto largest = static_cast<std::uint32_t>(context_.dataset_weight);
      if (logarithms && (!log_table_ || log_table_->largest() != largest)) log_table_ = std::make_unique<LogTable>(largest);
      context_.log_table = log_table_.get();
    }
    context_.dataset_weight = std::max(context_.dataset_weight, dataset_weight);
    for (const Column& column : dataset_.columns)
      context_.many_valued.push_back(column.categorical && column.n_codes >= 0.3 * context_.dataset_weight);
    context_.all_many_valued =
        std::all_of(context_.many_valued.begin(), context_.many_valued.end(), [](auto many) { return many; });
  }

  void keep_counts(NodeId node) {
    if (builder_.keeps_counts()) std::copy(class_counts_.begin(), class_counts_.end(), builder_.counts(node));
  }

  bool must_be_leaf(int depth) const {
    double weight = 0, heaviest = 0;
    for (const W count : class_counts_) {
      weight += static_cast<double>(count);
      heaviest = std::max(heaviest, static_cast<double>(count));
    }
    return must_be_leaf(weight, heaviest, depth);
  }

  bool must_be_leaf(double weight, double heaviest, int depth) const {
    const bool pure = weight - heaviest <= 1e-9 * weight;
    return pure || depth >= options_.max_depth || weight < 2 * options_.min_samples_leaf - kWeightSlack;
  }

  void record_leaf(const Task<W>& task) {
    if (placement_ == nullptr) return;
    const Window<W>& window = task.window;
    Entries<W>& placed = placement_->template entries<W>();
    for (std::uint32_t i = 0; i < window.size(); ++i) {
      const Entry<W>& entry = window.entries()[i];
      placed.push_back({window.frame->dataset_row(entry.row), entry.label, entry.weight});
    }
    placement_->template end_leaf<W>(task.node);
  }

  void split_if_useful(Task<W> task) {
    Window<W>& window = task.window;
    if (window.size() <= kTwigRows && !task.divides_rows) return grow_twig(task);
    if (task.class_counts.empty())
      petiole::count_classes(window, dataset_.n_classes, class_counts_);
    else
      class_counts_.swap(task.class_counts);
    keep_counts(task.node);
    if (must_be_leaf(task.depth)) return record_leaf(task);
    if (compacting_pays(window)) compact(window, compact_scratch_);
    view_rows(*window.frame, window.entries(), window.size());
    interrupt_->check(std::uint64_t{window.size()} * (window.frame->columns.size() + 1));
    find_candidates(task.key, task.path, *window.frame, [this](std::size_t first) { search(first); });
    const int chosen = choose(context_, *window.frame, candidates_, derive_key(task.key, 0));
    if (chosen >= 0)
      split(task, candidates_[static_cast<std::size_t>(chosen)]);
    else
      record_leaf(task);
  }

  // Everything below a node of few rows.
  void grow_twig(const Task<W>& task) {
    twig_.open(context_, task.window);
    interrupt_->check(std::uint64_t{task.window.size()} * (task.window.frame->columns.size() + 1));
    twig_pending_.push_back({task.node, task.depth, task.key, twig_.all(), task.path});
    while (!twig_pending_.empty()) {
      const TwigTask node = twig_pending_.back();
      twig_pending_.pop_back();
      split_if_useful(node, task.window);
    }
  }

  void split_if_useful(const TwigTask& task, const Window<W>& twig) {
    if (builder_.keeps_counts()) count_classes(task);
    keep_counts(task.node);
    if (twig_.is_pure(task.slots)) return record_leaf(task);
    twig_.enter(task.slots);
    if (must_be_leaf(twig_.node_weight(), twig_.heaviest_class(), task.depth)) return record_leaf(task);
    view_.n = 0;
    find_candidates(task.key, task.path, twig_.frame(), [&](std::size_t first) { search_twig(task, first); });
    const int chosen = choose(context_, twig_.frame(), candidates_, derive_key(task.key, 0));
    if (chosen < 0) return record_leaf(task);
    const std::int32_t index = candidates_[static_cast<std::size_t>(chosen)].column;
    if (has_missing(twig_.frame().columns[static_cast<std::size_t>(index)], index, task))
      pending_.push_back(without_twig(task, twig));
    else
      split(task, static_cast<std::size_t>(chosen));
  }

  void record_leaf(const TwigTask& task) {
    if (placement_ == nullptr) return;
    Entries<W>& placed = placement_->template entries<W>();
    for_each_slot(task.slots, [&](std::uint32_t slot) {
      placed.push_back(twig_.entry(slot));
      placed.back().row = twig_.frame().dataset_row(placed.back().row);
    });
    placement_->template end_leaf<W>(task.node);
  }

  void search_twig(const TwigTask& task, std::size_t first) {
    candidates_.resize(columns_.size());
    twig_cuts_.resize(columns_.size());
    for (std::size_t i = first; i < columns_.size(); ++i) {
      const FrameColumn& column = twig_.frame().columns[static_cast<std::size_t>(columns_[i])];
      if (tests_.replaces(column)) {
        search_made(task, i);
        continue;
      }
      if (!column.categorical && !has_missing(column, columns_[i], task)) {
        candidates_[i] = twig_.find(columns_[i], twig_cuts_[i], sign_of(column.feature));
        continue;
      }
      if (view_.n == 0) view_node(task);
      petiole::find_candidates(context_, view_, &columns_[i], 1, scratch_[0], &candidates_[i]);
    }
  }

  void search_made(const TwigTask& task, std::size_t i) {
    if (make_twig_codes(task, columns_[i])) {
      candidates_[i] = twig_.find(made_in_twig_.codes, twig_cuts_[i], made_in_twig_.drawn.sign());
      candidates_[i].column = columns_[i];
      return;
    }
    if (view_.n == 0) view_node(task);
    search_made(0, i, 1);
  }

  // Makes what is searched for a column of the twig's frame. Returns whether no value is missing.
  bool make_twig_codes(const TwigTask& task, std::int32_t index) {
    return made_in_twig_.make(tests_, key_, twig_, twig_.frame().columns[static_cast<std::size_t>(index)], task.slots);
  }

  bool has_missing(const FrameColumn& column, std::int32_t index, const TwigTask& task) {
    if (tests_.replaces(column)) return !make_twig_codes(task, index);
    return column.has_missing && (twig_.missing(index) & task.slots) != 0;
  }

  // A node of a twig whose rows are to be divided, as a task of its own.
  Task<W> without_twig(const TwigTask& task, const Window<W>& twig) const {
    Window<W> window{twig.frame, std::make_shared<Entries<W>>(static_cast<std::size_t>(std::popcount(task.slots))), 0, 0};
    for_each_slot(task.slots, [&](std::uint32_t slot) { window.entries()[window.end++] = twig_.entry(slot); });
    return {task.node, task.depth, task.key, std::move(window), {}, true, task.path};
  }

  // The rows of a twig's node in a row, for the search and the routing of categorical features.
  void view_node(const TwigTask& task) {
    count_classes(task);
    std::uint32_t n = 0;
    for_each_slot(task.slots, [&](std::uint32_t slot) { twig_entries_[n++] = twig_.entry(slot); });
    view_rows(twig_.frame(), twig_entries_.data(), n);
  }

  void count_classes(const TwigTask& task) {
    class_counts_.assign(static_cast<std::size_t>(dataset_.n_classes), W{0});
    for_each_slot(task.slots, [&](std::uint32_t slot) { class_counts_[twig_.label(slot)] += twig_.weight(slot); });
  }

  void put_sides(const TwigTask& task, const TwigSides& sides) {
    twig_branches_.push_back(sides.left);
    twig_branches_.push_back(task.slots & ~sides.left);
  }

  void split(const TwigTask& task, std::size_t chosen) {
    const Candidate& candidate = candidates_[chosen];
    const FrameColumn& column = twig_.frame().columns[static_cast<std::size_t>(candidate.column)];
    twig_branches_.clear();
    SplitRule rule;
    if (tests_.replaces(column)) {  // has_missing has made its codes
      put_sides(task, twig_.sides_of(made_in_twig_.codes, twig_cuts_[chosen]));
      made_in_twig_.drawn.describe(twig_cuts_[chosen].low, rule);
    } else if (column.categorical) {
      Routing routing = route_categorical(column, candidate);
      rule = std::move(routing.rule);
      twig_branches_.assign(static_cast<std::size_t>(routing.n_children), Slots{0});
      for_each_slot(task.slots, [&](std::uint32_t slot) {
        const auto branch = static_cast<std::size_t>(routing.branch_of_code[column.codes->at(twig_.row(slot))]);
        twig_branches_[branch] |= Slots{1} << slot;
      });
    } else {
      const TwigSides sides = twig_.sides_of(candidate.column, twig_cuts_[chosen]);
      rule.threshold = rules_.threshold(twig_.frame(), column, twig_.row(sides.low), twig_.row(sides.high));
      put_sides(task, sides);
    }
    rule.feature = column.feature;
    if (!options_.signs.empty() && rule.missing_branch < 0)
      rule.missing_branch = heaviest(twig_branches_, [this](Slots slots) {
        double weight = 0;
        for_each_slot(slots, [&](std::uint32_t slot) { weight += static_cast<double>(twig_.weight(slot)); });
        return weight;
      });
    const Interactions::Path path = interactions_.after(task.path, column.feature);
    const NodeId first = builder_.split(task.node, rule, static_cast<int>(twig_branches_.size()));
    for (std::size_t c = 0; c < twig_branches_.size(); ++c)
      twig_pending_.push_back(
          {first + static_cast<NodeId>(c), task.depth + 1, derive_key(task.key, c + 1), twig_branches_[c], path});
  }

  void view_rows(const Frame& frame, const Entry<W>* entries, std::uint32_t n) {
    show_rows(frame, entries, n, class_counts_, options_, local_class_, view_);
  }

  // search(first) fills candidates_ for columns_[first..].
  template <class Search>
  void find_candidates(std::uint64_t key, Interactions::Path path, const Frame& frame, Search&& search) {
    const auto n_features = static_cast<int>(dataset_.columns.size());
    if (tests_.any()) leave_node();
    key_ = key;
    if (options_.max_features == 0 || options_.max_features >= n_features) {
      columns_.resize(frame.columns.size());
      std::iota(columns_.begin(), columns_.end(), 0);
      if (interactions_.any())
        std::erase_if(columns_, [&](std::int32_t column) {
          return !interactions_.allows(path, frame.columns[static_cast<std::size_t>(column)].feature);
        });
      search(0);
    } else {
      const auto usable = [&](std::int32_t feature) { return interactions_.allows(path, feature); };
      draw_.draw(key, frame, n_features, options_, columns_, candidates_, usable, search);
    }
  }

  int sign_of(std::int32_t feature) const {
    return options_.signs.empty() ? 0 : options_.signs[static_cast<std::size_t>(feature)];
  }

  // The first of the heaviest branches.
  template <class Branches, class WeightOf>
  static std::int32_t heaviest(const Branches& branches, WeightOf&& weight_of) {
    std::int32_t found = 0;
    double most = -1;
    for (std::size_t b = 0; b < branches.size(); ++b) {
      const double weight = weight_of(branches[b]);
      if (weight > most) found = static_cast<std::int32_t>(b);
      most = std::max(most, weight);
    }
    return found;
  }

  void search(std::size_t first) {
    candidates_.resize(columns_.size());
    const std::size_t n = columns_.size() - first;
    if (n == 0) return;
    const auto body = [&](std::size_t thread, std::size_t begin, std::size_t n_columns) {
      if (tests_.any()) return search_made(thread, begin, n_columns);
      petiole::find_candidates(context_, view_, &columns_[begin], n_columns, scratch_[thread], &candidates_[begin]);
    };
    if (pool_.n_threads() == 1 || std::uint64_t{view_.n} * n < kParallelCells) return body(0, first, n);
    view_.number_labels();  // before threads share it
    pool_.run(static_cast<int>(n), [&](int thread, int item) {
      body(static_cast<std::size_t>(thread), first + static_cast<std::size_t>(item), 1);
    });
    for (std::size_t i = first; i < columns_.size(); ++i) candidates_[i].left_known = false;  // it is in threads' scratch
  }

  void leave_node() {
    for (MadeColumn& made : made_) made.leave();
    made_in_twig_.leave();
  }

  // Candidates of columns that may be replaced by others that are made for the node.
  void search_made(std::size_t thread, std::size_t begin, std::size_t n) {
    for (std::size_t i = begin; i < begin + n; ++i) {
      candidates_[i] = find_candidate(context_, view_, searched_column(columns_[i], made_[thread]), scratch_[thread]);
      candidates_[i].column = columns_[i];
    }
  }

  // What is searched for a column of the frame: itself, or what is made of it for the node.
  const FrameColumn& searched_column(std::int32_t index, MadeColumn& made) {
    const FrameColumn& column = view_.frame->columns[static_cast<std::size_t>(index)];
    return tests_.replaces(column) ? made.make(tests_, key_, *view_.frame, column, view_.entries, view_.n) : column;
  }

  void split(Task<W>& task, const Candidate& candidate) {
    const FrameColumn& column = searched_column(candidate.column, made_[0]);
    Routing routing = column.categorical ? route_categorical(column, candidate) : rules_.numeric(view_, column, candidate);
    routing.rule.feature = column.feature;
    std::vector<Child<W>> children;
    if (routing.branch_of_code.empty()) {
      const TwoParts parts = partition_at(task.window, column, candidate.cut, partition_scratch_);
      if (!column.is_made) routing.rule.threshold = rules_.threshold(*task.window.frame, column, parts.low, parts.high);
      children = ranges<W>(task.window, {0, parts.n_left, task.window.size()});
      if (candidate.left_known) give_counts(candidate, children);
    } else {
      if (candidate.known_or_missing) {
        routing.rule.threshold = std::numeric_limits<double>::infinity();
      } else if (!column.categorical && !column.is_made) {
        const auto [low, high] = rules_.neighbours(view_, column, candidate.cut);
        routing.rule.threshold = rules_.threshold(*task.window.frame, column, low, high);
      }
      children =
          partition_with_missing(task.window, column, routing, partition_scratch_, [this](RowId row) { return weight(row); });
    }
    if (column.is_made) made_[0].drawn.describe(candidate, routing.rule);
    if (!options_.signs.empty() && routing.rule.missing_branch < 0)
      routing.rule.missing_branch = heaviest(children, [](const Child<W>& child) {
        double weight = 0;
        for (std::uint32_t i = 0; i < child.window.size(); ++i)
          weight += static_cast<double>(child.window.entries()[i].weight);
        return weight;
      });
    add_children(task, routing, std::move(children));
  }

  Routing route_categorical(const FrameColumn& column, const Candidate& candidate) {
    return rules_.categorical(context_, view_, column, candidate, scratch_[0]);
  }

  // Passes the class weights that the search has found to both children of a numeric split; twigs do not need them.
  void give_counts(const Candidate& candidate, std::vector<Child<W>>& children) {
    const W* left = scratch_[0].left_of_cut.row(static_cast<std::size_t>(candidate.column), view_.class_totals.size());
    for (std::size_t side = 0; side < 2; ++side) {
      if (children[side].window.size() <= kTwigRows) continue;
      children[side].class_counts = class_counts_;
      for (std::size_t k = 0; k < class_counts_.size(); ++k) {
        if (class_counts_[k] <= 0) continue;
        const W on_left = left[local_class_[k]];
        children[side].class_counts[k] = side == 0 ? on_left : class_counts_[k] - on_left;
      }
    }
  }

  void add_children(const Task<W>& task, const Routing& routing, std::vector<Child<W>> children) {
    const NodeId first = builder_.split(task.node, routing.rule, routing.n_children);
    const Interactions::Path path = interactions_.after(task.path, routing.rule.feature);
    // The smallest child is grown first and the largest last, when its parent's frame is no longer needed by the others.
    std::vector<int> order(static_cast<std::size_t>(routing.n_children));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return children[static_cast<std::size_t>(a)].window.size() > children[static_cast<std::size_t>(b)].window.size();
    });
    for (const int c : order) {
      auto& [window, class_counts] = children[static_cast<std::size_t>(c)];
      pending_.push_back(Task<W>{first + c, task.depth + 1, derive_key(task.key, static_cast<std::uint64_t>(c) + 1),
                                 std::move(window), std::move(class_counts), false, path});
    }
  }

  const Dataset& dataset_;
  const GrowOptions& options_;
  const DrawnTests& tests_;
  ThreadPool& pool_;
  RuleMaker<W> rules_;
  Interactions interactions_;
  Multiplicity multiplicity_;
  Interrupt* interrupt_ = nullptr;
  Placement* placement_ = nullptr;
  SearchContext context_;
  std::unique_ptr<LogTable> log_table_;

  TreeBuilder builder_;
  std::vector<Task<W>> pending_;

  std::vector<W> class_counts_;
  NodeView<W> view_;
  std::vector<ClassId> local_class_;
  std::vector<std::int32_t> columns_;
  ColumnDraw draw_;
  std::vector<Candidate> candidates_;
  std::vector<SearchScratch<W>> scratch_;
  std::uint64_t key_ = 0;         // of the node that is searched
  std::vector<MadeColumn> made_;  // per thread
  CompactScratch compact_scratch_;
  PartitionScratch<W> partition_scratch_;

  Twig<W> twig_;
  std::vector<TwigTask> twig_pending_;
  std::vector<TwigCut> twig_cuts_;
  MadeTwigColumn made_in_twig_;
  std::vector<Slots> twig_branches_;
  std::array<Entry<W>, kTwigRows> twig_entries_;
};

}  // namespace

struct TreeGrower::Growers {
  Growers(const Dataset& dataset, const GrowOptions& options, ThreadPool& pool)
      : tests(dataset, options), counts(dataset, options, tests, pool), weights(dataset, options, tests, pool) {}
  DrawnTests tests;
  Grower<std::uint32_t> counts;
  Grower<double> weights;
};

TreeGrower::TreeGrower(const Dataset& dataset, const GrowOptions& options, ThreadPool& pool)
    : dataset_(dataset), options_(options), growers_(std::make_unique<Growers>(dataset, options, pool)) {}

TreeGrower::~TreeGrower() = default;

Tree TreeGrower::grow(Multiplicity multiplicity, std::uint64_t seed, Interrupt& interrupt, Placement* placement) {
  if (weights_stay_whole(dataset_, multiplicity, options_))
    return growers_->counts.grow(multiplicity, {mix(seed)}, interrupt, placement);
  return growers_->weights.grow(multiplicity, {mix(seed)}, interrupt, placement);
}

Tree TreeGrower::grow_below(std::uint64_t key, double dataset_weight, Interrupt& interrupt) {
  if (weights_stay_whole(dataset_, {}, options_)) return growers_->counts.grow({}, {key, dataset_weight}, interrupt, nullptr);
  return growers_->weights.grow({}, {key, dataset_weight}, interrupt, nullptr);
}

}  // namespace petiole
