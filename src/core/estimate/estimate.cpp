#include "estimate/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace petiole {
namespace {

constexpr double kLeastProbability = 1e-6;  // keeps the loss of a row finite where a class was never seen

std::size_t at(NodeId node) { return static_cast<std::size_t>(node); }

}  // namespace

std::vector<double> NodeCounts::weights() const {
  std::vector<double> weights(n_nodes(), 0.0);
  for (std::size_t node = 0; node < n_nodes(); ++node)
    weights[node] = std::accumulate(counts.begin() + static_cast<std::ptrdiff_t>(node * n_classes),
                                    counts.begin() + static_cast<std::ptrdiff_t>((node + 1) * n_classes), 0.0);
  return weights;
}

std::vector<double> NodeCounts::frequencies() const {
  const auto weight = weights();
  std::vector<double> table(counts.size());
  for (const NodeId node : top_down) {
    const NodeId up = parent[at(node)];
    for (std::size_t k = 0; k < n_classes; ++k) {
      double& p = table[at(node) * n_classes + k];
      if (weight[at(node)] > 0)
        p = of(node)[k] / weight[at(node)];
      else
        p = up < 0 ? 1.0 / static_cast<double>(n_classes) : table[at(up) * n_classes + k];
    }
  }
  return table;
}

std::vector<double> m_branch(const NodeCounts& tree, double M, Height height) {
  const std::size_t K = tree.n_classes;
  const auto weights = tree.weights();
  const double root_n = std::sqrt(weights[0]);
  const auto m_at = [&](double h) { return M * (1 + (1 - 1 / h) * root_n); };
  std::vector<double> table(tree.counts.size());
  if (height == Height::subtree) {
    std::vector<double> h(tree.n_nodes(), 1.0);
    for (std::size_t i = tree.n_nodes(); i-- > 1;) {
      const NodeId node = tree.top_down[i];
      double& above = h[at(tree.parent[at(node)])];
      above = std::max(above, h[at(node)] + 1);
    }
    for (const NodeId node : tree.top_down) {
      const NodeId parent = tree.parent[at(node)];
      const double m = m_at(h[at(node)]), n = weights[at(node)];
      for (std::size_t k = 0; k < K; ++k) {
        const double prior = parent < 0 ? 1.0 / static_cast<double>(K) : table[at(parent) * K + k];
        table[at(node) * K + k] = n + m > 0 ? (tree.of(node)[k] + m * prior) / (n + m) : prior;
      }
    }
    return table;
  }
  std::vector<NodeId> branch;
  for (std::size_t node = 0; node < tree.n_nodes(); ++node) {
    branch.clear();
    for (NodeId up = static_cast<NodeId>(node); up >= 0; up = tree.parent[at(up)]) branch.push_back(up);
    double* theta = table.data() + node * K;
    std::fill_n(theta, K, 1.0 / static_cast<double>(K));
    for (std::size_t i = branch.size(); i-- > 0;) {  // branch[i] has h = i + 1
      const double m = m_at(static_cast<double>(i + 1)), total = weights[at(branch[i])] + m;
      if (total <= 0) continue;  // nothing is known here: the probabilities of the parent stay
      const double scale = 1 / total;
      const double* counts = tree.of(branch[i]);
      for (std::size_t k = 0; k < K; ++k) theta[k] = (counts[k] + m * theta[k]) * scale;
    }
  }
  return table;
}

std::vector<double> hgs(const NodeCounts& tree, std::span<const double> alpha) {
  const std::size_t K = tree.n_classes;
  const auto weights = tree.weights();
  const auto raw = tree.frequencies();
  // mixed: sum over proper ancestors of alpha_p n_pk/n_p; alphas: sum of alpha_p.
  std::vector<double> mixed(tree.counts.size(), 0.0), alphas(tree.n_nodes(), 0.0), table(tree.counts.size());
  for (const NodeId node : tree.top_down) {
    const NodeId parent = tree.parent[at(node)];
    double* own = mixed.data() + at(node) * K;
    if (parent >= 0) {
      const double a = alpha[at(parent)];
      alphas[at(node)] = alphas[at(parent)] + a;
      for (std::size_t k = 0; k < K; ++k) own[k] = mixed[at(parent) * K + k] + a * raw[at(parent) * K + k];
    }
    const double total = weights[at(node)] + alphas[at(node)];
    for (std::size_t k = 0; k < K; ++k) {
      double& theta = table[at(node) * K + k];
      if (total > 0)
        theta = (tree.of(node)[k] + own[k]) / total;
      else
        theta = parent < 0 ? 1.0 / static_cast<double>(K) : table[at(parent) * K + k];
    }
  }
  return table;
}

std::vector<double> curtail(const NodeCounts& tree, std::span<const double> table, double v) {
  const std::size_t K = tree.n_classes;
  const auto weights = tree.weights();
  std::vector<double> result(table.begin(), table.end());
  std::vector<std::uint8_t> usable(tree.n_nodes(), 0);
  for (const NodeId node : tree.top_down) {
    const NodeId parent = tree.parent[at(node)];
    const double n = weights[at(node)];
    usable[at(node)] = parent < 0 || (usable[at(parent)] && n > 0 && n >= v - kWeightSlack);
    if (!usable[at(node)])
      std::copy_n(result.begin() + static_cast<std::ptrdiff_t>(at(parent) * K), K,
                  result.begin() + static_cast<std::ptrdiff_t>(at(node) * K));
  }
  return result;
}

