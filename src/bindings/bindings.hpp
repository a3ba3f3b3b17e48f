// Declarations that the binding files share.
#pragma once

#include <optional>
#include <thread>

#include "base/interrupt.hpp"
#include "base/parallel.hpp"
#include "data/dataset.hpp"
#include "ndarray.hpp"
#include "tree/tree.hpp"

namespace petiole::bindings {

// In the order in which the module calls them: signatures name only what is bound before.
void bind_grow(nb::module_& m);
void bind_levels(nb::module_& m);
void bind_prune(nb::module_& m);
void bind_route(nb::module_& m);
void bind_forest_options(nb::module_& m);
void bind_members(nb::module_& m);
void bind_leaf_tables(nb::module_& m);
void bind_forest(nb::module_& m);
void bind_grow_forest(nb::module_& m);
void bind_forest_router(nb::module_& m);
void bind_ballot(nb::module_& m);
void bind_out_of_bag(nb::module_& m);
void bind_log_pool(nb::module_& m);
void bind_vote_tables(nb::module_& m);
void bind_counts(nb::module_& m);
void bind_soft(nb::module_& m);
void bind_boost(nb::module_& m);
void bind_estimate(nb::module_& m);
void bind_lazy(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_explain(nb::module_& m);

// The primary arrays of a tree, by the names that petiole.Tree uses.
nb::dict to_arrays(Tree&& tree);
Tree from_arrays(const nb::dict& arrays);

// Training data, not yet coded.
Dataset as_dataset(const FloatMatrix& matrix, const Vector<std::int32_t>& labels,
                   const std::optional<Vector<double>>& weights, int n_classes);

// Runs work(interrupt) without the interpreter lock; a Ctrl-C ends it and becomes KeyboardInterrupt.
template <class F>
auto run_interruptible(F&& work) {
  bool signalled = false;
  Interrupt interrupt([&signalled] {
    nb::gil_scoped_acquire gil;
    signalled = PyErr_CheckSignals() != 0;
    return signalled;
  });
  try {
    nb::gil_scoped_release release;
    return work(interrupt);
  } catch (const Interrupted&) {
    throw nb::python_error();  // with the exception of the signal handler
  }
}

}  // namespace petiole::bindings
