// The lazy option tree of one query in one sample.
//
// The order of tests does not matter for the rows that satisfy them all, so different paths meet in the same rows: the
// tree is grown as a graph in which every set of rows (with the tests that the cousin rule forbids there) is one node.
#pragma once

#include "interrupt.hpp"
#include "lazy_shared.hpp"

namespace petiole {

struct LazyQuery {
  std::vector<Place> places;
};

// A graph of nodes; node 0 is the root.
struct LazyGraph {
  struct Edge {
    LazyOption option;
    std::uint32_t child = 0;
  };
  struct Node {
    std::uint32_t first_edge = 0, n_edges = 0;
    std::uint32_t first_count = 0, n_counts = 0;
    Units total = 0;
    double share = 0;  // of the root's answer that comes by this node
    double kept = 0;   // of what a node says, how much is in the answers of the leaves below
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<std::pair<ClassId, Units>> counts;

  void clear() {
    nodes.clear();
    edges.clear();
    counts.clear();
  }
  std::span<const Edge> options(std::uint32_t node) const { return std::span(edges).subspan(nodes[node].first_edge, nodes[node].n_edges); }
};

// Finds the options of a node among the candidates that it is offered.
class OptionChooser {
 public:
  explicit OptionChooser(const LazyTreeOptions& options) : options_(options) {}

  void start(bool of_two) {
    slack_ = of_two ? kRatioSlack : 2 * kGainSlack;
    least_ = -std::numeric_limits<double>::infinity();
    best_.clear();
    contenders_.clear();
  }

  // stored: where the exact gain is kept for others, if anywhere.
  void offer(const Candidate& candidate, std::atomic<std::int64_t>* stored = nullptr) {
    if (candidate.rank + slack_ < least_) return;
    contenders_.push_back({candidate, stored, 0});
    raise_least(candidate);
    if (contenders_.size() >= kMany) drop_beaten();
  }

  // The best options in order; exact(test) counts the rows of a test to find its gain.
  template <class Exact>
  void finish(const ExactGain& gain, const LazyQuery& query, const Dataset& dataset, Exact&& exact,
              std::vector<LazyOption>& chosen) {
    drop_beaten();
    for (Contender& c : contenders_) {
      settle_units(c, gain, exact);
      c.distance = distance(c.candidate.test, query, dataset);
    }
    std::sort(contenders_.begin(), contenders_.end(), better);
    take_first(chosen);
  }

 private:
  struct Contender {
    Candidate candidate;
    std::atomic<std::int64_t>* stored;
    double distance;
  };
  static constexpr std::size_t kMany = 512;

  static bool better(const Contender& a, const Contender& b) {
    const Candidate &x = a.candidate, &y = b.candidate;
    if (x.units != y.units) return x.units > y.units;
    if (x.count != y.count) return x.count > y.count;
    if (x.test.attribute != y.test.attribute) return x.test.attribute < y.test.attribute;
    if (a.distance != b.distance) return a.distance < b.distance;
    return x.test.sign < y.test.sign;
  }

  static double distance(const LazyTest& test, const LazyQuery& query, const Dataset& dataset) {
    if (test.sign == Sign::differs) return static_cast<double>(test.code);
    return std::abs(dataset.columns[test.attribute].distinct[test.code] - query.places[test.attribute].value);
  }

  // Of tests with the same rows the best rank counts; the least is that of the max_tests-th set of rows.
  void raise_least(const Candidate& candidate) {
    for (auto& [rank, hash] : best_) {
      if (hash != candidate.hash) continue;
      if (candidate.rank <= rank) return;
      rank = candidate.rank;
      std::sort(best_.begin(), best_.end(), std::greater<>());
      return update_least();
    }
    best_.emplace_back(candidate.rank, candidate.hash);
    std::sort(best_.begin(), best_.end(), std::greater<>());
    if (best_.size() > static_cast<std::size_t>(options_.max_tests)) best_.pop_back();
    update_least();
  }

  void update_least() {
    if (best_.size() == static_cast<std::size_t>(options_.max_tests)) least_ = best_.back().first;
  }

  void drop_beaten() {
    std::erase_if(contenders_, [this](const Contender& c) { return c.candidate.rank + slack_ < least_; });
  }

  template <class Exact>
  static void settle_units(Contender& c, const ExactGain& gain, Exact&& exact) {
    Candidate& candidate = c.candidate;
    if (candidate.exact) candidate.units = gain_units(gain.of_two() ? gain_of_two(-candidate.rank) : gain.most());
    else if (c.stored != nullptr) candidate.units = c.stored->load(std::memory_order_relaxed);
    if (candidate.units >= 0) return;
    candidate.units = exact(candidate.test);
    if (c.stored != nullptr) c.stored->store(candidate.units, std::memory_order_relaxed);
  }

