// Which features may be tested at a node, if those of a path must be in one group.
#pragma once

#include <map>
#include <numeric>
#include <vector>

#include "base/types.hpp"

namespace petiole {

class Interactions {
 public:
  // What has been tested on the way to a node, as far as it matters: the groups that have all of it. 0 at the root.
  using Path = std::uint32_t;

  Interactions(const std::vector<std::vector<std::int32_t>>& groups, std::size_t n_features)
      : groups_(groups), n_features_(n_features) {
    if (groups_.empty()) return;
    std::vector<std::uint32_t> all(groups_.size());
    std::iota(all.begin(), all.end(), 0u);
    number_of(std::move(all));
  }

  bool any() const { return !groups_.empty(); }
  bool allows(Path path, std::int32_t feature) const {
    return !any() || states_[path].allowed[static_cast<std::size_t>(feature)] != 0;
  }

  // The path below a split at a feature.
  Path after(Path path, std::int32_t feature) {
    if (!any()) return 0;
    const auto known = states_[path].next.find(feature);
    if (known != states_[path].next.end()) return known->second;
    std::vector<std::uint32_t> left;
    for (const std::uint32_t group : states_[path].groups)
      for (const std::int32_t member : groups_[group])
        if (member == feature) {
          left.push_back(group);
          break;
        }
    const Path next = number_of(std::move(left));
    states_[path].next[feature] = next;
    return next;
  }

 private:
  struct State {
    std::vector<std::uint32_t> groups;
    std::vector<std::uint8_t> allowed;  // by feature
    std::map<std::int32_t, Path> next;
  };

  Path number_of(std::vector<std::uint32_t>&& groups) {
    const auto [known, is_new] = numbers_.try_emplace(groups, static_cast<Path>(states_.size()));
    if (is_new) {
      State state{std::move(groups), std::vector<std::uint8_t>(n_features_, 0), {}};
      for (const std::uint32_t group : state.groups)
        for (const std::int32_t feature : groups_[group]) state.allowed[static_cast<std::size_t>(feature)] = 1;
      states_.push_back(std::move(state));
    }
    return known->second;
  }

  const std::vector<std::vector<std::int32_t>>& groups_;
  std::size_t n_features_;
  std::vector<State> states_;
  std::map<std::vector<std::uint32_t>, Path> numbers_;
};

}  // namespace petiole
