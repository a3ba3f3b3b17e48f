#include "estimate/stirling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace petiole {
namespace {

// The sum of (a + i)^-k over i = 0 .. m-1, by Euler and Maclaurin; for a of 10 and more.
double power_sum(int k, double a, double m) {
  constexpr std::array<double, 4> kBernoulli = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600};  // B_2j / (2j)!
  const double growth = std::log1p(m / a), b = a + m;
  double at_a = std::pow(a, -k), at_b = std::pow(b, -k);
  double sum = k == 1 ? growth : -a * at_a * std::expm1((1 - k) * growth) / (k - 1);
  sum += (at_a - at_b) / 2;
  double factor = k;  // k (k+1) .. (k+2j-2)
  at_a /= a;
  at_b /= b;
  for (std::size_t j = 0; j < kBernoulli.size(); ++j) {
    sum += kBernoulli[j] * factor * (at_a - at_b);
    const double next = k + 2.0 * static_cast<double>(j);
    factor *= (next + 1) * (next + 2);
    at_a /= a * a;
    at_b /= b * b;
  }
  return sum;
}

}  // namespace

void StirlingRatios::extend(double n) {
  const std::size_t needed = n < kExactRows ? static_cast<std::size_t>(n) + 1 : kExactRows;
  const std::size_t rows = std::clamp(needed, std::min(2 * exact_.size() / kColumns, kExactRows), kExactRows);
  exact_.reserve(rows * kColumns);
  while (exact_.size() < rows * kColumns) add_exact_row();
  if (n >= kExactRows) {
    const double place = kPerOctave * std::log2(n / kFirstSpaced);
    const std::size_t spaced = static_cast<std::size_t>(place) + 4;
    while (spaced_.size() < spaced * kColumns) add_spaced_row();
  }
  ready_ = std::max(n, static_cast<double>(rows) - 1);
}

// From S(n+1, t) = S(n, t-1) + n S(n, t): r(n+1, t) = (1 + n r(n, t)) / (1 / r(n, t-1) + n), and r(n, n) = 0.
void StirlingRatios::add_exact_row() {
  const std::size_t row = exact_.size() / kColumns;
  exact_.resize(exact_.size() + kColumns, 0.0);
  if (row < 2) return;
  const std::size_t n = row - 1;
  const double* old = exact_.data() + n * kColumns;
  double* fresh = exact_.data() + row * kColumns;
  const auto count = static_cast<double>(n);
  for (std::size_t t = 1; t < std::min(kColumns, n + 1); ++t)
    fresh[t] = (1 + count * old[t]) / ((t > 1 ? 1 / old[t - 1] : 0.0) + count);
}

// The numbers S(n, t) are the coefficients of x (x+1) .. (x+n-1), so those of a larger n come from multiplying by
// (x+n) .. (x+n+m-1), which is a constant times exp(sum over k of -(-x)^k / k * power_sum(k, n, m)). The powers of x are
// scaled so that all 512 coefficients fit into doubles.
void StirlingRatios::add_spaced_row() {
  if (spaced_.empty()) {
    spaced_.assign(exact_.begin() + kFirstSpaced * kColumns, exact_.begin() + (kFirstSpaced + 1) * kColumns);
    return;
  }
  constexpr int kTerms = 12;
  const auto spacing = [](std::size_t row) {
    return kFirstSpaced * std::exp2(static_cast<double>(row) / static_cast<double>(kPerOctave));
  };
  const std::size_t row = spaced_.size() / kColumns;
  const double n = spacing(row - 1), m = spacing(row) - n;
  const double* old = spaced_.data() + spaced_.size() - kColumns;
  const double scale = 1 / old[kColumns / 2];
  std::array<double, kTerms + 1> slope{};  // of the logarithm: slope[k] is k times its coefficient of x^k
  for (int k = 1; k <= kTerms; ++k)
    slope[static_cast<std::size_t>(k)] = (k % 2 == 1 ? 1 : -1) * std::pow(scale, k) * power_sum(k, n, m);
  std::vector<double> number(kColumns, 1.0), factor(kColumns, 1.0), product(kColumns, 0.0);
  for (std::size_t t = 1; t < kColumns; ++t) {
    number[t] = number[t - 1] * old[t] * scale;
    factor[t] = 0;
    for (std::size_t k = 1; k <= std::min<std::size_t>(kTerms, t); ++k) factor[t] += slope[k] * factor[t - k];
    factor[t] /= static_cast<double>(t);
  }
  for (std::size_t t = 0; t < kColumns; ++t)
    for (std::size_t i = 0; i <= t; ++i) product[t] += factor[i] * number[t - i];
  spaced_.push_back(0.0);
  for (std::size_t t = 1; t < kColumns; ++t) spaced_.push_back(product[t] / (product[t - 1] * scale));
}