  void take_first(std::vector<LazyOption>& chosen) const {
    chosen.clear();
    if (contenders_.empty()) return;
    const double enough = options_.min_gain * static_cast<double>(contenders_[0].candidate.units);
    for (const Contender& c : contenders_) {
      const Candidate& candidate = c.candidate;
      const bool full = chosen.size() == static_cast<std::size_t>(options_.max_tests);
      if (full || candidate.units < 1 || static_cast<double>(candidate.units) < enough) return;
      const auto same = [&](const LazyOption& option) { return option.hash == candidate.hash; };
      if (std::none_of(chosen.begin(), chosen.end(), same))
        chosen.push_back({candidate.test, candidate.units, candidate.count, candidate.hash});
    }
  }

  const LazyTreeOptions& options_;
  double slack_ = 0, least_ = 0;
  std::vector<std::pair<double, std::uint64_t>> best_;
  std::vector<Contender> contenders_;
};

// Finds numbers by 64-bit keys that are already random.
class KeyTable {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  void clear() {
    if (n_ * 8 < slots_.size() && slots_.size() > 4096) slots_.resize(std::max<std::size_t>(64, slots_.size() / 4));
    slots_.assign(std::max<std::size_t>(slots_.size(), 64), {0, kNone});
    n_ = 0;
  }
  std::uint32_t find(std::uint64_t key) const {
    for (std::size_t i = key & mask();; i = (i + 1) & mask()) {
      if (slots_[i].second == kNone) return kNone;
      if (slots_[i].first == key) return slots_[i].second;
    }
  }
  void insert(std::uint64_t key, std::uint32_t value) {
    if (2 * (n_ + 1) > slots_.size()) grow();
    place(key, value);
    ++n_;
  }

 private:
  std::size_t mask() const { return slots_.size() - 1; }
  void place(std::uint64_t key, std::uint32_t value) {
    std::size_t i = key & mask();
    while (slots_[i].second != kNone) i = (i + 1) & mask();
    slots_[i] = {key, value};
  }
  void grow() {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> old(2 * slots_.size(), {0, kNone});
    old.swap(slots_);
    for (const auto& [key, value] : old)
      if (value != kNone) place(key, value);
  }
  std::vector<std::pair<std::uint64_t, std::uint32_t>> slots_;
  std::size_t n_ = 0;
};

class LazySearch {
 public:
  LazySearch(const LazyData& data, const LazyTreeOptions& options);

  // Grows the graph of a query. Nodes with at least `share_from` rows are looked for, and left, among the shared ones.
  const LazyGraph& grow(const LazyBag& bag, SharedNodes& shared, std::size_t share_from, const LazyQuery& query,
                        Interrupt& interrupt);

  // Adds the answer of the last graph, a probability for each class, to `answer`.
  void add_answer(std::span<double> answer);

 private:
  using Bans = std::vector<LazyTest>;
  struct Rows {  // of a node: shared, or its own
    SharedNodes::Pointer shared;
    std::vector<RowId> own;
    std::span<const RowId> span() const { return shared ? shared->rows() : std::span<const RowId>(own); }
  };
  struct Pending {
    std::uint32_t node;
    Rows rows;
  };

  std::uint32_t make_node(Rows&& rows, std::uint64_t hash, const Bans& bans);
  void choose(Rows& rows, std::uint64_t hash, const Bans& bans);
  void expand(Pending pending);
  Rows child_rows(const Rows& parent, const LazyOption& option);
  void share_if_large(Rows& rows, std::uint64_t hash);
  Bans bans_of(std::span<const LazyGraph::Edge> siblings, std::size_t index) const;
  bool admits(const Candidate& candidate, const Bans& bans) const;
  std::int64_t exact_units(const Rows& rows, std::span<const ClassId> classes, const ExactGain& gain, const LazyTest& test);
  void recycle(Rows&& rows);
  std::vector<RowId> fresh_rows();
  void share_answers();

  const LazyData& data_;
  const LazyTreeOptions& options_;
  LazyNode node_;
  OptionChooser chooser_;
  LazyGraph graph_;

  const LazyBag* bag_ = nullptr;
  SharedNodes* shared_ = nullptr;
  std::size_t share_from_ = 0;
  const LazyQuery* query_ = nullptr;
  Interrupt* interrupt_ = nullptr;

  KeyTable known_;  // nodes by rows and bans; with the strict rule, rows that are a node or will be
  std::vector<Pending> pending_;
  std::vector<LazyOption> chosen_;
  std::vector<std::vector<RowId>> spare_;
  std::vector<Units> child_counts_, count_of_class_;
  std::vector<std::uint32_t> by_size_;
};

}  // namespace petiole
