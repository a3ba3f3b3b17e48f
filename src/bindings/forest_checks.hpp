// Checks that arguments belong together.
#pragma once

#include "forest/router.hpp"
#include "ndarray.hpp"

namespace petiole::bindings {

inline void check_width(const ForestRouter& router, const Matrix& matrix) {
  if (matrix.n_columns < router.n_features_needed())
    throw nb::value_error("the matrix has fewer columns than the trees test");
}

template <class One, class Other>
void check_trees(const One& one, const Other& other, const char* what) {
  if (!same_leaves(one, other)) throw nb::value_error(what);
}

}  // namespace petiole::bindings
