#include "soft/tree.hpp"

#include <algorithm>
#include <numeric>

namespace petiole {

SoftTree::SoftTree(const Tree& tree) : category_branch_(tree.category_branch) {
  const auto n_classes = static_cast<std::size_t>(tree.n_classes);
  const auto weight_of = [&](NodeId node) {
    const auto at = static_cast<std::size_t>(node);
    if (!tree.spread_weights.empty()) return tree.spread_weights[at];
    const double* counts = tree.counts.data() + at * n_classes;
    return std::accumulate(counts, counts + n_classes, 0.0);
  };
  std::vector<LeafId> leaf_index;
  for (const std::int32_t feature : tree.feature) leaf_index.push_back(feature < 0 ? static_cast<LeafId>(n_leaves_++) : -1);
  nodes_.resize(tree.n_nodes());
  share_.assign(tree.n_nodes(), 1.0);
  parent_.assign(tree.n_nodes(), -1);
  std::vector<NodeId> original{0};
  std::vector<std::int32_t> pending{0};
  while (!pending.empty()) {
    const std::int32_t here = pending.back();
    pending.pop_back();
    const auto id = static_cast<std::size_t>(original[static_cast<std::size_t>(here)]);
    const std::int32_t begin = tree.child_start[id], n_children = tree.child_start[id + 1] - begin;
    const auto first = static_cast<std::int32_t>(original.size());
    nodes_[static_cast<std::size_t>(here)] = {tree.threshold[id],
                                              tree.feature[id],
                                              first,
                                              n_children,
                                              tree.missing_branch[id],
                                              tree.category_start[id],
                                              tree.category_start[id + 1] - tree.category_start[id],
                                              leaf_index[id]};
    n_features_needed_ = std::max(n_features_needed_, tree.feature[id] + 1);
    double total = 0;
    for (std::int32_t c = 0; c < n_children; ++c) {
      original.push_back(tree.child_nodes[static_cast<std::size_t>(begin + c)]);
      total += weight_of(original.back());
    }
    for (std::int32_t c = 0; c < n_children; ++c) {
      const auto child = static_cast<std::size_t>(first + c);
      share_[child] = total > 0 ? weight_of(original[child]) / total : 1.0 / n_children;
      parent_[child] = here;
    }
    for (std::int32_t c = n_children; c-- > 0;) pending.push_back(first + c);
  }
  find_repeated_tests();
  set_bounds();
}

// Calls enter(node) on the way down and leave(node) on the way up.
template <class Enter, class Leave>
void SoftTree::over_paths(Enter&& enter, Leave&& leave) const {
  std::vector<std::int32_t> pending{0};  // ~node: leave it
  while (!pending.empty()) {
    const std::int32_t at = pending.back();
    pending.pop_back();
    if (at < 0) {
      leave(~at);
      continue;
    }
    enter(at);
    pending.push_back(~at);
    for (std::int32_t c = node(at).n_children; c-- > 0;) pending.push_back(node(at).first_child + c);
  }
}

void SoftTree::find_repeated_tests() {
  std::vector<std::int32_t> last(static_cast<std::size_t>(n_features_needed_), -1), earlier(nodes_.size(), -1);
  int level = -1;
  over_paths(
      [&](std::int32_t at) {
        depth_ = std::max(depth_, ++level);
        if (at > 0)
          earlier[static_cast<std::size_t>(at)] = std::exchange(last[static_cast<std::size_t>(parent(at).feature)], at);
        Node& here = nodes_[static_cast<std::size_t>(at)];
        if (here.n_children > 0) here.last = last[static_cast<std::size_t>(here.feature)];
      },
      [&](std::int32_t at) {
        --level;
        if (at > 0) last[static_cast<std::size_t>(parent(at).feature)] = earlier[static_cast<std::size_t>(at)];
      });
}

void SoftTree::set_bounds() {
  for (Node& here : nodes_) {  // parents come before their children
    here.inner_threshold = here.threshold;
    if (here.n_children == 0 || here.n_categories > 0 || here.last < 0) continue;
    const Node& above = parent(here.last);
    here.low = above.low;
    here.high = above.high;
    if (here.last == above.first_child)
      here.high = above.inner_threshold;
    else if (here.last == above.first_child + 1)
      here.low = above.inner_threshold;
    here.inner_threshold = std::clamp(here.threshold, here.low, here.high);
  }
}

SoftTree::Drawn SoftTree::drawn(const Perturbation& perturbation) const {
  Drawn found;
  const auto swaps = [&](const Node& n) {
    return n.n_categories > 0 && perturbation.swap_of(static_cast<std::size_t>(n.feature)) > 0;
  };
  if (std::none_of(nodes_.begin(), nodes_.end(), swaps)) return found;
  found.before.assign(nodes_.size(), 1.0);
  found.after.assign(nodes_.size(), 1.0);
  // Per feature and category: the share of it that has come to where we are.
  std::vector<std::vector<double>> here(static_cast<std::size_t>(n_features_needed_));
  std::vector<std::vector<double>> earlier;
  const auto parent_that_swaps = [&](std::int32_t at) -> const Node* {
    if (at == 0) return nullptr;
    return swaps(parent(at)) ? &parent(at) : nullptr;
  };
  over_paths(
      [&](std::int32_t at) {
        if (const Node* above = parent_that_swaps(at)) {
          const auto feature = static_cast<std::size_t>(above->feature);
          const auto& frequencies = perturbation.frequencies[feature];
          auto& shares = here[feature];
          earlier.push_back(shares);
          if (shares.empty() || perturbation.independent_tests) shares.assign(frequencies.size(), 1.0);
          for (std::size_t k = 0; k < shares.size(); ++k) shares[k] *= share_of_category(*above, at - above->first_child, k);
          found.after[static_cast<std::size_t>(at)] =
              std::inner_product(shares.begin(), shares.end(), frequencies.begin(), 0.0);
        }
        const Node& now = node(at);
        if (!swaps(now) || perturbation.independent_tests) return;
        const auto feature = static_cast<std::size_t>(now.feature);
        const auto& shares = here[feature];
        if (!shares.empty())
          found.before[static_cast<std::size_t>(at)] =
              std::inner_product(shares.begin(), shares.end(), perturbation.frequencies[feature].begin(), 0.0);
      },
      [&](std::int32_t at) {
        if (const Node* above = parent_that_swaps(at)) {
          here[static_cast<std::size_t>(above->feature)] = std::move(earlier.back());
          earlier.pop_back();
        }
      });
  return found;
}

}  // namespace petiole
