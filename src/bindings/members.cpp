// The leaves of training rows in each tree.
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "rows.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

template <class T>
using RowsByTrees = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// leaves: n_rows x n_trees indices of leaves; copies the same, or none: out of bag everywhere.
Members members_of(const RowsByTrees<std::int32_t>& leaves, const std::optional<RowsByTrees<std::uint16_t>>& copies,
                   const std::vector<std::int32_t>& n_leaves) {
  if (n_leaves.size() != leaves.shape(1)) throw nb::value_error("n_leaves: must have one entry per tree");
  if (copies && (copies->shape(0) != leaves.shape(0) || copies->shape(1) != leaves.shape(1)))
    throw nb::value_error("copies: must have the shape of leaves");
  return Members::at_leaves(leaves.data(), copies ? copies->data() : nullptr, leaves.shape(0), n_leaves);
}

// Members of existing trees with the samples that were drawn for them.
void set_copies(Members& members, std::size_t tree, const Vector<std::uint32_t>& copies) {
  if (tree >= members.trees.size() || copies.shape(0) != members.n_rows) throw nb::value_error("no such tree, or other rows");
  members.set_copies(tree, copies.data());
}

void append_members(Members& members, Members& more) {
  if (members.n_rows != more.n_rows) throw nb::value_error("members of other rows");
  members.append(more);
}

}  // namespace

void bind_members(nb::module_& m) {
  nb::class_<Members>(m, "Members", "Where training rows are in each tree, and how often they are in its sample.")
      .def(nb::new_(&members_of), "leaves"_a, "copies"_a.none(), "n_leaves"_a)
      .def_prop_ro("n_rows", [](const Members& members) { return members.n_rows; })
      .def_prop_ro("n_trees", [](const Members& members) { return members.trees.size(); })
      .def("set_copies", &set_copies, "tree"_a, "copies"_a)
      .def("append", &append_members, "more"_a, "Takes the trees of the other object, which is empty afterwards.");
}

}  // namespace petiole::bindings
