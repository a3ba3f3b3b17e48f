// Vote tables as NumPy arrays by name, and back.
#pragma once

#include "ndarray.hpp"
#include "votes/state.hpp"

namespace petiole::bindings {

nb::dict vote_tables_state(const VoteTables& tables);
// With `mixed` they can be asked at once, out-of-bag rows counting as others do.
VoteTables vote_tables_from_state(const nb::dict& state, bool mixed);

}  // namespace petiole::bindings
