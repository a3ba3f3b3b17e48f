#include "estimate/hdp.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "estimate/stirling.hpp"

namespace petiole {
namespace {

constexpr int kWindow = 10;            // table counts up to this far from the present one are considered
constexpr double kNegligible = 1e-12;  // a weight this small beside the present one ends the window early
constexpr double kLargestConcentration = 4000, kLeastConcentration = 1e-8;
constexpr std::uint32_t kPooled = 64;  // customers up to which restaurants share their exponential draws

double bounded(double concentration) { return std::clamp(concentration, kLeastConcentration, kLargestConcentration); }

std::size_t at(NodeId node) { return static_cast<std::size_t>(node); }

// Customers of a leaf are its rows; customers of a node above are the tables of its children.
class Sampler {
 public:
  Sampler(const NodeCounts& tree, const HdpOptions& options)
      : tree_(tree), options_(options), K_(tree.n_classes), random_(options.seed) {
    const std::size_t n = tree.n_nodes();
    tables_.assign(n * K_, 0);
    customers_.assign(n * K_, 0);
    total_customers_.assign(n, 0);
    total_tables_.assign(n, 0);
    prior_rate_ = options.prior_rate > 0 ? options.prior_rate : static_cast<double>(K_);
    const double start = options.concentration > 0 ? options.concentration : bounded(options.prior_shape / prior_rate_);
    concentration_.assign(n, start);
    weight_of_ = tree.weights();
    concentration_[0] = options.root_concentration;
    group_nodes();
    drawn_.assign(n_groups_, start);
    seat_everyone();
  }

  HdpResult run(Interrupt& interrupt) {
    HdpResult result;
    result.table.assign(tree_.counts.size(), 0.0);
    theta_.resize(tree_.counts.size());
    scales_.assign(tree_.n_nodes(), 0.0);
    uniform_prior_.assign(K_, 1.0 / static_cast<double>(K_));
    for (int iteration = 0; iteration < options_.n_iter; ++iteration) {
      interrupt.check((cells_.size() + tree_.counts.size()) * 4);
      for (const Cell& cell : cells_) resample(cell);
      if (options_.concentration <= 0) resample_concentrations();
      if (iteration >= options_.burn_in) add_estimate(result);
    }
    const double n_kept = options_.n_iter - options_.burn_in;
    for (std::size_t i = 0; i < result.table.size(); ++i)
      result.table[i] = (result.table[i] + tree_.counts[i] * scales_[i / K_]) / n_kept;
    result.mean_concentration /= n_kept;
    return result;
  }

 private:
  struct Cell {  // a class that occurs at a node below the root
    NodeId node, parent;
    std::uint32_t k;
  };

  // Nodes below the root share concentrations by the tying.
  void group_nodes() {
    std::vector<std::size_t> depth(tree_.n_nodes(), 0);
    group_of_.assign(tree_.n_nodes(), 0);
    for (const NodeId node : tree_.top_down) {
      const NodeId parent = tree_.parent[at(node)];
      if (parent < 0) continue;
      depth[at(node)] = depth[at(parent)] + 1;
      std::size_t group = 0;
      if (options_.tying == Tying::level) group = depth[at(node)];
      if (options_.tying == Tying::parent) group = at(parent);
      if (options_.tying == Tying::none) group = at(node);
      group_of_[at(node)] = group;
      n_groups_ = std::max(n_groups_, group + 1);
    }
  }

  // From the leaves up: about as many tables as are expected, at least one where there is a customer.
  void seat_everyone() {
    for (std::size_t i = tree_.n_nodes(); i-- > 0;) {
      const NodeId node = tree_.top_down[i], parent = tree_.parent[at(node)];
      for (std::uint32_t k = 0; k < K_; ++k) {
        const std::size_t cell = at(node) * K_ + k;
        if (tree_.is_leaf[at(node)])
          customers_[cell] = std::min(std::round(tree_.counts[cell]), StirlingRatios::kMostCustomers);
        const double n = customers_[cell];
        total_customers_[at(node)] += n;
        if (parent < 0 || n == 0) continue;
        // c (psi(c + n) - psi(c)) tables are expected; its logarithmic growth is all that matters for a start.
        const double c = concentration_[at(node)];
        tables_[cell] = std::clamp(std::floor(c * std::log1p(n / c)), 1.0, n);
        total_tables_[at(node)] += tables_[cell];
        customers_[at(parent) * K_ + k] += tables_[cell];
        // A leaf's single row always has a table of its own; nothing to sample there.
        if (n > 1 || !tree_.is_leaf[at(node)]) cells_.push_back({node, parent, k});
      }
    }
  }

  // Draws a table count from its conditional given all others, within a window. Weights are built from ratios of
  // neighbours, up and down from the present count.
  void resample(const Cell& cell) {
    const std::size_t here = at(cell.node) * K_ + cell.k, above = at(cell.parent) * K_ + cell.k;
    const double n = customers_[here], t = tables_[here];
    if (n <= 1) {
      if (t != n) change_tables(cell, n);
      return;
    }
    const double others = customers_[above] - t, parent_tables = tables_[above];
    stirling_.prepare(std::max(n, others + t + kWindow));
    // The parent may not have fewer customers than tables.
    const double needed = cell.parent == 0 ? 1 : std::max(parent_tables - others, 1.0);
    const double low = std::max(needed, t - kWindow), high = std::min(n, t + kWindow);
    const double c = concentration_[at(cell.node)], c_above = concentration_[at(cell.parent)];
    const double total_others = c_above + total_customers_[at(cell.parent)] - t;
    const double root_share = c_above / static_cast<double>(K_);
    // weight(x + 1) / weight(x)
    const auto ratio = [&](double x) {
      const double parent = cell.parent == 0 ? root_share + others + x : stirling_.next_customer(others + x, parent_tables);
      return stirling_.next_table(n, x) * c * parent / (total_others + x);
    };
    int lowest = 0, highest = 0;  // what is added to t
    double sum = 1, weight = 1;
    for (double x = t; x < high && weight > kNegligible; ++x) {
      weight *= ratio(x);
      weight_[kWindow + ++highest] = weight;
      sum += weight;
    }
    weight = 1;
    for (double x = t; x > low && weight > kNegligible; --x) {
      weight /= ratio(x - 1);
      weight_[kWindow + --lowest] = weight;
      sum += weight;
    }
    weight_[kWindow] = 1;
    double draw = uniform() * sum;
    int added = lowest;
    while (added < highest && (draw -= weight_[kWindow + added]) > 0) ++added;
    if (added != 0) change_tables(cell, t + added);
  }

