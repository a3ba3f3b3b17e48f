#include "base/normal_cdf.hpp"

#include <bit>
#include <cmath>

// These loops are several times faster with wide registers, which not every machine has: the choice is made when the
// library is loaded, where the compiler and the C library can do that.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define PETIOLE_ALSO_WIDE __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define PETIOLE_ALSO_WIDE
#endif
#if defined(__GNUC__)
#define PETIOLE_ALWAYS_INLINE inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define PETIOLE_ALWAYS_INLINE __forceinline
#else
#define PETIOLE_ALWAYS_INLINE inline
#endif

namespace petiole {
namespace {

// exp(-y) for y from 0 to 700: 2^-k times the series of exp(-r), |r| <= ln(2) / 2.
PETIOLE_ALWAYS_INLINE double exp_of_minus(double y) {
  // Adding this rounds to a whole number and leaves it in the lowest bits.
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
  const double rounded = y * 1.4426950408889634 + kRound;
  const double r = y - (rounded - kRound) * 0.6931471805599453;
  double series = -1.0 / 39916800;
  series = series * r + 1.0 / 3628800;
  series = series * r - 1.0 / 362880;
  series = series * r + 1.0 / 40320;
  series = series * r - 1.0 / 5040;
  series = series * r + 1.0 / 720;
  series = series * r - 1.0 / 120;
  series = series * r + 1.0 / 24;
  series = series * r - 1.0 / 6;
  series = series * r + 0.5;
  series = series * r - 1.0;
  series = series * r + 1.0;
  const std::uint64_t k = std::bit_cast<std::uint64_t>(rounded);
  return series * std::bit_cast<double>((1023 - k) << 52);
}

// P(Z <= -t) = exp(-t^2 / 2) * P(u) with u = 1 / (1 + 0.28 t), for t from 0 to 8.5. The coefficients are those of the least
// largest error, found by reweighted least squares (7.5e-15).
PETIOLE_ALWAYS_INLINE double cdf(double z) {
  const double distance = std::abs(z);
  const double t = distance < kFarNormal ? distance : kFarNormal;
  const double u = 1 / (1 + 0.28 * t);
  double series = 0.011989645019888778;
  series = series * u - 0.11129313362404909;
  series = series * u + 0.4450522489353381;
  series = series * u - 0.9803349152160106;
  series = series * u + 1.278044864894026;
  series = series * u - 1.0764322911669004;
  series = series * u + 0.7453690068172705;
  series = series * u - 0.21366339710522542;
  series = series * u + 0.19432990722587834;
  series = series * u + 0.09308165114593357;
  series = series * u + 0.11398340402183899;
  series = series * u - 0.00012699094798129806;
  // Written without a choice between two results, which compilers would not do for several numbers at once.
  return 0.5 + std::copysign(0.5 - series * exp_of_minus(0.5 * t * t), z);
}

}  // namespace

double normal_cdf(double z) { return cdf(z); }

double normal_density(double z) { return 0.3989422804014327 * std::exp(-0.5 * z * z); }

PETIOLE_ALSO_WIDE void normal_cdf(const double* z, std::size_t n, double shift, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = cdf(z[i] + shift);
}

PETIOLE_ALSO_WIDE void standardise(const double* x, const std::int32_t* rows, std::size_t n, double threshold, double inverse,
                                   double* z) {
  for (std::size_t i = 0; i < n; ++i) z[i] = (threshold - x[rows[i]]) * inverse;
}

}  // namespace petiole
