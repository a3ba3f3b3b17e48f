// Array ownership between Python and C++: arguments are views, results are vectors handed over without a copy.
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
  return {
      array.data(),    single,         static_cast<std::int64_t>(array.shape(0)), static_cast<std::int64_t>(array.shape(1)),
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

template <class T>
constexpr auto dtype_name() {
  using nb::detail::const_name;
  if constexpr (std::is_same_v<T, double>)
    return const_name("float64");
  else if constexpr (std::is_same_v<T, float>)
    return const_name("float32");
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return const_name("int64");
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return const_name("int32");
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return const_name("uint64");
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return const_name("uint32");
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return const_name("uint16");
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return const_name("int8");
  else
    return const_name("uint8");
}

// An array of NumPy; the generated stubs say what its elements are.
template <class T>
class Array : public nb::object {
 public:
  static constexpr auto Name =
      nb::detail::const_name("numpy.typing.NDArray[numpy.") + dtype_name<T>() + nb::detail::const_name("]");
  static bool check_(nb::handle) { return true; }
  Array(nb::handle handle, nb::detail::borrow_t tag) : nb::object(handle, tag) {}
  Array(nb::handle handle, nb::detail::steal_t tag) : nb::object(handle, tag) {}
  explicit Array(nb::object&& array) : nb::object(std::move(array)) {}

  Array reshaped(std::size_t n_rows, std::size_t n_columns) const {
    return Array(nb::object(attr("reshape")(n_rows, n_columns)));
  }
};

// A tuple of Python whose parts the stubs name.
template <class... Parts>
using Tuple = nb::typed<nb::tuple, Parts...>;

// Gives a vector to NumPy.
template <class T>
Array<T> to_numpy(std::vector<T>&& values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owned->data();
  const std::size_t size = owned->size();
  nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner)));
}

// The same as a matrix.
inline Array<double> to_table(std::vector<double>&& values, std::size_t n_rows, std::size_t n_columns) {
  return to_numpy(std::move(values)).reshaped(n_rows, n_columns);
}

}  // namespace petiole::bindings
