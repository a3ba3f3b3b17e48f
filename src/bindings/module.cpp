#include "bindings.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of petiole: coding, growing, pruning and routing.";
  petiole::bindings::bind_grow(m);
  petiole::bindings::bind_levels(m);
  petiole::bindings::bind_prune(m);
  petiole::bindings::bind_route(m);
  petiole::bindings::bind_forest(m);
  petiole::bindings::bind_counts(m);
  petiole::bindings::bind_soft(m);
  petiole::bindings::bind_estimate(m);
  petiole::bindings::bind_lazy(m);
}
