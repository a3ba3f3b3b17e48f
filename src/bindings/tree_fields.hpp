// One field of all trees as one array, and back. A forest, or counts that belong to one, is whatever has `trees`.
#pragma once

#include <string>

#include "forest/forest.hpp"
#include "ndarray.hpp"

namespace petiole::bindings {

inline nb::object codes_to_numpy(std::vector<std::uint32_t>&& values, int width) {
  if (width == 4) return to_numpy(std::move(values));
  if (width == 2) return to_numpy(std::vector<std::uint16_t>(values.begin(), values.end()));
  return to_numpy(std::vector<std::uint8_t>(values.begin(), values.end()));
}

template <class Trees, class F>
void join_codes(nb::dict& state, const char* name, const Trees& forest, F&& field) {
  std::vector<std::uint32_t> values, sizes;
  int width = 1;
  for (const auto& tree : forest.trees) {
    const Codes& codes = field(tree);
    sizes.push_back(static_cast<std::uint32_t>(codes.size()));
    if (codes.empty()) continue;
    width = std::max(width, codes.width());
    codes.visit([&](const auto* data) { values.insert(values.end(), data, data + codes.size()); });
  }
  state[name] = codes_to_numpy(std::move(values), width);
  state[(std::string(name) + "_size").c_str()] = to_numpy(std::move(sizes));
}

template <class T, class Trees, class F>
void join_numbers(nb::dict& state, const char* name, const Trees& forest, F&& field) {
  std::vector<T> values;
  std::vector<std::uint32_t> sizes;
  for (const auto& tree : forest.trees) {
    const std::vector<T>& numbers = field(tree);
    sizes.push_back(static_cast<std::uint32_t>(numbers.size()));
    values.insert(values.end(), numbers.begin(), numbers.end());
  }
  state[name] = to_numpy(std::move(values));
  state[(std::string(name) + "_size").c_str()] = to_numpy(std::move(sizes));
}

// Calls take(tree, first, size) for the part of each tree.
template <class F>
void split_by_size(const nb::dict& state, const char* name, std::size_t n_values, std::size_t n_trees, F&& take) {
  const auto sizes = nb::cast<Vector<std::uint32_t>>(state[(std::string(name) + "_size").c_str()]);
  if (sizes.shape(0) != n_trees) throw nb::value_error((std::string(name) + "_size: must have one entry per tree").c_str());
  std::size_t at = 0;
  for (std::size_t t = 0; t < n_trees; ++t) {
    const std::size_t size = sizes.data()[t];
    if (size > n_values - at) throw nb::value_error((std::string(name) + ": too short").c_str());
    take(t, at, size);
    at += size;
  }
  if (at != n_values) throw nb::value_error((std::string(name) + ": too long").c_str());
}

inline std::vector<Codes> split_codes(const nb::dict& state, const char* name, std::size_t n_trees) {
  std::vector<Codes> codes(n_trees);
  const auto split = [&]<class T>(const Vector<T>& array) {
    split_by_size(state, name, array.shape(0), n_trees, [&](std::size_t t, std::size_t at, std::size_t size) {
      codes[t] = to_codes(std::vector<T>(array.data() + at, array.data() + at + size));
    });
  };
  Vector<std::uint8_t> narrow;
  Vector<std::uint16_t> middle;
  if (nb::try_cast(state[name], narrow, false)) split(narrow);
  else if (nb::try_cast(state[name], middle, false)) split(middle);
  else split(nb::cast<Vector<std::uint32_t>>(state[name]));
  return codes;
}

template <class T>
std::vector<std::vector<T>> split_numbers(const nb::dict& state, const char* name, std::size_t n_trees) {
  std::vector<std::vector<T>> numbers(n_trees);
  const auto array = nb::cast<Vector<T>>(state[name]);
  split_by_size(state, name, array.shape(0), n_trees, [&](std::size_t t, std::size_t at, std::size_t size) {
    numbers[t].assign(array.data() + at, array.data() + at + size);
  });
  return numbers;
}

template <class Trees, class OfTree>
void join_counts(nb::dict& state, const std::string& name, const Trees& forest, LeafCounts OfTree::*counts) {
  join_codes(state, (name + "_entries").c_str(), forest, [=](const OfTree& t) -> const Codes& { return (t.*counts).n_entries(); });
  join_codes(state, (name + "_class").c_str(), forest, [=](const OfTree& t) -> const Codes& { return (t.*counts).classes(); });
  join_codes(state, (name + "_whole").c_str(), forest, [=](const OfTree& t) -> const Codes& { return (t.*counts).whole(); });
  join_numbers<double>(state, (name + "_real").c_str(), forest,
                       [=](const OfTree& t) -> const std::vector<double>& { return (t.*counts).real(); });
}

template <class Trees, class OfTree>
void split_counts(const nb::dict& state, const std::string& name, Trees& forest, LeafCounts OfTree::*counts) {
  const std::size_t n = forest.trees.size();
  auto entries = split_codes(state, (name + "_entries").c_str(), n);
  auto classes = split_codes(state, (name + "_class").c_str(), n);
  auto whole = split_codes(state, (name + "_whole").c_str(), n);
  auto real = split_numbers<double>(state, (name + "_real").c_str(), n);
  for (std::size_t t = 0; t < n; ++t)
    forest.trees[t].*counts = LeafCounts(std::move(entries[t]), std::move(classes[t]), std::move(whole[t]), std::move(real[t]));
}

}  // namespace petiole::bindings
