// Training rows as arguments: labels, weights, and the rows of known members to predict.
#pragma once

#include <nanobind/stl/optional.h>

#include "forest/out_of_bag.hpp"
#include "ndarray.hpp"

namespace petiole::bindings {

using Labels = Vector<std::int32_t>;
using Weights = std::optional<Vector<double>>;
using RowList = std::optional<Vector<std::uint32_t>>;

inline std::vector<ClassId> as_classes(const Labels& labels) { return {labels.data(), labels.data() + labels.shape(0)}; }

inline const double* data_or_null(const Weights& weights) { return weights ? weights->data() : nullptr; }

inline void check_members(const Members& members, std::size_t n_trees) {
  if (members.trees.size() != n_trees) throw nb::value_error("the members belong to another forest");
}

inline void require_classes(const Labels& labels, int n_classes) {
  if (!are_classes(as_span(labels), n_classes)) throw nb::value_error("labels: there is no such class");
}

inline Asked as_asked(const Members& members, const RowList& rows) {
  const Asked asked = rows ? Asked{rows->data(), rows->shape(0)} : Asked{nullptr, members.n_rows};
  if (!asked.are_below(members.n_rows)) throw nb::value_error("there is no such row");
  return asked;
}

// Holds the labels that the view points to.
struct Rows {
  std::vector<ClassId> labels;
  TrainingRows view;
  Rows(std::size_t n_rows, const Labels& given, const Weights& weights) : labels(as_classes(given)) {
    if (labels.size() != n_rows || (weights && weights->shape(0) != n_rows))
      throw nb::value_error("one label and weight per row");
    view = {labels.data(), data_or_null(weights)};
  }
};

}  // namespace petiole::bindings
