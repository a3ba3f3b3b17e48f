#include "normal_cdf.hpp"

#include <algorithm>
#include <array>
#include <cmath>

// These loops are several times faster with wide registers, which not every machine has: the choice is made when the
// library is loaded, where the compiler and the C library can do that.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define PETIOLE_ALSO_WIDE __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define PETIOLE_ALSO_WIDE
#endif

namespace petiole {
namespace {

constexpr int kPerUnit = 64;
constexpr int kMiddle = static_cast<int>(kFarNormal * kPerUnit);

struct Points {
  std::array<double, 2 * kMiddle + 1> below, density;

  Points() {
    for (int k = 0; k <= 2 * kMiddle; ++k) {
      const double z = static_cast<double>(k - kMiddle) / kPerUnit;
      below[static_cast<std::size_t>(k)] = 0.5 * std::erfc(-z / std::sqrt(2.0));
      density[static_cast<std::size_t>(k)] = normal_density(z);
    }
    // Beyond the last points the function is constant.
    below.front() = 0;
    below.back() = 1;
    density.front() = density.back() = 0;
  }
};

const Points kPoints;

// Phi(a + d) = Phi(a) + phi(a) * sum over n of (-1)^(n-1) He_(n-1)(a) d^n / n!; with |d| <= 1/128 five terms are enough.
inline __attribute__((always_inline)) double look_up(double z) {
  z = z < -kFarNormal ? -kFarNormal : z > kFarNormal ? kFarNormal : z;
  const int k = static_cast<int>(z * kPerUnit + (kMiddle + 0.5));
  const double a = (k - kMiddle) * (1.0 / kPerUnit), d = z - a, a2 = a * a;
  const double third = (a2 - 1) * (1.0 / 6), fourth = a * (3 - a2) * (1.0 / 24);
  const double fifth = (a2 * (a2 - 6) + 3) * (1.0 / 120);
  const double series = 1 + d * (-0.5 * a + d * (third + d * (fourth + d * fifth)));
  return kPoints.below[static_cast<std::size_t>(k)] + kPoints.density[static_cast<std::size_t>(k)] * d * series;
}

}  // namespace

double normal_cdf(double z) { return look_up(z); }

double normal_density(double z) { return 0.3989422804014327 * std::exp(-0.5 * z * z); }

PETIOLE_ALSO_WIDE void normal_cdf(const double* z, std::size_t n, double shift, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = look_up(z[i] + shift);
}

PETIOLE_ALSO_WIDE void standardise(const double* x, const std::int32_t* rows, std::size_t n, double threshold, double inverse,
                                   double* z) {
  for (std::size_t i = 0; i < n; ++i) z[i] = (threshold - x[rows[i]]) * inverse;
}

}  // namespace petiole
