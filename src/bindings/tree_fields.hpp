// The fields of all trees as NumPy arrays by name, and back; each `name` has a `name_size` with the values per tree.
#pragma once

#include "forest/fields.hpp"
#include "ndarray.hpp"

namespace petiole::bindings {

inline std::string size_name(const std::string& name) { return name + "_size"; }

inline nb::object codes_to_numpy(std::vector<std::uint32_t>&& values, int width) {
  if (width == 4) return to_numpy(std::move(values));
  if (width == 2) return to_numpy(std::vector<std::uint16_t>(values.begin(), values.end()));
  return to_numpy(std::vector<std::uint8_t>(values.begin(), values.end()));
}

template <class Trees, class F>
void store_codes(nb::dict& state, const std::string& name, const Trees& forest, F&& field) {
  JoinedCodes all = join_codes(forest, field);
  state[name.c_str()] = codes_to_numpy(std::move(all.values), all.width);
  state[size_name(name).c_str()] = to_numpy(std::move(all.sizes));
}

template <class T, class Trees, class F>
void store_numbers(nb::dict& state, const std::string& name, const Trees& forest, F&& field) {
  JoinedNumbers<T> all = join_numbers<T>(forest, field);
  state[name.c_str()] = to_numpy(std::move(all.values));
  state[size_name(name).c_str()] = to_numpy(std::move(all.sizes));
}

// How many values of a field each tree has.
inline Vector<std::uint32_t> sizes_of(const nb::dict& state, const std::string& name, std::size_t n_trees) {
  auto sizes = nb::cast<Vector<std::uint32_t>>(state[size_name(name).c_str()]);
  if (sizes.shape(0) != n_trees) throw nb::value_error((size_name(name) + ": must have one entry per tree").c_str());
  return sizes;
}

inline std::vector<Codes> load_codes(const nb::dict& state, const std::string& name, std::size_t n_trees) {
  const auto sizes = sizes_of(state, name, n_trees);
  const auto split = [&]<class T>(const Vector<T>& array) { return split_codes(as_span(array), as_span(sizes), name); };
  const nb::object array = state[name.c_str()];
  Vector<std::uint8_t> narrow;
  Vector<std::uint16_t> middle;
  if (nb::try_cast(array, narrow, false)) return split(narrow);
  if (nb::try_cast(array, middle, false)) return split(middle);
  return split(nb::cast<Vector<std::uint32_t>>(array));
}

template <class T>
std::vector<std::vector<T>> load_numbers(const nb::dict& state, const std::string& name, std::size_t n_trees) {
  const auto array = nb::cast<Vector<T>>(state[name.c_str()]);
  return split_numbers(as_span(array), as_span(sizes_of(state, name, n_trees)), name);
}

template <class Trees, class OfTree>
void store_counts(nb::dict& state, const std::string& name, const Trees& forest, LeafCounts OfTree::* counts) {
  store_codes(state, name + "_entries", forest, [=](const OfTree& t) -> const Codes& { return (t.*counts).n_entries(); });
  store_codes(state, name + "_class", forest, [=](const OfTree& t) -> const Codes& { return (t.*counts).classes(); });
  store_codes(state, name + "_whole", forest, [=](const OfTree& t) -> const Codes& { return (t.*counts).whole(); });
  store_numbers<double>(state, name + "_real", forest,
                        [=](const OfTree& t) -> const std::vector<double>& { return (t.*counts).real(); });
}

template <class Trees, class OfTree>
void load_counts(const nb::dict& state, const std::string& name, Trees& forest, LeafCounts OfTree::* counts) {
  const std::size_t n = forest.trees.size();
  auto entries = load_codes(state, name + "_entries", n);
  auto classes = load_codes(state, name + "_class", n);
  auto whole = load_codes(state, name + "_whole", n);
  auto real = load_numbers<double>(state, name + "_real", n);
  hand_out_counts(forest, counts, std::move(entries), std::move(classes), std::move(whole), std::move(real));
}

}  // namespace petiole::bindings
