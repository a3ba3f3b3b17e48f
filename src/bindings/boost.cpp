// Boosted trees: columns coded once, chains grown on some of their rows, and sums over trees.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "boost/chain.hpp"
#include "boost/router.hpp"
#include "rows.hpp"

namespace petiole::bindings {

using namespace nb::literals;
using namespace petiole::boosting;

namespace {

using Starts = std::optional<Table>;

BoostColumns* make_columns(const FloatMatrix& array, const Weights& weights, const Vector<std::int32_t>& n_categories,
                           std::uint32_t max_bins, int n_threads) {
  const Matrix matrix = as_matrix(array);
  const auto categories = as_vector(n_categories);
  const std::vector<double> copied = weights ? as_vector(*weights) : std::vector<double>{};
  return run_interruptible([&](Interrupt& interrupt) {
    ThreadPool pool(n_threads);
    return new BoostColumns(matrix, copied, categories, max_bins, pool, interrupt);
  });
}

nb::dict as_dict(BoostedTrees&& trees) {
  nb::dict arrays;
  arrays["node_start"] = to_numpy(std::move(trees.node_start));
  arrays["feature"] = to_numpy(std::move(trees.feature));
  arrays["left"] = to_numpy(std::move(trees.left));
  arrays["threshold"] = to_numpy(std::move(trees.threshold));
  arrays["missing_right"] = to_numpy(std::move(trees.missing_right));
  arrays["category_start"] = to_numpy(std::move(trees.category_start));
  arrays["category_right"] = to_numpy(std::move(trees.category_right));
  arrays["value"] = to_numpy(std::move(trees.value));
  arrays["gain"] = to_numpy(std::move(trees.gain));
  arrays["weight"] = to_numpy(std::move(trees.weight));
  return arrays;
}

template <class T>
std::vector<T> take(const nb::dict& arrays, const char* name) {
  return as_vector(nb::cast<Vector<T>>(arrays[name]));
}

// The state has been checked in Python.
BoostRouter* make_router(const nb::dict& arrays, int n_scores, int n_features) {
  BoostedTrees trees;
  trees.node_start = take<std::int32_t>(arrays, "node_start");
  trees.feature = take<std::int32_t>(arrays, "feature");
  trees.left = take<std::int32_t>(arrays, "left");
  trees.threshold = take<double>(arrays, "threshold");
  trees.missing_right = take<std::uint8_t>(arrays, "missing_right");
  trees.category_start = take<std::int32_t>(arrays, "category_start");
  trees.category_right = take<std::uint8_t>(arrays, "category_right");
  trees.value = take<double>(arrays, "value");
  return new BoostRouter(trees, n_scores, n_features);
}

void check_rows(const std::vector<RowId>& rows, std::size_t n_rows) {
  const bool ascending = std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>{}) == rows.end();
  if (!ascending || (!rows.empty() && rows.back() >= n_rows)) throw nb::value_error("rows: must ascend and exist");
}

nb::dict grow(const BoostColumns& columns, const Labels& labels, const Weights& weights, int n_classes,
              const std::vector<Vector<std::uint32_t>>& training, const std::vector<Vector<std::uint32_t>>& held_out,
              const Starts& starts, const BoostOptions& options, int n_threads) {
  const std::size_t n_rows = columns.n_rows(), n_chains = training.size();
  const Rows given(n_rows, labels, weights);
  require_classes(labels, n_classes);
  if (held_out.size() != n_chains || n_chains == 0) throw nb::value_error("training and held_out: one of each per chain");
  if (starts && (starts->shape(0) != n_rows || starts->shape(1) != static_cast<std::size_t>(n_classes)))
    throw nb::value_error("starts: a score for each row and class");
  const std::vector<double> copied = weights ? as_vector(*weights) : std::vector<double>{};
  std::vector<ChainRows> rows;
  for (std::size_t i = 0; i < n_chains; ++i) {
    rows.push_back({as_vector(training[i]), as_vector(held_out[i])});
    check_rows(rows[i].training, n_rows);
    check_rows(rows[i].held_out, n_rows);
  }
  BoostedChains found = run_interruptible([&](Interrupt& interrupt) {
    ThreadPool pool(n_threads);
    return grow_chains({columns, {given.labels, copied}, n_classes, starts ? starts->data() : nullptr}, options, rows, pool,
                       interrupt);
  });
  nb::list trees, bases;
  for (BoostedTrees& of_chain : found.trees) trees.append(as_dict(std::move(of_chain)));
  for (auto& base : found.bases) bases.append(to_numpy(std::move(base)));
  nb::dict result;
  result["trees"] = trees;
  result["bases"] = bases;
  const std::size_t n_losses = found.losses.size() / n_chains;
  result["losses"] = to_table(std::move(found.losses), n_losses, n_chains);
  result["n_rounds"] = found.n_rounds;
  result["held_out_scores"] = to_table(std::move(found.held_out_scores), n_rows, static_cast<std::size_t>(n_classes));
  return result;
}

Array<double> scores(const BoostRouter& router, const FloatMatrix& array, int n_threads) {
  const Matrix matrix = as_matrix(array);
  if (matrix.n_columns != router.n_features())
    throw nb::value_error("the matrix has another number of columns than the trees");
  const auto n_rows = static_cast<std::size_t>(matrix.n_rows), n_scores = static_cast<std::size_t>(router.n_scores());
  std::vector<double> out(n_rows * n_scores);
  {
    nb::gil_scoped_release release;
    ThreadPool pool(n_rows < 64 ? 1 : n_threads);
    router.add_scores(matrix, pool, out.data());
  }
  return to_table(std::move(out), n_rows, n_scores);
}

}  // namespace

void bind_boost(nb::module_& m) {
  nb::class_<BoostOptions>(m, "BoostOptions")
      .def(nb::init<>())
      .def_rw("n_rounds", &BoostOptions::n_rounds)
      .def_rw("patience", &BoostOptions::patience)
      .def_rw("max_leaf_nodes", &BoostOptions::max_leaf_nodes)
      .def_rw("max_depth", &BoostOptions::max_depth)
      .def_rw("learning_rate", &BoostOptions::learning_rate)
      .def_rw("l2", &BoostOptions::l2)
      .def_rw("min_samples_leaf", &BoostOptions::min_samples_leaf)
      .def_rw("min_hessian", &BoostOptions::min_hessian)
      .def_rw("category_smoothing", &BoostOptions::category_smoothing)
      .def_rw("subsample", &BoostOptions::subsample)
      .def_rw("max_features", &BoostOptions::max_features)
      .def_rw("seed", &BoostOptions::seed)
      .def_rw("signs", &BoostOptions::signs)
      .def_rw("groups", &BoostOptions::groups);
  nb::class_<BoostColumns>(m, "BoostColumns", "The columns of a table, coded once for all chains.")
      .def(nb::new_(&make_columns), "matrix"_a, "weights"_a.none(), "n_categories"_a, "max_bins"_a, "n_threads"_a);
  m.def("boost_chains", &grow, "columns"_a, "labels"_a, "weights"_a.none(), "n_classes"_a, "training"_a, "held_out"_a,
        "starts"_a.none(), "options"_a, "n_threads"_a,
        "Grows chains side by side and cuts them off at the round with the least sum of held-out losses.");
  nb::class_<BoostRouter>(m, "BoostRouter", "Boosted trees laid out for walking.")
      .def(nb::new_(&make_router), "arrays"_a, "n_scores"_a, "n_features"_a)
      .def("scores", &scores, "matrix"_a, "n_threads"_a, "The sum over trees of what each row's leaves add to each score.");
}

}  // namespace petiole::bindings
