// Leaf estimators.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "estimate/estimate.hpp"
#include "estimate/hdp.hpp"
#include "estimate/stirling.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

// Holds on to the arrays that the view points into.
struct CountsHolder {
  Vector<std::int32_t> parent, top_down;
  Vector<std::uint8_t> is_leaf;
  Table counts;
  NodeCounts view;

  CountsHolder(Vector<std::int32_t> parent_, Vector<std::int32_t> top_down_, Vector<std::uint8_t> is_leaf_, Table counts_)
      : parent(parent_), top_down(top_down_), is_leaf(is_leaf_), counts(counts_) {
    const std::size_t n = parent.shape(0);
    if (n == 0 || top_down.shape(0) != n || is_leaf.shape(0) != n || counts.shape(0) != n)
      throw nb::value_error("the arrays of a tree must have one entry per node");
    view = {{parent.data(), n}, {top_down.data(), n}, {is_leaf.data(), n}, {counts.data(), counts.size()}, counts.shape(1)};
  }

  std::span<const double> per_node(const Vector<double>& values) const {
    if (values.shape(0) != view.n_nodes()) throw nb::value_error("one number per node is needed");
    return {values.data(), values.shape(0)};
  }
  std::span<const double> table(const Table& values) const {
    if (values.shape(0) != counts.shape(0) || values.shape(1) != counts.shape(1))
      throw nb::value_error("the table must have the shape of the counts");
    return {values.data(), values.size()};
  }
  Array<double> reshaped(std::vector<double>&& table) const {
    return to_table(std::move(table), counts.shape(0), counts.shape(1));
  }
};

}  // namespace

void bind_estimate(nb::module_& m) {
  nb::enum_<Height>(m, "Height").value("branch", Height::branch).value("subtree", Height::subtree);
  nb::enum_<Loss>(m, "Loss").value("log", Loss::log).value("squared", Loss::squared);
  nb::enum_<Tying>(m, "Tying")
      .value("single", Tying::single)
      .value("level", Tying::level)
      .value("parent", Tying::parent)
      .value("none", Tying::none);
  nb::class_<HdpOptions>(m, "HdpOptions")
      .def(nb::init<>())
      .def_rw("n_iter", &HdpOptions::n_iter)
      .def_rw("burn_in", &HdpOptions::burn_in)
      .def_rw("tying", &HdpOptions::tying)
      .def_rw("prior_shape", &HdpOptions::prior_shape)
      .def_rw("prior_rate", &HdpOptions::prior_rate)
      .def_rw("concentration", &HdpOptions::concentration)
      .def_rw("root_concentration", &HdpOptions::root_concentration)
      .def_rw("seed", &HdpOptions::seed);
  nb::class_<HgsLoss>(m, "HgsLoss", "A loss of HGS and its gradient by alpha.")
      .def(
          "__call__",
          [](HgsLoss& self, const Vector<double>& alpha) -> Tuple<double, Array<double>> {
            if (alpha.shape(0) != self.n_nodes()) throw nb::value_error("one alpha per node is needed");
            std::vector<double> gradient(self.n_nodes());
            const double cost = self({alpha.data(), alpha.shape(0)}, gradient);
            return nb::make_tuple(cost, to_numpy(std::move(gradient)));
          },
          "alpha"_a);
  nb::class_<CountsHolder>(m, "NodeCounts", "The class counts of a tree's nodes, as leaf estimators see them.")
      .def(nb::init<Vector<std::int32_t>, Vector<std::int32_t>, Vector<std::uint8_t>, Table>(), "parent"_a, "top_down"_a,
           "is_leaf"_a, "counts"_a)
      .def(
          "m_branch",
          [](const CountsHolder& self, double M, Height height) { return self.reshaped(m_branch(self.view, M, height)); },
          "M"_a, "height"_a)
      .def(
          "hgs",
          [](const CountsHolder& self, const Vector<double>& alpha) {
            return self.reshaped(hgs(self.view, self.per_node(alpha)));
          },
          "alpha"_a)
      .def(
          "curtail",
          [](const CountsHolder& self, const Table& table, double v) {
            return self.reshaped(curtail(self.view, self.table(table), v));
          },
          "table"_a, "v"_a)
      .def(
          "leave_one_out_loss", [](const CountsHolder& self, Loss loss) { return HgsLoss::leave_one_out(self.view, loss); },
          "loss"_a, nb::keep_alive<0, 1>(), "The mean loss of the training rows, each left out.")
      .def(
          "held_out_loss",
          [](const CountsHolder& self, const Table& held_out, Loss loss) {
            return HgsLoss::held_out(self.view, self.table(held_out), loss);
          },
          "held_out"_a, "loss"_a, nb::keep_alive<0, 1>(), "The summed loss of held-out rows.")
      .def("frequencies", [](const CountsHolder& self) { return self.reshaped(self.view.frequencies()); })
      .def(
          "hdp",
          [](const CountsHolder& self, const HdpOptions& options) -> Tuple<Array<double>, double> {
            HdpResult result = run_interruptible([&](Interrupt& interrupt) { return hdp(self.view, options, interrupt); });
            return nb::make_tuple(self.reshaped(std::move(result.table)), result.mean_concentration);
          },
          "options"_a, "The posterior mean of every node's class probabilities, and of the concentrations.");
  m.def(
      "log_stirling",
      [](std::uint32_t n, std::uint32_t t) {
        if (t == 0 || t > n) throw nb::value_error("t must lie between 1 and n");
        StirlingRatios ratios;
        ratios.prepare(n);
        return ratios.log_number(n, t);
      },
      "n"_a, "t"_a, "Logarithm of an unsigned Stirling number of the first kind.");
  m.def(
      "stirling_ratios",
      [](double n, const std::vector<double>& tables) {
        StirlingRatios ratios;
        ratios.prepare(n);
        return ratios.next_tables(n, tables);
      },
      "n"_a, "tables"_a, "S(n, t+1) / S(n, t) of the unsigned Stirling numbers of the first kind, for each t of `tables`.");
}

}  // namespace petiole::bindings
