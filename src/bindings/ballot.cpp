// The ensemble's vote.
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "rows.hpp"
#include "votes/ballot.hpp"

namespace petiole::bindings {

using namespace nb::literals;

namespace {

Ballot make_ballot(const Forest& forest, const Vector<double>& prior, int n_threads) {
  std::vector<double> of_classes = as_vector(prior);
  nb::gil_scoped_release release;
  ThreadPool pool(n_threads);
  return Ballot::of(forest, std::move(of_classes), pool);
}

Ballot ballot_of(const std::vector<Labels>& votes, const LeafTables& frequencies, const Vector<double>& prior) {
  std::vector<std::vector<ClassId>> of_trees;
  for (const Labels& array : votes) of_trees.push_back(as_classes(array));
  return Ballot(std::move(of_trees), LeafFrequencies(frequencies), as_vector(prior));
}

}  // namespace

void bind_ballot(nb::module_& m) {
  nb::class_<Ballot>(m, "Ballot", "How the ensemble votes.")
      .def(nb::new_(&make_ballot), "forest"_a, "prior"_a, "n_threads"_a = 1)
      .def_static("of_leaves", &ballot_of, "votes"_a, "frequencies"_a, "prior"_a);
}

}  // namespace petiole::bindings
