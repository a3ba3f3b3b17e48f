#include "lazy/graph_arrays.hpp"

namespace petiole {
namespace {

// The value that a code stands for: a category's own code, or a number.
double value_of(const LazyData& data, const LazyTest& test) {
  const Column& column = data.dataset.columns[test.feature];
  return column.categorical ? static_cast<double>(test.code) : column.distinct[test.code];
}

void append(const LazyGraph::Edge& edge, const LazyData& data, LazyGraphArrays& to) {
  to.feature.push_back(static_cast<std::int32_t>(edge.option.test.feature));
  to.sign.push_back(static_cast<std::int32_t>(edge.option.test.sign));
  to.value.push_back(value_of(data, edge.option.test));
  to.gain.push_back(static_cast<double>(edge.option.units) / kGainUnits);
  to.child.push_back(static_cast<std::int32_t>(edge.child));
}

}  // namespace

LazyGraphArrays to_arrays(const LazyGraph& graph, const LazyData& data) {
  const auto n_classes = static_cast<std::size_t>(data.dataset.n_classes);
  LazyGraphArrays arrays;
  arrays.class_counts.assign(graph.nodes.size() * n_classes, 0.0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const LazyGraph::Node& node = graph.nodes[i];
    arrays.first_option.push_back(static_cast<std::int32_t>(arrays.feature.size()));
    arrays.share.push_back(node.share);
    for (std::uint32_t c = 0; c < node.n_counts; ++c) {
      const auto& [k, count] = graph.counts[node.first_count + c];
      arrays.class_counts[i * n_classes + k] = static_cast<double>(count) * data.unit;
    }
    for (const LazyGraph::Edge& edge : graph.options(static_cast<std::uint32_t>(i))) append(edge, data, arrays);
  }
  arrays.first_option.push_back(static_cast<std::int32_t>(arrays.feature.size()));
  return arrays;
}

}  // namespace petiole
