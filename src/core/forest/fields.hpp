// One field of all trees of a forest as one array with the number of its values per tree, and back: the way a forest is
// saved. A forest, or counts that belong to one, is whatever has `trees`.
#pragma once

#include <span>
#include <string>

#include "forest/forest.hpp"

namespace petiole {

struct JoinedCodes {
  std::vector<std::uint32_t> values;
  int width = 1;                     // bytes that hold any of them
  std::vector<std::uint32_t> sizes;  // per tree
};

// field(tree) is a `const Codes&`.
template <class Trees, class F>
JoinedCodes join_codes(const Trees& forest, F&& field) {
  JoinedCodes all;
  for (const auto& tree : forest.trees) {
    const Codes& codes = field(tree);
    all.sizes.push_back(static_cast<std::uint32_t>(codes.size()));
    if (codes.empty()) continue;
    all.width = std::max(all.width, codes.width());
    codes.visit([&](const auto* data) { all.values.insert(all.values.end(), data, data + codes.size()); });
  }
  return all;
}

template <class T>
struct JoinedNumbers {
  std::vector<T> values;
  std::vector<std::uint32_t> sizes;  // per tree
};

// field(tree) is a `const std::vector<T>&`.
template <class T, class Trees, class F>
JoinedNumbers<T> join_numbers(const Trees& forest, F&& field) {
  JoinedNumbers<T> all;
  for (const auto& tree : forest.trees) {
    const std::vector<T>& numbers = field(tree);
    all.sizes.push_back(static_cast<std::uint32_t>(numbers.size()));
    all.values.insert(all.values.end(), numbers.begin(), numbers.end());
  }
  return all;
}

// Calls take(tree, first, size) for the part of each tree. Throws std::invalid_argument unless the parts are all there
// is.
template <class F>
void split_by_size(std::span<const std::uint32_t> sizes, std::size_t n_values, const std::string& name, F&& take) {
  std::size_t at = 0;
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    if (sizes[t] > n_values - at) throw std::invalid_argument(name + ": too short");
    take(t, at, std::size_t{sizes[t]});
    at += sizes[t];
  }
  if (at != n_values) throw std::invalid_argument(name + ": too long");
}

// The values of each tree, packed.
template <class T>
std::vector<Codes> split_codes(std::span<const T> values, std::span<const std::uint32_t> sizes, const std::string& name) {
  std::vector<Codes> codes(sizes.size());
  split_by_size(sizes, values.size(), name, [&](std::size_t t, std::size_t at, std::size_t size) {
    codes[t] = to_codes(std::vector<T>(values.data() + at, values.data() + at + size));
  });
  return codes;
}

// The values of each tree as they are.
template <class T>
std::vector<std::vector<T>> split_numbers(std::span<const T> values, std::span<const std::uint32_t> sizes,
                                          const std::string& name) {
  std::vector<std::vector<T>> numbers(sizes.size());
  split_by_size(sizes, values.size(), name, [&](std::size_t t, std::size_t at, std::size_t size) {
    numbers[t].assign(values.data() + at, values.data() + at + size);
  });
  return numbers;
}

// Gives each tree its own.
template <class Trees, class OfTree, class T>
void hand_out(Trees& forest, std::vector<T>&& values, T OfTree::* field) {
  for (std::size_t t = 0; t < values.size(); ++t) forest.trees[t].*field = std::move(values[t]);
}

// Gives each tree the counts that these parts make up.
template <class Trees, class OfTree>
void hand_out_counts(Trees& forest, LeafCounts OfTree::* counts, std::vector<Codes>&& n_entries, std::vector<Codes>&& classes,
                     std::vector<Codes>&& whole, std::vector<std::vector<double>>&& real) {
  for (std::size_t t = 0; t < forest.trees.size(); ++t)
    forest.trees[t].*counts =
        LeafCounts(std::move(n_entries[t]), std::move(classes[t]), std::move(whole[t]), std::move(real[t]));
}

}  // namespace petiole
