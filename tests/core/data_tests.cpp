// Coding and sampling.
#include "base/random.hpp"
#include "data/dataset.hpp"
#include "data/sample.hpp"

#include "support.hpp"

namespace {

void test_coding_orders_values() {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> values = {3.5, -1e-300, -0.0, 0.0, 1e300, -1e300, 3.5000000000000004, 2, std::nan(""), 5e-324};
  Dataset dataset;
  dataset.n_classes = 1;
  dataset.labels.assign(values.size(), 0);
  dataset.matrix = {values.data(), false, static_cast<std::int64_t>(values.size()), 1, 1, 1};
  ThreadPool pool(1);
  Interrupt interrupt;
  code_columns(dataset, {0}, {}, pool, interrupt);
  const Column& column = dataset.columns[0];
  CHECK(column.n_codes == 8);
  CHECK(column.has_missing);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = 0; j < values.size(); ++j) {
      if (std::isnan(values[i]) || std::isnan(values[j])) continue;
      CHECK((values[i] < values[j]) == (column.codes.at(i) < column.codes.at(j)));
    }
  CHECK(column.codes.at(8) == column.n_codes);
  CHECK(midpoint(1.0, std::nextafter(1.0, inf)) == 1.0);
}

void test_samples() {
  Engine engine(8);
  for (int round = 0; round < 50; ++round) {
    const int n_classes = 1 + below(engine, 6);  // some of them without rows
    std::vector<ClassId> labels;
    for (int n = below(engine, 60); n >= 0; --n) labels.push_back(static_cast<ClassId>(below(engine, n_classes)));
    const std::uint64_t key = engine();
    std::vector<std::uint32_t> copies = {7}, again(1000, 9), other;
    Sampler(Bootstrap::none, labels, n_classes).draw(key, copies);
    CHECK(copies.empty());
    for (const Bootstrap kind : {Bootstrap::plain, Bootstrap::stratified}) {
      const Sampler sampler(kind, labels, n_classes);
      sampler.draw(key, copies);
      sampler.draw(key, again);
      sampler.draw(derive_key(key, 1), other);
      CHECK(copies == again);
      CHECK(copies.size() == labels.size());
      CHECK(std::accumulate(copies.begin(), copies.end(), std::size_t{0}) == labels.size());
      if (labels.size() > 30) CHECK(copies != other);
      if (kind == Bootstrap::plain) continue;
      // Classes of four rows or more keep their sizes, unless too few rare rows are drawn with the largest of them.
      std::vector<std::int64_t> size(static_cast<std::size_t>(n_classes), 0), left = size;
      for (std::size_t i = 0; i < labels.size(); ++i) {
        ++size[labels[i]];
        left[labels[i]] += 1 - static_cast<std::int64_t>(copies[i]);
      }
      std::int64_t rare_rows = 0;
      for (const std::int64_t n : size) rare_rows += n < 4 ? n : 0;
      const auto largest = std::max_element(size.begin(), size.end()) - size.begin();
      for (std::size_t c = 0; c < size.size(); ++c) {
        const bool joined = rare_rows > 0 && rare_rows < 4 && static_cast<std::ptrdiff_t>(c) == largest;
        CHECK(size[c] < 4 || joined || left[c] == 0);
      }
    }
  }
  CHECK(tree_key(1, 2) != tree_key(2, 1) && tree_key(1, 2) != sample_key(1, 2) && sample_key(1, 2) != sample_key(1, 3));
}

}  // namespace

void data_tests() {
  test_coding_orders_values();
  test_samples();
}
