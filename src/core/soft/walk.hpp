// Sends a block of perturbed rows down a tree: nodes in the outer loop, the rows that have a share in them inside.
//
// A list of entries (row, mass) goes to each node that some row reaches, and is divided among its children. What a path has
// tested before is a property of the node, so entries carry no more than that.
//
// A negligible branch is not entered; its mass goes to the heaviest sibling. Negligible is a mass below a / n_leaves plus
// b / depth times the mass that enters the node. In all no more than a + b goes the wrong way: branches that are not entered
// are disjoint, so there are at most n_leaves of them, and the masses that enter nodes sum to the mean length of a path.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/interrupt.hpp"
#include "base/normal_cdf.hpp"
#include "soft/tree.hpp"

namespace petiole {

// Rows side by side, feature after feature.
struct RowBlock {
  std::size_t n = 0;
  std::size_t capacity = 0;
  std::vector<double> values;
  std::vector<std::uint8_t> has_missing;  // per feature

  const double* column(std::size_t feature) const { return values.data() + feature * capacity; }
};

inline constexpr double kLargest = std::numeric_limits<double>::max();

inline void load(const Matrix& queries, std::int64_t begin, std::size_t n, std::size_t n_features, RowBlock& block) {
  block.n = n;
  block.capacity = std::max(block.capacity, n);
  block.values.resize(n_features * block.capacity);
  block.has_missing.assign(n_features, 0);
  queries.visit([&](const auto* data) {
    for (std::size_t f = 0; f < n_features; ++f) {
      double* to = block.values.data() + f * block.capacity;
      const auto* from = data + begin * queries.row_stride + static_cast<std::int64_t>(f) * queries.column_stride;
      bool missing = false;
      for (std::size_t r = 0; r < n; ++r) {
        // An infinite value would be at no distance from an infinite threshold.
        to[r] = std::clamp(static_cast<double>(from[static_cast<std::int64_t>(r) * queries.row_stride]), -kLargest, kLargest);
        missing |= std::isnan(to[r]);
      }
      block.has_missing[f] = missing;
    }
  });
}

// With kSlopes also the derivative of the answers by the logarithm of each feature's scale.
template <bool kSlopes>
class SoftWalker {
 public:
  // Calls sink(leaf, rows, masses, n, values) for the leaves that rows of the block reach. With kSlopes the sink writes to
  // `values` the answer of the leaf for each entry times its mass; slopes() then has the derivatives of their sums.
  template <class Sink>
  void walk(const SoftTree& tree, const SoftTree::Drawn& drawn, const Perturbation& perturbation, const RowBlock& block,
            const std::vector<std::int32_t>& rows, Interrupt& interrupt, Sink&& sink) {
    if (rows.empty()) return;
    tree_ = &tree;
    drawn_ = &drawn;
    perturbation_ = &perturbation;
    block_ = &block;
    const double half = 0.5 * perturbation.tolerance;
    cut_share_ = half / std::max(1, tree.depth());
    set_cut(std::max(half / static_cast<double>(tree.n_leaves()), kLeastCut));
    start(rows);
    if (tree.node(0).n_children == 0) return visit_leaf(tree.node(0), {0, rows.size()}, sink);
    enter(0, {0, rows.size()}, interrupt);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const SoftTree::Node& node = tree.node(frame.node);
      if (frame.next_child == node.n_children) {
        top_ = frame.top;
        lists_.resize(frame.lists);
        frames_.pop_back();
        if constexpr (kSlopes)
          if (!frames_.empty()) collect(tree.node(frames_.back().node), lists_[frames_.back().last_list()]);
        continue;
      }
      const std::int32_t child = node.first_child + frame.next_child++;
      const List list = lists_[frame.last_list()];
      if (list.begin == list.end) continue;
      if (tree.node(child).n_children > 0) {
        enter(child, list, interrupt);
        continue;
      }
      visit_leaf(tree.node(child), list, sink);
      if constexpr (kSlopes) collect(node, list);
    }
  }

  // Per feature and row, `capacity` of the block apart; zero before the first walk of a block.
  std::vector<double>& slopes() { return slopes_; }

 private:
  static constexpr double kLeastCut = 1e-12;  // below this there is only rounding
  static constexpr double kTiny = 1e-300;

  // Where the entries of a list are.
  struct List {
    std::size_t begin, end;
    std::size_t size() const { return end - begin; }
  };

  struct Frame {
    std::int32_t node;
    std::int32_t next_child;
    std::size_t lists;  // where its children's lists are in lists_
    std::size_t top;    // where these begin
    std::size_t last_list() const { return lists + static_cast<std::size_t>(next_child) - 1; }
  };

  void set_cut(double cut) {
    if (cut == cut_) return;
    cut_ = cut;
    for (far_ = 0; far_ < kFarNormal && normal_cdf(-far_) >= cut; far_ += 0.0625) continue;
  }

