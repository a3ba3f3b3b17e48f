// Products of rows with small matrices against sums written out, and the same for a row by itself.
#include "linear/dense.hpp"
#include "support.hpp"

namespace {

std::vector<double> random_numbers(Engine& engine, std::size_t n) {
  std::normal_distribution<double> normal;
  std::vector<double> numbers(n);
  for (double& number : numbers) number = normal(engine);
  return numbers;
}

struct Shape {
  std::size_t n_rows, n_columns, n_outputs;
};

void test_shape(Engine& engine, Shape shape, int n_threads) {
  const auto [n, p, k] = shape;
  const auto rows = random_numbers(engine, n * p), matrix = random_numbers(engine, p * k),
             intercepts = random_numbers(engine, k);
  ThreadPool pool(n_threads), alone(1);
  std::vector<double> scores(n * k), kernels(n * k), one(k);
  affine({rows.data(), n, p}, matrix.data(), intercepts.data(), k, pool, scores.data());
  gaussian_kernels({rows.data(), n, p}, matrix.data(), k, 0.3, pool, kernels.data());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t o = 0; o < k; ++o) {
      double score = intercepts[o], distance = 0;
      for (std::size_t j = 0; j < p; ++j) {
        const double value = rows[i * p + j], entry = matrix[j * k + o];
        score += value * entry;
        distance += (value - entry) * (value - entry);
      }
      CHECK(std::abs(scores[i * k + o] - score) <= 1e-12 * (1 + std::abs(score)));
      CHECK(std::abs(kernels[i * k + o] - std::exp(-0.3 * distance)) <= 1e-12);
    }
    affine({rows.data() + i * p, 1, p}, matrix.data(), intercepts.data(), k, alone, one.data());
    CHECK(std::equal(one.begin(), one.end(), scores.begin() + static_cast<std::ptrdiff_t>(i * k)));
    gaussian_kernels({rows.data() + i * p, 1, p}, matrix.data(), k, 0.3, alone, one.data());
    CHECK(std::equal(one.begin(), one.end(), kernels.begin() + static_cast<std::ptrdiff_t>(i * k)));
  }
}

}  // namespace

void linear_tests() {
  Engine engine(7);
  for (const Shape shape : {Shape{0, 3, 2}, {1, 1, 1}, {5, 0, 3}, {70, 4, 1}, {130, 9, 5}, {33, 17, 128}})
    for (const int n_threads : {1, 3}) test_shape(engine, shape, n_threads);
}
