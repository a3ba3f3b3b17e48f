// Array ownership across the border: views on the way in, vectors handed over without a copy on the way out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace petiole::bindings {

namespace nb = nanobind;

using FloatMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A view of a float32 or float64 matrix with any strides.
inline Matrix as_matrix(const FloatMatrix& array) {
  const bool single = array.dtype() == nb::dtype<float>();
  if (!single && array.dtype() != nb::dtype<double>()) throw nb::type_error("the matrix must be float32 or float64");
  return {array.data(), single, static_cast<std::int64_t>(array.shape(0)), static_cast<std::int64_t>(array.shape(1)),
          array.stride(0), array.stride(1)};
}

template <class T>
std::vector<T> as_vector(const Vector<T>& array) {
  return {array.data(), array.data() + array.shape(0)};
}

template <class T>
std::span<const T> as_span(const Vector<T>& array) {
  return {array.data(), array.shape(0)};
}

// Gives a vector to NumPy.
template <class T>
nb::object to_numpy(std::vector<T>&& values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owned->data();
  const std::size_t size = owned->size();
  nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner));
}

// The same as a matrix.
inline nb::object to_table(std::vector<double>&& values, std::size_t n_rows, std::size_t n_columns) {
  return to_numpy(std::move(values)).attr("reshape")(n_rows, n_columns);
}

}  // namespace petiole::bindings
