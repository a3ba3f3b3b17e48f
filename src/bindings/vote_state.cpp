#include "vote_state.hpp"

#include <string>

namespace petiole::bindings {
namespace {

// In the narrowest type that holds all.
template <class T>
nb::object narrow(const std::vector<T>& values) {
  return to_codes(values).visit([&](const auto* codes) -> nb::object {
    return to_numpy(std::vector<std::remove_cvref_t<decltype(*codes)>>(values.begin(), values.end()));
  });
}

// Whole numbers in the narrowest type, other weights as they are.
nb::object narrow_weights(std::vector<double>&& weights) {
  if (are_codes(weights)) return narrow(weights);
  return to_numpy(std::move(weights));
}

template <class T, class To>
bool take(const nb::object& array, std::vector<To>& values) {
  Vector<T> typed;
  if (!nb::try_cast(array, typed, false)) return false;
  values.assign(typed.data(), typed.data() + typed.shape(0));
  return true;
}

template <class To>
std::vector<To> widened(const nb::dict& state, const char* name) {
  std::vector<To> values;
  const nb::object array = state[name];
  if (take<std::uint8_t>(array, values) || take<std::uint16_t>(array, values) || take<std::uint32_t>(array, values))
    return values;
  if constexpr (std::is_same_v<To, double>) {
    if (take<double>(array, values)) return values;
  }
  throw nb::value_error((std::string(name) + ": wrong type of array").c_str());
}

}  // namespace

nb::dict vote_tables_state(const VoteTables& tables) {
  VoteState flat = to_state(tables);
  nb::dict state;
  state["n_classes"] = flat.n_classes;
  state["n_leaves"] = to_numpy(std::move(flat.n_leaves));
  state["rows_per_leaf"] = narrow(flat.rows_per_leaf);
  state["row_vote"] = narrow(flat.row_vote);
  state["entries_per_row"] = narrow(flat.entries_per_row);
  state["entry_class"] = narrow(flat.entry_class);
  state["in_bag"] = narrow_weights(std::move(flat.in_bag));
  state["out_of_bag"] = narrow_weights(std::move(flat.out_of_bag));
  return state;
}

VoteTables vote_tables_from_state(const nb::dict& state, bool mixed) {
  VoteState flat;
  flat.n_classes = nb::cast<int>(state["n_classes"]);
  flat.n_leaves = widened<std::uint32_t>(state, "n_leaves");
  flat.rows_per_leaf = widened<std::uint32_t>(state, "rows_per_leaf");
  flat.row_vote = widened<std::uint32_t>(state, "row_vote");
  flat.entries_per_row = widened<std::uint32_t>(state, "entries_per_row");
  flat.entry_class = widened<std::uint32_t>(state, "entry_class");
  flat.in_bag = widened<double>(state, "in_bag");
  flat.out_of_bag = widened<double>(state, "out_of_bag");
  VoteTables tables = from_state(flat);
  if (mixed) tables.mix(1.0);
  return tables;
}

}  // namespace petiole::bindings