  void change_tables(const Cell& cell, double to) {
    const double from = std::exchange(tables_[at(cell.node) * K_ + cell.k], to);
    total_tables_[at(cell.node)] += to - from;
    customers_[at(cell.parent) * K_ + cell.k] += to - from;
    total_customers_[at(cell.parent)] += to - from;
  }

  // Escobar & West's auxiliary variables: q_u ~ Beta(c, n_u) for each restaurant, then c from a gamma distribution with
  // sum of ln(1/q_u) added to its rate. Beta(c, n) is a product of U^(1/(c+i)) over i < n, so ln(1/q) is a sum of
  // exponentials over c + i; restaurants that share c share i as well, and for each i one gamma draw serves them all.
  void resample_concentrations() {
    shape_.assign(n_groups_, options_.prior_shape);
    rate_.assign(n_groups_, prior_rate_);
    longer_.assign(n_groups_ * (kPooled + 1), 0);
    for (std::size_t node = 1; node < tree_.n_nodes(); ++node) {
      const double n = total_customers_[node];
      if (n == 0) continue;
      const std::size_t group = group_of_[node];
      shape_[group] += total_tables_[node];
      ++longer_[group * (kPooled + 1) + static_cast<std::size_t>(std::min<double>(n, kPooled))];
      if (n > kPooled) rate_[group] += minus_log_beta(drawn_[group] + kPooled, n - kPooled);
    }
    for (std::size_t group = 0; group < n_groups_; ++group) {
      double n_longer = 0;  // restaurants with more than i customers
      for (std::uint32_t i = kPooled; i-- > 0;) {
        n_longer += longer_[group * (kPooled + 1) + i + 1];
        if (n_longer > 0) rate_[group] += gamma(n_longer) / (drawn_[group] + i);
      }
      drawn_[group] = bounded(gamma(shape_[group]) / rate_[group]);
    }
    for (std::size_t node = 1; node < tree_.n_nodes(); ++node)
      if (total_customers_[node] > 0) concentration_[node] = drawn_[group_of_[node]];
  }

  double minus_log_beta(double a, double b) {
    const double x = gamma(a), y = gamma(b);
    return std::log1p(y / std::max(x, 1e-300));
  }

  double gamma(double shape) { return std::gamma_distribution<double>(shape, 1.0)(random_); }

  double uniform() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }

  // theta = (n_k + c theta_parent) / (n + c) from the uniform distribution down, with the true counts at the leaves. There
  // the counts do not change, so only the sums of 1 / (n + c) and of what comes from the parent are kept.
  void add_estimate(HdpResult& result) {
    double sum_of_c = 0;
    for (const NodeId node : tree_.top_down) {
      const NodeId parent = tree_.parent[at(node)];
      const double c = concentration_[at(node)];
      if (parent >= 0) sum_of_c += c;
      const double* prior = parent < 0 ? uniform_prior_.data() : theta_.data() + at(parent) * K_;
      double* sum = result.table.data() + at(node) * K_;
      if (tree_.is_leaf[at(node)]) {
        const double scale = 1 / (weight_of_[at(node)] + c), share = c * scale;
        scales_[at(node)] += scale;
        for (std::size_t k = 0; k < K_; ++k) sum[k] += share * prior[k];
      } else {
        const double scale = 1 / (total_customers_[at(node)] + c);
        const double* customers = customers_.data() + at(node) * K_;
        double* theta = theta_.data() + at(node) * K_;
        for (std::size_t k = 0; k < K_; ++k) {
          theta[k] = (customers[k] + c * prior[k]) * scale;
          sum[k] += theta[k];
        }
      }
    }
    if (tree_.n_nodes() > 1) result.mean_concentration += sum_of_c / static_cast<double>(tree_.n_nodes() - 1);
  }

  const NodeCounts& tree_;
  const HdpOptions& options_;
  std::size_t K_;
  std::mt19937_64 random_;
  std::vector<Cell> cells_;                                                  // children before parents
  std::vector<double> tables_, customers_, total_customers_, total_tables_;  // whole numbers
  std::vector<double> weight_of_, concentration_, theta_, uniform_prior_;
  std::vector<double> scales_;  // per leaf the sum of 1 / (n + c) over iterations; 0 elsewhere
  std::vector<std::size_t> group_of_;
  std::size_t n_groups_ = 1;
  double prior_rate_ = 1;
  StirlingRatios stirling_;
  double weight_[2 * kWindow + 1];
  std::vector<double> shape_, rate_;
  std::vector<double> drawn_;  // the concentration of each group
  std::vector<std::uint32_t> longer_;
};

}  // namespace

HdpResult hdp(const NodeCounts& tree, const HdpOptions& options, Interrupt& interrupt) {
  return Sampler(tree, options).run(interrupt);
}

}  // namespace petiole
