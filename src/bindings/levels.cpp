// Trees whose rows are in several places: splits from histograms, and subtrees from codes.
#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings.hpp"
#include "grow/grow.hpp"
#include "grow/histogram_split.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

HistogramSearch make_search(const Vector<std::uint32_t>& n_codes, const Vector<std::uint8_t>& categorical,
                            const GrowOptions& options, int n_classes, double dataset_weight, bool whole) {
  if (n_codes.shape(0) != categorical.shape(0)) throw nb::value_error("n_codes and categorical: one entry per column");
  return HistogramSearch({as_vector(n_codes), as_vector(categorical)}, options, n_classes, dataset_weight, whole);
}

// table: the weight of every (code of a column, class), columns one after the other, each with its code for missing.
nb::object find(const HistogramSearch& search, std::uint64_t key, const Table& table, const Vector<std::uint32_t>& first) {
  const NodeHistogram histogram = to_histogram(table.data(), table.shape(0), table.shape(1), as_span(first));
  std::optional<HistogramChoice> found;
  {
    nb::gil_scoped_release release;
    found = search.find(key, histogram);
  }
  if (!found) return nb::none();
  const auto& [candidate, left] = *found;
  return nb::make_tuple(candidate.column, candidate.cut, candidate.known_or_missing, left);
}

using Values = std::vector<Vector<double>>;

Dataset coded_dataset(const std::vector<Vector<std::uint32_t>>& codes, const Vector<std::uint32_t>& n_codes,
                      const Vector<std::uint8_t>& categorical, const Vector<std::uint8_t>& has_missing, const Values& low,
                      const Values& high, const Values& distinct, const Vector<std::int32_t>& labels,
                      const Vector<double>& weights, int n_classes) {
  Dataset dataset;
  dataset.n_classes = n_classes;
  dataset.labels.assign(labels.data(), labels.data() + labels.shape(0));
  dataset.weights = as_vector(weights);
  const std::size_t n_columns = codes.size();
  const bool fits = n_codes.shape(0) == n_columns && categorical.shape(0) == n_columns && has_missing.shape(0) == n_columns &&
                    low.size() == n_columns && high.size() == n_columns && distinct.size() == n_columns;
  if (!fits || dataset.weights.size() != dataset.labels.size())
    throw nb::value_error("one entry per column, and one label and weight per row");
  for (std::size_t j = 0; j < n_columns; ++j) {
    if (codes[j].shape(0) != dataset.labels.size()) throw nb::value_error("codes: one per row");
    dataset.columns.push_back(
        to_column({as_span(codes[j]), n_codes.data()[j], categorical.data()[j] != 0, has_missing.data()[j] != 0,
                   as_vector(low[j]), as_vector(high[j]), as_vector(distinct[j])}));
  }
  return dataset;
}

nb::dict grow_below(const std::vector<Vector<std::uint32_t>>& codes, const Vector<std::uint32_t>& n_codes,
                    const Vector<std::uint8_t>& categorical, const Vector<std::uint8_t>& has_missing, const Values& low,
                    const Values& high, const Values& distinct, const Vector<std::int32_t>& labels,
                    const Vector<double>& weights, const GrowOptions& options, int n_classes, std::uint64_t key,
                    double dataset_weight, int n_threads) {
  const Dataset dataset =
      coded_dataset(codes, n_codes, categorical, has_missing, low, high, distinct, labels, weights, n_classes);
  return to_arrays(run_interruptible([&](Interrupt& interrupt) {
    ThreadPool pool(n_threads);
    return TreeGrower(dataset, options, pool).grow_below(key, dataset_weight, interrupt);
  }));
}

}  // namespace

void bind_levels(nb::module_& m) {
  nb::class_<HistogramSearch>(m, "HistogramSearch", "Finds splits of nodes whose rows are known as histograms.")
      .def(nb::new_(&make_search), "n_codes"_a, "categorical"_a, "options"_a, "n_classes"_a, "dataset_weight"_a, "whole"_a)
      .def("find", &find, "key"_a, "table"_a, "first"_a,
           "The best split as (column, cut, known or missing, codes on the left), or None.");
  m.def("root_key", &root_key, "seed"_a, "The key of a tree's root.");
  m.def("branch_key", &branch_key, "key"_a, "branch"_a, "The key of a node's branch.");
  m.def("grow_below", &grow_below, "codes"_a, "n_codes"_a, "categorical"_a, "has_missing"_a, "low"_a, "high"_a, "distinct"_a,
        "labels"_a, "weights"_a, "options"_a, "n_classes"_a, "key"_a, "dataset_weight"_a, "n_threads"_a,
        "Grows what is below a node from the codes of its rows; returns the arrays of a tree by name.");
}

}  // namespace petiole::bindings