HgsLoss::HgsLoss(const NodeCounts& tree, Loss loss)
    : tree_(&tree),
      loss_(loss),
      mixed_(tree.counts.size()),
      alphas_(tree.n_nodes()),
      sums_(tree.counts.size()),
      totals_(tree.n_nodes()) {
  for (const NodeId node : tree.top_down)
    if (!tree.is_leaf[at(node)]) internal_.push_back(node);
}

HgsLoss HgsLoss::leave_one_out(const NodeCounts& tree, Loss loss) {
  HgsLoss result(tree, loss);
  const std::size_t K = tree.n_classes;
  const auto weights = tree.weights();
  result.frequencies_.resize(tree.counts.size());
  result.divisor_ = 0;
  for (std::size_t node = 0; node < tree.n_nodes(); ++node) {
    for (std::uint32_t k = 0; k < K; ++k) {
      const double n = tree.counts[node * K + k], out = std::min(1.0, n);  // a fractional row is left out whole
      const bool any_left = weights[node] - out > kWeightSlack;
      result.frequencies_[node * K + k] = any_left ? (n - out) / (weights[node] - out) : 1.0 / static_cast<double>(K);
      // A class with a single row has probability 0 without it whatever alpha is, so alpha cannot be learned from it.
      if (!tree.is_leaf[node] || n <= 0 || tree.of(0)[k] <= 1 + kWeightSlack) continue;
      result.terms_.push_back({tree.parent[node], k, n, n - out, weights[node] - out});
      result.divisor_ += n;
    }
  }
  return result;
}

HgsLoss HgsLoss::held_out(const NodeCounts& tree, std::span<const double> held_out, Loss loss) {
  HgsLoss result(tree, loss);
  const std::size_t K = tree.n_classes;
  const auto weights = tree.weights();
  result.frequencies_ = tree.frequencies();
  for (std::size_t node = 0; node < tree.n_nodes(); ++node)
    for (std::uint32_t k = 0; k < K && tree.is_leaf[node]; ++k)
      if (held_out[node * K + k] > 0)
        result.terms_.push_back({tree.parent[node], k, held_out[node * K + k], tree.counts[node * K + k], weights[node]});
  return result;
}

double HgsLoss::operator()(std::span<const double> alpha, std::span<double> gradient) {
  const std::size_t K = tree_->n_classes;
  std::fill(gradient.begin(), gradient.end(), 0.0);
  if (terms_.empty()) return 0.0;
  for (const NodeId node : internal_) {
    const NodeId parent = tree_->parent[at(node)];
    const double a = alpha[at(node)];
    alphas_[at(node)] = a + (parent < 0 ? 0.0 : alphas_[at(parent)]);
    totals_[at(node)] = 0;
    double* mixed = mixed_.data() + at(node) * K;
    const double* own = frequencies_.data() + at(node) * K;
    for (std::size_t k = 0; k < K; ++k) mixed[k] = a * own[k];
    if (parent >= 0)
      for (std::size_t k = 0; k < K; ++k) mixed[k] += mixed_[at(parent) * K + k];
    std::fill_n(sums_.begin() + static_cast<std::ptrdiff_t>(at(node) * K), K, 0.0);
  }
  double cost = 0;
  for (const Term& term : terms_) {
    const bool alone = term.parent < 0;
    const double D = term.others + (alone ? 0.0 : alphas_[at(term.parent)]);
    const double mixed = alone ? 0.0 : mixed_[at(term.parent) * K + term.k];
    const double theta = D > 0 ? (term.rest + mixed) / D : 0.0;
    const double bounded = std::max(theta, kLeastProbability);
    cost += loss_ == Loss::log ? -term.n * std::log2(bounded) : 0.5 * term.n * (1 - theta) * (1 - theta);
    if (alone || D <= 0 || theta < kLeastProbability) continue;
    // Minus the derivative of the term's cost by theta, over D.
    const double slope = (loss_ == Loss::log ? term.n / (theta * std::numbers::ln2) : term.n * (1 - theta)) / D;
    sums_[at(term.parent) * K + term.k] += slope;
    totals_[at(term.parent)] += slope * theta;
  }
  // d theta_l / d alpha_p = (f_p - theta_l) / D_l, summed over the leaves below p from the bottom up.
  for (std::size_t i = internal_.size(); i-- > 0;) {
    const NodeId node = internal_[i], parent = tree_->parent[at(node)];
    const double* sums = sums_.data() + at(node) * K;
    const double* own = frequencies_.data() + at(node) * K;
    double sum = totals_[at(node)];
    for (std::size_t k = 0; k < K; ++k) sum -= sums[k] * own[k];
    gradient[at(node)] = sum / divisor_;
    if (parent < 0) continue;
    totals_[at(parent)] += totals_[at(node)];
    for (std::size_t k = 0; k < K; ++k) sums_[at(parent) * K + k] += sums[k];
  }
  return cost / divisor_;
}

}  // namespace petiole
