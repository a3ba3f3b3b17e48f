#include "bindings.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of petiole: coding, growing, pruning and routing.";
  petiole::bindings::bind_grow(m);
  petiole::bindings::bind_levels(m);
  petiole::bindings::bind_prune(m);
  petiole::bindings::bind_route(m);
  petiole::bindings::bind_forest_options(m);
  petiole::bindings::bind_members(m);
  petiole::bindings::bind_leaf_tables(m);
  petiole::bindings::bind_forest(m);
  petiole::bindings::bind_grow_forest(m);
  petiole::bindings::bind_forest_router(m);
  petiole::bindings::bind_ballot(m);
  petiole::bindings::bind_out_of_bag(m);
  petiole::bindings::bind_log_pool(m);
  petiole::bindings::bind_vote_tables(m);
  petiole::bindings::bind_counts(m);
  petiole::bindings::bind_soft(m);
  petiole::bindings::bind_boost(m);
  petiole::bindings::bind_estimate(m);
  petiole::bindings::bind_lazy(m);
  petiole::bindings::bind_linear(m);
  petiole::bindings::bind_explain(m);
}
