// The logarithmic pool of several estimates.
#include "estimate/log_pool.hpp"
#include "bindings.hpp"
#include "rows.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

using LossAndSlopes = Tuple<double, Array<double>, Array<double>>;

LossAndSlopes evaluate_pool(const nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>& logs,
                            const Labels& labels, const Weights& row_weights, const Table& weights,
                            const Vector<double>& intercepts, int n_threads) {
  const LogComponents components{logs.data(), logs.shape(0), logs.shape(1), logs.shape(2)};
  const std::vector<ClassId> classes = as_classes(labels);
  const bool fits = classes.size() == components.n_rows && weights.shape(0) == components.n_components &&
                    weights.shape(1) == components.n_classes && intercepts.shape(0) == components.n_classes &&
                    (!row_weights || row_weights->shape(0) == classes.size());
  if (!fits) throw nb::value_error("the arrays of the pool do not fit together");
  std::vector<double> weight_slopes(weights.size(), 0.0), intercept_slopes(components.n_classes, 0.0);
  double loss = 0;
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_threads);
    loss = pool_loss(components, {classes.data(), data_or_null(row_weights)}, weights.data(), intercepts.data(), pool,
                     weight_slopes.data(), intercept_slopes.data());
  }
  return nb::make_tuple(loss, to_table(std::move(weight_slopes), components.n_components, components.n_classes),
                        to_numpy(std::move(intercept_slopes)));
}

}  // namespace

void bind_log_pool(nb::module_& m) {
  m.def("pool_loss", &evaluate_pool, "logs"_a, "labels"_a, "row_weights"_a.none(), "weights"_a, "intercepts"_a, "n_threads"_a,
        "Log-loss in nats of a logarithmic pool, and its slopes by the weights and the intercepts.");
}

}  // namespace petiole::bindings
