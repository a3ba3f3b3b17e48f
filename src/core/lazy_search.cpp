#include "lazy_search.hpp"

#include <algorithm>
#include <numeric>

namespace petiole {
namespace {

std::uint64_t key_of(std::uint64_t hash, const std::vector<LazyTest>& bans) {
  for (const LazyTest& test : bans)
    hash = derive_key(hash, std::uint64_t{test.attribute} << 34 | std::uint64_t{test.code} << 2 |
                                static_cast<std::uint64_t>(test.sign));
  return hash;
}

}  // namespace

LazySearch::LazySearch(const LazyData& data, const LazyTreeOptions& options)
    : data_(data),
      options_(options),
      node_(data, options),
      chooser_(options),
      count_of_class_(static_cast<std::size_t>(data.dataset.n_classes), 0) {}

const LazyGraph& LazySearch::grow(const LazyBag& bag, SharedNodes& shared, std::size_t share_from,
                                  const LazyQuery& query, Interrupt& interrupt) {
  bag_ = &bag;
  shared_ = &shared;
  share_from_ = share_from;
  query_ = &query;
  interrupt_ = &interrupt;
  graph_.clear();
  known_.clear();
  pending_.clear();
  Rows rows;
  if (bag.rows.size() >= share_from) rows.shared = shared.find(bag.hash);
  if (!rows.shared) {
    rows.own = fresh_rows();
    rows.own.assign(bag.rows.begin(), bag.rows.end());
    share_if_large(rows, bag.hash);
  }
  make_node(std::move(rows), bag.hash, {});
  while (!pending_.empty()) {
    Pending next = std::move(pending_.back());
    pending_.pop_back();
    expand(std::move(next));
  }
  return graph_;
}

// Chooses the node's options and, if it has some, leaves it to be expanded.
std::uint32_t LazySearch::make_node(Rows&& rows, std::uint64_t hash, const Bans& bans) {
  choose(rows, hash, bans);
  const auto id = static_cast<std::uint32_t>(graph_.nodes.size());
  LazyGraph::Node node;
  const auto classes = rows.shared ? rows.shared->classes() : node_.classes();
  const auto counts = rows.shared ? rows.shared->counts() : node_.counts();
  node.first_count = static_cast<std::uint32_t>(graph_.counts.size());
  node.n_counts = static_cast<std::uint32_t>(classes.size());
  for (std::size_t k = 0; k < classes.size(); ++k) graph_.counts.emplace_back(classes[k], counts[k]);
  node.total = rows.shared ? rows.shared->total() : node_.total();
  node.first_edge = static_cast<std::uint32_t>(graph_.edges.size());
  node.n_edges = static_cast<std::uint32_t>(chosen_.size());
  for (const LazyOption& option : chosen_) {
    graph_.edges.push_back({option, 0});
    if (options_.cousin_rule == CousinRule::strict) known_.insert(option.hash, id);
  }
  graph_.nodes.push_back(node);
  if (options_.cousin_rule != CousinRule::strict) known_.insert(key_of(hash, bans), id);
  if (chosen_.empty()) recycle(std::move(rows));
  else pending_.push_back({id, std::move(rows)});
  return id;
}

void LazySearch::choose(Rows& rows, std::uint64_t, const Bans& bans) {
  chosen_.clear();
  const auto n_attributes = static_cast<std::uint32_t>(data_.dataset.columns.size());
  const auto offer = [&](const Candidate& candidate, std::atomic<std::int64_t>* stored = nullptr) {
    if (admits(candidate, bans)) chooser_.offer(candidate, stored);
  };
  if (!rows.shared) {
    node_.open(rows.own, *bag_);
    interrupt_->check(std::uint64_t{rows.own.size() + 16} * (n_attributes + 1));
    if (!node_.can_branch()) return;
    chooser_.start(node_.gain().of_two());
    for (std::uint32_t j = 0; j < n_attributes; ++j) node_.tests_at(j, query_->places[j], offer);
  } else {
    interrupt_->check(16 * std::uint64_t{n_attributes});
    chooser_.start(rows.shared->gain().of_two());
    for (std::uint32_t j = 0; j < n_attributes; ++j) rows.shared->tests_at(j, query_->places[j], offer);
  }
  const ExactGain& gain = rows.shared ? rows.shared->gain() : node_.gain();
  const auto classes = rows.shared ? rows.shared->classes() : node_.classes();
  chooser_.finish(gain, *query_, data_.dataset,
                  [&](const LazyTest& test) { return exact_units(rows, classes, gain, test); }, chosen_);
}

bool LazySearch::admits(const Candidate& candidate, const Bans& bans) const {
  if (options_.cousin_rule == CousinRule::strict) return known_.find(candidate.hash) == KeyTable::kNone;
  return std::find(bans.begin(), bans.end(), candidate.test) == bans.end();
}

std::int64_t LazySearch::exact_units(const Rows& rows, std::span<const ClassId> classes, const ExactGain& gain,
                                     const LazyTest& test) {
  const Column& column = data_.dataset.columns[test.attribute];
  const ClassId* labels = data_.dataset.labels.data();
  column.codes.visit([&](const auto* codes) {
    for (const RowId row : rows.span())
      if (test.holds(codes[row], column.n_codes)) count_of_class_[labels[row]] += bag_->weight[row];
  });
  child_counts_.clear();
  for (const ClassId k : classes) child_counts_.push_back(std::exchange(count_of_class_[k], 0));
  return gain.units(child_counts_);
}

// The children choose their options one after another, since the cousin rule looks at what those before have chosen;
// then they are expanded, the first one first.
void LazySearch::expand(Pending pending) {
  const std::size_t mark = pending_.size();
  const std::uint32_t first = graph_.nodes[pending.node].first_edge, n = graph_.nodes[pending.node].n_edges;
  for (std::uint32_t i = 0; i < n; ++i) {
    const LazyOption option = graph_.edges[first + i].option;
    const Bans bans = bans_of(std::span(graph_.edges).subspan(first, n), i);
    std::uint32_t child = KeyTable::kNone;
    if (options_.cousin_rule != CousinRule::strict) child = known_.find(key_of(option.hash, bans));
    if (child == KeyTable::kNone) child = make_node(child_rows(pending.rows, option), option.hash, bans);
    graph_.edges[first + i].child = child;
  }
  std::reverse(pending_.begin() + static_cast<std::ptrdiff_t>(mark), pending_.end());
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
  const Column& column = data_.dataset.columns[option.test.attribute];
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
  const std::size_t n_attributes = data_.dataset.columns.size();
  const auto n_kept = options_.cousin_rule == CousinRule::strict ? std::numeric_limits<std::size_t>::max()
                                                                 : 2 * static_cast<std::size_t>(options_.max_tests) - 1;
  interrupt_->check(rows.own.size() * (n_attributes + 1) * 2);
  rows.shared = std::make_shared<const SharedNode>(node_, std::vector<RowId>(rows.own), *bag_, n_attributes, n_kept);
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

// A node says (counts + path_prior * what its parent says) / (total + path_prior), and a leaf's word is the answer of
// its path. So the answer is a sum over all nodes of their class shares, each weighted by how much of it comes through:
// the share of paths to it, times its own part, times what the nodes below leave of it.
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
  const double prior = options_.path_prior / data_.unit;
  for (auto id = by_size_.rbegin(); id != by_size_.rend(); ++id) {
    LazyGraph::Node& node = nodes[*id];
    node.kept = node.n_edges == 0 ? 1.0 : 0.0;
    for (const LazyGraph::Edge& edge : graph_.options(*id)) {
      const LazyGraph::Node& child = nodes[edge.child];
      node.kept += child.kept * prior / (static_cast<double>(child.total) + prior) / node.n_edges;
    }
  }
}

void LazySearch::add_answer(std::span<double> answer) {
  share_answers();
  const double prior = options_.path_prior / data_.unit;
  for (const std::uint32_t id : by_size_) {
    const LazyGraph::Node& node = graph_.nodes[id];
    const double weight = node.share * node.kept / (static_cast<double>(node.total) + prior);
    if (weight == 0) continue;
    for (std::uint32_t c = 0; c < node.n_counts; ++c) {
      const auto& [k, count] = graph_.counts[node.first_count + c];
      answer[k] += weight * static_cast<double>(count);
    }
  }
  const LazyGraph::Node& root = graph_.nodes[0];
  const double uniform = root.share * root.kept * prior / (static_cast<double>(root.total) + prior);
  if (uniform > 0)
    for (double& p : answer) p += uniform / static_cast<double>(answer.size());
}

}  // namespace petiole
