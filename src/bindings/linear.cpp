// Products of rows, for linear models and kernels.
#include "bindings.hpp"
#include "linear/dense.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

DenseRows dense(const Table& rows) { return {rows.data(), rows.shape(0), rows.shape(1)}; }

Array<double> affine_of(const Table& rows, const Table& coefficients, const Vector<double>& intercepts, int n_threads) {
  const std::size_t n_outputs = coefficients.shape(1);
  if (coefficients.shape(0) != rows.shape(1) || intercepts.shape(0) != n_outputs)
    throw nb::value_error("the coefficients do not fit the rows");
  std::vector<double> out(rows.shape(0) * n_outputs);
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    affine(dense(rows), coefficients.data(), intercepts.data(), n_outputs, pool, out.data());
  }
  return to_table(std::move(out), rows.shape(0), n_outputs);
}

Array<double> kernels_of(const Table& rows, const Table& landmarks, double gamma, int n_threads) {
  if (landmarks.shape(0) != rows.shape(1)) throw nb::value_error("the landmarks do not fit the rows");
  std::vector<double> out(rows.shape(0) * landmarks.shape(1));
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    gaussian_kernels(dense(rows), landmarks.data(), landmarks.shape(1), gamma, pool, out.data());
  }
  return to_table(std::move(out), rows.shape(0), landmarks.shape(1));
}

}  // namespace

void bind_linear(nb::module_& m) {
  m.def("affine", &affine_of, "rows"_a, "coefficients"_a, "intercepts"_a, "n_threads"_a,
        "intercepts + rows * coefficients, the same for a row whatever rows are beside it.");
  m.def("gaussian_kernels", &kernels_of, "rows"_a, "landmarks"_a, "gamma"_a, "n_threads"_a,
        "exp(-gamma * squared distance) of each row to each landmark; the landmarks are columns.");
}

}  // namespace petiole::bindings