// Lagrange interpolation by the six nearest rows: the ratios are smooth functions of log n.
double StirlingRatios::between_rows(double n, std::size_t t) const {
  const double place = kPerOctave * std::log2(n / kFirstSpaced), below = std::floor(place), f = place - below;
  const double* row = spaced_.data() + (static_cast<std::size_t>(below) - 2) * kColumns + t;
  const double p2 = f + 2, p1 = f + 1, m1 = f - 1, m2 = f - 2, m3 = f - 3;
  const double left = p2 * p1 * f, right = m1 * m2 * m3;
  return (-p1 * f * right * row[0] + 5 * p2 * f * right * row[kColumns] - 10 * p2 * p1 * right * row[2 * kColumns] +
          10 * left * m2 * m3 * row[3 * kColumns] - 5 * left * m1 * m3 * row[4 * kColumns] +
          left * m1 * m2 * row[5 * kColumns]) /
         120;
}

// The number of successes T among independent trials with chances x / (x + i), i = 1 .. n-1, has P(T = t) in proportion to
// S(n, t+1) x^t. For the x that puts the mean of T half-way between t-1 and t, P(T = t) / P(T = t-1) is close to 1; what is
// missing is taken from the binomial distribution with the same second and third cumulants, for which it is known.
double StirlingRatios::with_many_tables(double n, double t) {
  constexpr int kMostSteps = 100;
  const double m = n - 1, mean = t - 0.5;
  const double wanted = mean / (m - mean);
  double x = wanted * m / 2, second = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    const double ones = x * power_sum(1, x + 1, m), zeros = m - ones;
    second = ones - x * x * power_sum(2, x + 1, m);
    if (!(zeros > 0 && second > 0)) break;
    // Newton's method for the log odds of the mean by log x: the slope is 1 if all chances are alike.
    const double by = std::log(wanted * zeros / ones) * ones * zeros / (second * m);
    x *= std::exp(std::clamp(by, -3.0, 3.0));
    if (std::abs(by) < 1e-9) break;
  }
  const double squares = x * x * power_sum(2, x + 1, m), cubes = x * x * x * power_sum(3, x + 1, m);
  const double third = second - 2 * (squares - cubes);
  const double p = std::clamp((1 - third / second) / 2, 0.0, 1.0);
  return (2 * second + p) / (2 * second + 1 - p) / x;
}

std::vector<double> StirlingRatios::next_tables(double n, const std::vector<double>& tables) const {
  std::vector<double> ratios;
  for (const double t : tables) {
    if (!(t >= 1 && t < n)) throw std::invalid_argument("t must lie between 1 and n - 1");
    ratios.push_back(next_table(n, t));
  }
  return ratios;
}

double StirlingRatios::log_number(double n, double t) const {
  double log = std::lgamma(n);  // S(n, 1) = (n-1)!
  for (double x = 1; x < t; ++x) log += std::log(next_table(n, x));
  return log;
}

}  // namespace petiole
