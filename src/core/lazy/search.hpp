// The lazy option tree of one query in one sample.
//
// The order of tests does not matter for the rows that satisfy them all, so different paths lead to the same rows: the
// tree is grown as a graph in which every set of rows (with the tests that the cousin rule forbids there) is one node,
// and every set of rows is evaluated once.
#pragma once

#include "base/interrupt.hpp"
#include "lazy/chooser.hpp"

namespace petiole {

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
    double kept = 0;   // the share of a node's probabilities in the answers of the leaves below
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<std::pair<ClassId, Units>> counts;

  void clear() {
    nodes.clear();
    edges.clear();
    counts.clear();
  }
  std::span<const Edge> options(std::uint32_t node) const {
    return std::span(edges).subspan(nodes[node].first_edge, nodes[node].n_edges);
  }
};

class LazySearch {
 public:
  LazySearch(const LazyData& data, const LazyTreeOptions& options);

  // Grows the graph of a query. Nodes with at least `share_from` rows are looked for, and left, among the shared ones.
  const LazyGraph& grow(const LazyBag& bag, SharedNodes& shared, std::size_t share_from, const LazyQuery& query,
                        Interrupt& interrupt);

  // The answer of the last graph, a probability for each class; its nodes get their shares.
  std::span<const double> answer();

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
  struct Evaluation {  // of a set of rows: its class counts and its best tests
    std::uint32_t first_count, n_counts;
    std::uint32_t first_test, n_tests;  // a range of ranking_
    Units total;
  };

  bool is_strict() const { return options_.cousin_rule == CousinRule::strict; }
  std::uint32_t make_node(Rows&& rows, std::uint64_t hash, const Bans& bans);
  std::uint32_t evaluated(const Rows& rows, std::uint64_t hash, bool best_only);
  void rank_tests(const Rows& rows, std::size_t n_wanted);
  std::size_t most_wanted() const;
  std::size_t most_options(std::size_t n_rows) const;
  void take_options(const Evaluation& evaluation, const Bans& bans, std::span<const RowId> rows);
  void expand(Pending pending);
  Rows root_rows();
  Rows child_rows(const Rows& parent, const LazyOption& option);
  void share_if_large(Rows& rows, std::uint64_t hash);
  Bans bans_of(std::span<const LazyGraph::Edge> siblings, std::size_t index) const;
  void look(std::span<const RowId> rows, std::span<const ClassId> classes, const ExactGain& gain, LazyOption& option);
  std::uint64_t hash_of(std::span<const RowId> rows, const LazyTest& test) const;
  bool is_taken(std::span<const RowId> rows, const LazyTest& test) const {
    return known_.find(hash_of(rows, test)) != KeyTable::kNone;
  }
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
  std::uint64_t row_budget_ = 0, rows_spent_ = 0;

  KeyTable known_;      // nodes by rows and bans; with the strict rule, rows that are a node or will be
  KeyTable evaluated_;  // evaluations by rows
  std::vector<Evaluation> evaluations_;
  std::vector<LazyOption> ranking_, chosen_;
  std::vector<Pending> pending_;
  std::vector<std::vector<RowId>> spare_;
  std::vector<Units> child_counts_, count_of_class_;
  std::vector<std::uint32_t> by_size_;
  std::vector<double> answer_;
};

}  // namespace petiole
