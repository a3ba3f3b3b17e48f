#include "lazy/search.hpp"

#include <algorithm>
#include <numeric>

namespace petiole {
namespace {

std::uint64_t key_of(std::uint64_t hash, const std::vector<LazyTest>& bans) {
  for (const LazyTest& test : bans)
    hash = derive_key(
        hash, std::uint64_t{test.feature} << 34 | std::uint64_t{test.code} << 2 | static_cast<std::uint64_t>(test.sign));
  return hash;
}

}  // namespace

LazySearch::LazySearch(const LazyData& data, const LazyTreeOptions& options)
    : data_(data),
      options_(options),
      node_(data, options),
      chooser_(data.tie),
      count_of_class_(static_cast<std::size_t>(data.dataset.n_classes), 0) {}

const LazyGraph& LazySearch::grow(const LazyBag& bag, SharedNodes& shared, std::size_t share_from, const LazyQuery& query,
                                  Interrupt& interrupt) {
  bag_ = &bag;
  shared_ = &shared;
  share_from_ = share_from;
  query_ = &query;
  interrupt_ = &interrupt;
  graph_.clear();
  known_.clear();
  evaluated_.clear();
  evaluations_.clear();
  ranking_.clear();
  pending_.clear();
  row_budget_ = options_.row_budget > 0 ? options_.row_budget : LazyTreeOptions::default_row_budget(bag.rows.size());
  rows_spent_ = 0;
  make_node(root_rows(), bag.hash, {});
  // The oldest first: where max_nodes cuts options short, it cuts them near the leaves.
  for (std::size_t next = 0; next < pending_.size(); ++next) expand(Pending(std::move(pending_[next])));
  return graph_;
}

LazySearch::Rows LazySearch::root_rows() {
  Rows rows;
  if (bag_->rows.size() >= share_from_ && (rows.shared = shared_->find(bag_->hash))) return rows;
  rows.own = fresh_rows();
  rows.own.assign(bag_->rows.begin(), bag_->rows.end());
  share_if_large(rows, bag_->hash);
  return rows;
}

// Chooses the node's options and, if it has some, leaves it to be expanded.
std::uint32_t LazySearch::make_node(Rows&& rows, std::uint64_t hash, const Bans& bans) {
  // A node that may take the best test only does not need the others.
  const bool best_only = bans.empty() && most_options(rows.span().size()) <= 1;
  const Evaluation& evaluation = evaluations_[evaluated(rows, hash, best_only)];
  take_options(evaluation, bans, rows.span());
  rows_spent_ += chosen_.size() * LazyTreeOptions::cost_of_option(rows.span().size(), count_of_class_.size());
  const auto id = static_cast<std::uint32_t>(graph_.nodes.size());
  LazyGraph::Node node;
  node.first_count = evaluation.first_count;
  node.n_counts = evaluation.n_counts;
  node.total = evaluation.total;
  node.first_edge = static_cast<std::uint32_t>(graph_.edges.size());
  node.n_edges = static_cast<std::uint32_t>(chosen_.size());
  graph_.nodes.push_back(node);
  if (!is_strict()) known_.insert(key_of(hash, bans), id);
  for (const LazyOption& option : chosen_) {
    graph_.edges.push_back({option, 0});
    if (is_strict()) known_.insert(option.hash, id);
  }
  if (chosen_.empty())
    recycle(std::move(rows));
  else
    pending_.push_back({id, std::move(rows)});
  return id;
}

std::uint32_t LazySearch::evaluated(const Rows& rows, std::uint64_t hash, bool best_only) {
  if (const std::uint32_t before = evaluated_.find(hash); before != KeyTable::kNone) return before;
  if (best_only) {
    hash = derive_key(hash, 1);
    if (const std::uint32_t before = evaluated_.find(hash); before != KeyTable::kNone) return before;
  }
  Evaluation evaluation;
  evaluation.first_test = static_cast<std::uint32_t>(ranking_.size());
  rank_tests(rows, best_only ? 1 : most_wanted());
  evaluation.n_tests = static_cast<std::uint32_t>(ranking_.size()) - evaluation.first_test;
  const auto classes = rows.shared ? rows.shared->classes() : node_.classes();
  const auto counts = rows.shared ? rows.shared->counts() : node_.counts();
  evaluation.first_count = static_cast<std::uint32_t>(graph_.counts.size());
  evaluation.n_counts = static_cast<std::uint32_t>(classes.size());
  for (std::size_t k = 0; k < classes.size(); ++k) graph_.counts.emplace_back(classes[k], counts[k]);
  evaluation.total = rows.shared ? rows.shared->total() : node_.total();
  const auto id = static_cast<std::uint32_t>(evaluations_.size());
  evaluations_.push_back(evaluation);
  evaluated_.insert(hash, id);
  return id;
}

// The cousin rule forbids a node at most one test for each option before its own.
std::size_t LazySearch::most_wanted() const {
  const auto most = static_cast<std::size_t>(options_.max_tests);
  return options_.cousin_rule == CousinRule::siblings ? 2 * most - 1 : most;
}

// Appends the best tests to the ranking, whatever the cousin rule forbids; the strict rule goes by rows and forbids now.
void LazySearch::rank_tests(const Rows& rows, std::size_t n_wanted) {
  if (!rows.shared) node_.open(rows.own, *bag_);
  const auto n_features = static_cast<std::uint32_t>(data_.dataset.columns.size());
  interrupt_->check(rows.shared ? 16 * std::uint64_t{n_features} : (rows.own.size() + 16) * std::uint64_t{n_features + 1});
  if (rows.shared ? !rows.shared->can_branch() : !node_.can_branch()) return;
  const ExactGain& gain = rows.shared ? rows.shared->gain() : node_.gain();
  const auto classes = rows.shared ? rows.shared->classes() : node_.classes();
  const auto look_at = [&](LazyOption& option) { look(rows.span(), classes, gain, option); };
  const auto offer = [&](const LazyCandidate& candidate, FoundOut* found_out = nullptr) {
    if (!chooser_.is_in_reach(candidate.rank)) return;
    if (is_strict() && is_taken(rows.span(), candidate.test)) return;
    chooser_.offer(candidate, found_out);
  };
  chooser_.start(gain.of_two(), n_wanted);
  for (std::uint32_t j = 0; j < n_features; ++j) {
    if (rows.shared)
      rows.shared->tests_at(j, query_->places[j], offer);
    else
      node_.tests_at(j, query_->places[j], offer);
  }
  chooser_.finish(gain, *query_, data_.dataset, look_at, ranking_);
}

// How many options a node of so many rows may have: max_tests, as long as the tree has nodes and rows left to spend. The
// paths that are open then go on with one option each, which can be thousands of paths of hundreds of nodes: hence an end.
std::size_t LazySearch::most_options(std::size_t n_rows) const {
  if (rows_spent_ / 2 >= row_budget_) return 0;
  if (graph_.nodes.size() >= options_.max_nodes) return 1;
  const std::uint64_t left = row_budget_ - std::min(row_budget_, rows_spent_);
  const std::uint64_t affordable = left / LazyTreeOptions::cost_of_option(n_rows, count_of_class_.size());
  return std::clamp<std::uint64_t>(affordable, 1, static_cast<std::uint64_t>(options_.max_tests));
}

// The first max_tests that are not forbidden, have rows of their own, and gain enough beside the best.
void LazySearch::take_options(const Evaluation& evaluation, const Bans& bans, std::span<const RowId> rows) {
  chosen_.clear();
  const std::size_t most = most_options(rows.size());
  double enough = -1;
  for (LazyOption& option : std::span(ranking_).subspan(evaluation.first_test, evaluation.n_tests)) {
    if (chosen_.size() == most) return;
    if (std::find(bans.begin(), bans.end(), option.test) != bans.end()) continue;
    if (enough < 0) enough = options_.min_gain * static_cast<double>(option.units);
    if (static_cast<double>(option.units) < enough) return;
    if (option.hash == 0) option.hash = hash_of(rows, option.test);
    const auto same = [&](const LazyOption& other) { return other.hash == option.hash; };
    if (std::none_of(chosen_.begin(), chosen_.end(), same)) chosen_.push_back(option);
  }
}

// Counts the rows that satisfy a test, for its exact gain.
void LazySearch::look(std::span<const RowId> rows, std::span<const ClassId> classes, const ExactGain& gain,
                      LazyOption& option) {
  const Column& column = data_.dataset.columns[option.test.feature];
  const ClassId* labels = data_.dataset.labels.data();
  option.hash = 0;
  column.codes.visit([&](const auto* codes) {
    for (const RowId row : rows) {
      if (!option.test.holds(codes[row], column.n_codes)) continue;
      count_of_class_[labels[row]] += bag_->weight[row];
      option.hash += data_.keys[row];
    }
  });
  child_counts_.clear();
  for (const ClassId k : classes) child_counts_.push_back(std::exchange(count_of_class_[k], 0));
  option.units = gain.units(child_counts_);
}

std::uint64_t LazySearch::hash_of(std::span<const RowId> rows, const LazyTest& test) const {
  const Column& column = data_.dataset.columns[test.feature];
  std::uint64_t hash = 0;
  column.codes.visit([&](const auto* codes) {
    for (const RowId row : rows) hash += test.holds(codes[row], column.n_codes) ? data_.keys[row] : 0;
  });
  return hash;
}

// The children choose their options one after another, since the cousin rule looks at what those before have chosen.
void LazySearch::expand(Pending pending) {
  const std::uint32_t first = graph_.nodes[pending.node].first_edge, n = graph_.nodes[pending.node].n_edges;
  for (std::uint32_t i = 0; i < n; ++i) {
    const LazyOption option = graph_.edges[first + i].option;
    const Bans bans = bans_of(std::span(graph_.edges).subspan(first, n), i);
    std::uint32_t child = KeyTable::kNone;
    if (!is_strict()) child = known_.find(key_of(option.hash, bans));
    if (child == KeyTable::kNone) child = make_node(child_rows(pending.rows, option), option.hash, bans);
    graph_.edges[first + i].child = child;
  }
  recycle(std::move(pending.rows));
}

// Let U and V be options of a node, U before V. If the child of U has taken V, the child of V must not take U.
LazySearch::Bans LazySearch::bans_of(std::span<const LazyGraph::Edge> siblings, std::size_t index) const {
  Bans bans;
  if (options_.cousin_rule != CousinRule::siblings) return bans;
  for (std::size_t h = 0; h < index; ++h)
    for (const LazyGraph::Edge& edge : graph_.options(siblings[h].child))
      if (edge.option.test == siblings[index].option.test) bans.push_back(siblings[h].option.test);
  return bans;
}

LazySearch::Rows LazySearch::child_rows(const Rows& parent, const LazyOption& option) {
  Rows rows;
  const auto from = parent.span();
  if (from.size() >= share_from_ && (rows.shared = shared_->find(option.hash))) return rows;
  rows.own = fresh_rows();
  rows.own.resize(from.size());
  const Column& column = data_.dataset.columns[option.test.feature];
  std::size_t n = 0;
  column.codes.visit([&](const auto* codes) {
    for (const RowId row : from) {
      rows.own[n] = row;
      n += option.test.holds(codes[row], column.n_codes);
    }
  });
  rows.own.resize(n);
  share_if_large(rows, option.hash);
  return rows;
}

void LazySearch::share_if_large(Rows& rows, std::uint64_t hash) {
  if (rows.own.size() < share_from_) return;
  const std::size_t n_features = data_.dataset.columns.size();
  const auto n_kept = is_strict() ? std::numeric_limits<std::size_t>::max() : most_wanted();
  interrupt_->check(rows.own.size() * (n_features + 1) * 2);
  rows.shared = std::make_shared<const SharedNode>(node_, std::vector<RowId>(rows.own), *bag_, n_features, n_kept);
  shared_->insert(hash, rows.shared);
  spare_.push_back(std::move(rows.own));
  rows.own = {};
}

std::vector<RowId> LazySearch::fresh_rows() {
  if (spare_.empty()) return {};
  std::vector<RowId> rows = std::move(spare_.back());
  spare_.pop_back();
  return rows;
}

void LazySearch::recycle(Rows&& rows) {
  if (rows.own.capacity() > 0 && spare_.size() < 64) spare_.push_back(std::move(rows.own));
}

// The probabilities of a node are (counts + path_prior * those of its parent) / (total + path_prior), and those of a leaf
// are the answer of its path. So the answer is a sum over all nodes of their class shares, each weighted by how much of it
// comes through: the share of paths to it, times its own part, times what the nodes below leave of it.
void LazySearch::share_answers() {
  auto& nodes = graph_.nodes;
  by_size_.resize(nodes.size());
  std::iota(by_size_.begin(), by_size_.end(), 0u);
  // A child is lighter than its parent.
  std::sort(by_size_.begin(), by_size_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return nodes[a].total != nodes[b].total ? nodes[a].total > nodes[b].total : a < b;
  });
  nodes[0].share = 1;
  for (const std::uint32_t id : by_size_)
    for (const LazyGraph::Edge& edge : graph_.options(id)) nodes[edge.child].share += nodes[id].share / nodes[id].n_edges;
  const double prior = data_.in_units(options_.path_prior);
  for (auto id = by_size_.rbegin(); id != by_size_.rend(); ++id) {
    LazyGraph::Node& node = nodes[*id];
    node.kept = node.n_edges == 0 ? 1.0 : 0.0;
    for (const LazyGraph::Edge& edge : graph_.options(*id)) {
      const LazyGraph::Node& child = nodes[edge.child];
      node.kept += child.kept * prior / (static_cast<double>(child.total) + prior) / node.n_edges;
    }
  }
}

std::span<const double> LazySearch::answer() {
  share_answers();
  answer_.assign(static_cast<std::size_t>(data_.dataset.n_classes), 0.0);
  const double prior = data_.in_units(options_.path_prior);
  for (const std::uint32_t id : by_size_) {
    const LazyGraph::Node& node = graph_.nodes[id];
    const double weight = node.share * node.kept / (static_cast<double>(node.total) + prior);
    if (weight == 0) continue;
    for (std::uint32_t c = 0; c < node.n_counts; ++c) {
      const auto& [k, count] = graph_.counts[node.first_count + c];
      answer_[k] += weight * static_cast<double>(count);
    }
  }
  const LazyGraph::Node& root = graph_.nodes[0];
  const double uniform = root.share * root.kept * prior / (static_cast<double>(root.total) + prior);
  if (uniform > 0)
    for (double& p : answer_) p += uniform / static_cast<double>(answer_.size());
  return answer_;
}

}  // namespace petiole