  void start(const std::vector<std::int32_t>& rows) {
    frames_.clear();
    lists_.clear();
    make_room(rows.size());
    std::copy(rows.begin(), rows.end(), row_.begin());
    std::fill_n(mass_.begin(), rows.size(), 1.0);
    top_ = rows.size();
    if constexpr (kSlopes) std::fill_n(value_.begin(), rows.size(), 0.0);
  }

  void make_room(std::size_t size) {
    if (row_.size() >= size) return;
    size = std::max(size, 2 * row_.size());
    row_.resize(size);
    mass_.resize(size);
    if constexpr (kSlopes) {
      above_.resize(size);
      log_slope_.resize(size);
      value_.resize(size);
    }
  }

  template <class Sink>
  void visit_leaf(const SoftTree::Node& node, List list, Sink& sink) {
    double* values = nullptr;
    if constexpr (kSlopes) values = value_.data() + list.begin;
    sink(node.leaf, row_.data() + list.begin, mass_.data() + list.begin, list.size(), values);
  }

  // Makes the lists of a node's children.
  void enter(std::int32_t at, List list, Interrupt& interrupt) {
    const SoftTree::Node& node = tree_->node(at);
    frames_.push_back({at, 0, lists_.size(), top_});
    interrupt.check(4 * list.size() * static_cast<std::size_t>(node.n_children));
    // Which way it goes must not depend on the other rows of the block: the two round differently.
    const bool simple = node.n_categories == 0 && node.n_children == 2;
    if (kSlopes || !simple) return divide(node, at, list);
    if (!remembers(node)) return halve<false, false>(node, list);
    if (std::isinf(node.high)) return halve<true, false>(node, list);
    if (std::isinf(node.low)) return halve<false, true>(node, list);
    return halve<true, true>(node, list);
  }

  // Whether earlier tests on the node's feature count.
  bool remembers(const SoftTree::Node& node) const { return node.last >= 0 && !perturbation_->independent_tests; }

  // A number that is no category is one that no node has met.
  static std::size_t category_of(double x) {
    return x >= 0 && x < 2147483647.0 ? static_cast<std::size_t>(x) : std::numeric_limits<std::size_t>::max();
  }

  // Entries that are still to be divided, and what is known of them.
  struct Near {
    std::vector<std::int32_t> entry;  // of the list
    std::vector<double> distance, below, low, high;
    void make_room(std::size_t n) {
      if (entry.size() >= n) return;
      entry.resize(n);
      for (auto* one : {&distance, &below, &low, &high}) one->resize(n);
    }
  };

  // The quick case: a threshold. First the rows that are too far from the threshold to be divided, then the others,
  // then those with a missing value. Entries are written to both lists, and where they do not belong they are
  // overwritten by the next: there is no branch to foresee.
  template <bool kLow, bool kHigh>
  void halve(const SoftTree::Node& node, List list) {
    const std::size_t n = list.size();
    make_room(top_ + 2 * n + 2);
    near_.make_room(n + 1);
    List left{top_, top_}, right{top_ + n + 1, top_ + n + 1};
    std::size_t n_near = send_far_rows(node, kLow || kHigh ? node.inner_threshold : node.threshold, list, left, right);
    missing_.clear();
    if (block_->has_missing[static_cast<std::size_t>(node.feature)]) n_near = set_missing_apart(n_near);
    const double threshold = node.inner_threshold, inverse = 1 / perturbation_->scale[static_cast<std::size_t>(node.feature)];
    const double* const distance = near_.distance.data();
    normal_cdf(distance, n_near, 0.0, near_.below.data());
    if constexpr (kLow) normal_cdf(distance, n_near, (node.low - threshold) * inverse, near_.low.data());
    if constexpr (kHigh) normal_cdf(distance, n_near, (node.high - threshold) * inverse, near_.high.data());
    divide_near_rows<kLow, kHigh>(n_near, list, left, right);
    divide_missing_rows(node, list, left, right);
    lists_.push_back(left);
    lists_.push_back(right);
    top_ = right.end;
  }

  // Beyond `far_` standard deviations there is less than the cut. That holds also of a row that was tested before: its mass
  // is at most the probability of what it has passed.
  std::size_t send_far_rows(const SoftTree::Node& node, double threshold, List list, List& to_left, List& to_right) {
    const std::size_t n = list.size();
    const auto feature = static_cast<std::size_t>(node.feature);
    const double* x = block_->column(feature);
    const double inverse = 1 / perturbation_->scale[feature], far = far_;
    std::int32_t *const rows = row_.data(), *const near_entry = near_.entry.data();
    double *const masses = mass_.data(), *const distance = near_.distance.data();
    if (std::isfinite(inverse)) {
      standardise(x, rows + list.begin, n, threshold, inverse, distance);
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        const double value = x[rows[list.begin + i]];
        distance[i] = std::isnan(value) ? value : value <= threshold ? 2 * kFarNormal : -2 * kFarNormal;
      }
    }
    std::size_t left = to_left.end, right = to_right.end, n_near = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double mass = masses[list.begin + i], z = distance[i];
      const std::size_t is_left = z > far, is_right = z < -far;
      rows[left] = rows[right] = rows[list.begin + i];
      masses[left] = masses[right] = mass;
      left += is_left;
      right += is_right;
      near_entry[n_near] = static_cast<std::int32_t>(i);
      distance[n_near] = z;
      n_near += 1 - is_left - is_right;
    }
    to_left.end = left;
    to_right.end = right;
    return n_near;
  }

  // Moves the entries with a missing value, whose distance is not a number, from the near ones to `missing_`.
  std::size_t set_missing_apart(std::size_t n_near) {
    std::size_t n_known = 0;
    for (std::size_t i = 0; i < n_near; ++i) {
      if (std::isnan(near_.distance[i])) {
        missing_.push_back(near_.entry[i]);
        continue;
      }
      near_.entry[n_known] = near_.entry[i];
      near_.distance[n_known++] = near_.distance[i];
    }
    return n_known;
  }

  void divide_missing_rows(const SoftTree::Node& node, List list, List& left, List& right) {
    parts_.resize(2);
    for (const std::int32_t i : missing_) {
      const std::size_t entry = list.begin + static_cast<std::size_t>(i);
      spread_missing(node, 0, 1);
      move_negligible(mass_[entry], 0, 1, 2);
      for (const std::size_t c : {std::size_t{0}, std::size_t{1}}) {
        if (parts_[c] <= 0) continue;
        std::size_t& end = (c == 0 ? left : right).end;
        row_[end] = row_[entry];
        mass_[end++] = parts_[c];
      }
    }
  }

  template <bool kLow, bool kHigh>
  void divide_near_rows(std::size_t n_near, List list, List& to_left, List& to_right) {
    std::int32_t *const rows = row_.data(), *const near_entry = near_.entry.data();
    double* const masses = mass_.data();
    const double *const below = near_.below.data(), *const of_low = near_.low.data(), *const of_high = near_.high.data();
    const double cut_fixed = cut_, cut_share = cut_share_;
    std::size_t left = to_left.end, right = to_right.end;
    for (std::size_t i = 0; i < n_near; ++i) {
      const std::size_t entry = list.begin + static_cast<std::size_t>(near_entry[i]);
      const double mass = masses[entry], cut = cut_fixed + cut_share * mass;
      double share = below[i];
      if constexpr (kLow || kHigh) {
        const double low = kLow ? of_low[i] : 0.0, high = kHigh ? of_high[i] : 1.0;
        share = std::clamp((share - low) / std::max(high - low, kTiny), 0.0, 1.0);
      }
      const double for_left = mass * share, for_right = mass - for_left;
      const std::size_t goes_left = (for_left >= cut) | (for_left >= for_right);
      const std::size_t goes_right = (for_right >= cut) | (for_right > for_left);
      rows[left] = rows[right] = rows[entry];
      masses[left] = for_left + static_cast<double>(1 - goes_right) * for_right;
      masses[right] = for_right + static_cast<double>(1 - goes_left) * for_left;
      left += goes_left;
      right += goes_right;
    }
    to_left.end = left;
    to_right.end = right;
  }

  // The general case: the share of each child for each entry, then what is too small is moved, then the lists.
  void divide(const SoftTree::Node& node, std::int32_t at, List list) {
    const std::size_t n = list.size(), n_children = static_cast<std::size_t>(node.n_children);
    parts_.resize(n_children * n);
    if constexpr (kSlopes) part_slopes_.assign(n_children * n, 0.0);
    const double* x = block_->column(static_cast<std::size_t>(node.feature));
    for (std::size_t i = 0; i < n; ++i) {
      const double value = x[row_[list.begin + i]];
      if (std::isnan(value))
        spread_missing(node, i, n);
      else if (node.n_categories > 0)
        divide_category(node, at, category_of(value), i, n);
      else
        divide_number(node, value, i, n);
      move_negligible(mass_[list.begin + i], i, n, n_children);
    }
    for (std::size_t c = 0; c < n_children; ++c) {
      make_room(top_ + n);
      const std::size_t begin = top_;
      for (std::size_t i = 0; i < n; ++i) {
        if (parts_[c * n + i] <= 0) continue;
        row_[top_] = row_[list.begin + i];
        mass_[top_] = parts_[c * n + i];
        if constexpr (kSlopes) {
          above_[top_] = list.begin + i;
          value_[top_] = 0;
          log_slope_[top_] = mass_[top_] == mass_[list.begin + i] ? 0.0 : part_slopes_[c * n + i];
        }
        ++top_;
      }
      lists_.push_back({begin, top_});
    }
  }

  void spread_missing(const SoftTree::Node& node, std::size_t i, std::size_t n) {
    for (std::int32_t c = 0; c < node.n_children; ++c)
      parts_[static_cast<std::size_t>(c) * n + i] =
          node.missing_branch < 0 ? tree_->share(node.first_child + c) : static_cast<double>(c == node.missing_branch);
  }

  // The distribution function of the noise at a bound, and its derivative by the logarithm of the scale.
  struct Below {
    double chance, slope;
  };
  Below below(double bound, double x, double inverse) const {
    if (!std::isfinite(inverse)) return {static_cast<double>(x <= bound), 0.0};
    const double z = (bound - x) * inverse;
    if (std::abs(z) >= kFarNormal) return {static_cast<double>(z > 0), 0.0};
    return {normal_cdf(z), kSlopes ? -z * normal_density(z) : 0.0};
  }

  void divide_number(const SoftTree::Node& node, double x, std::size_t i, std::size_t n) {
    const double inverse = 1 / perturbation_->scale[static_cast<std::size_t>(node.feature)];
    const bool all = !remembers(node);
    const Below low = all ? Below{0, 0} : below(node.low, x, inverse),
                here = below(all ? node.threshold : node.inner_threshold, x, inverse);
    const Below high = all ? Below{1, 0} : below(node.high, x, inverse);
    const double whole = std::max(high.chance - low.chance, kTiny);
    parts_[i] = std::clamp((here.chance - low.chance) / whole, 0.0, 1.0);
    parts_[n + i] = 1 - parts_[i];
    if (node.n_children == 3) parts_[2 * n + i] = 0;
    if constexpr (kSlopes) {
      const double of_whole = (high.slope - low.slope) / whole;
      part_slopes_[i] = (here.slope - low.slope) / std::max(here.chance - low.chance, kTiny) - of_whole;
      part_slopes_[n + i] = (high.slope - here.slope) / std::max(high.chance - here.chance, kTiny) - of_whole;
    }
  }

  void divide_category(const SoftTree::Node& node, std::int32_t at, std::size_t category, std::size_t i, std::size_t n) {
    const double swap = drawn_->before.empty() ? 0.0 : perturbation_->swap_of(static_cast<std::size_t>(node.feature));
    const double kept = (1 - swap) * (remembers(node) ? tree_->share_before(node, category) : 1.0);
    const double all = kept + (swap > 0 ? swap * drawn_->before[static_cast<std::size_t>(at)] : 0.0);
    for (std::int32_t c = 0; c < node.n_children; ++c) {
      double part = kept * tree_->share_of_category(node, c, category);
      if (swap > 0) part += swap * drawn_->after[static_cast<std::size_t>(node.first_child + c)];
      parts_[static_cast<std::size_t>(c) * n + i] = part / std::max(all, kTiny);
    }
  }

  // From shares to masses; those below the cut go to the largest.
  void move_negligible(double mass, std::size_t i, std::size_t n, std::size_t n_children) {
    const double cut = cut_ + cut_share_ * mass;
    std::size_t largest = 0;
    double moved = 0;
    for (std::size_t c = 0; c < n_children; ++c)
      if (parts_[c * n + i] > parts_[largest * n + i]) largest = c;
    for (std::size_t c = 0; c < n_children; ++c) {
      double& part = parts_[c * n + i];
      part *= mass;
      if (c == largest || part >= cut) continue;
      moved += part;
      part = 0;
    }
    parts_[largest * n + i] += moved;
  }

  // Adds the answers of a child's entries to those of the node.
  void collect(const SoftTree::Node& node, List list) {
    double* slopes = slopes_.data() + static_cast<std::size_t>(node.feature) * block_->capacity;
    for (std::size_t i = list.begin; i < list.end; ++i) {
      value_[above_[i]] += value_[i];
      slopes[row_[i]] += value_[i] * log_slope_[i];
    }
  }

  const SoftTree* tree_ = nullptr;
  const SoftTree::Drawn* drawn_ = nullptr;
  const Perturbation* perturbation_ = nullptr;
  const RowBlock* block_ = nullptr;
  double cut_ = 0, cut_share_ = 0;
  double far_ = 0;
  std::vector<Frame> frames_;
  std::vector<List> lists_;
  std::size_t top_ = 0;
  // Entries, list after list.
  std::vector<std::int32_t> row_;
  std::vector<double> mass_;
  std::vector<std::size_t> above_;
  std::vector<double> log_slope_, value_;
  std::vector<double> slopes_;  // per feature and row
  Near near_;
  std::vector<std::int32_t> missing_;  // entries of the list
  std::vector<double> parts_, part_slopes_;
};

}  // namespace petiole
