// The standard normal distribution function, for many numbers at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace petiole {

// Beyond this the function is 0 or 1 to within 1e-17.
inline constexpr double kFarNormal = 8.5;

// P(Z <= z), off by less than 1e-13; z is not NaN.
double normal_cdf(double z);
double normal_density(double z);

// out[i] = P(Z <= z[i] + shift).
void normal_cdf(const double* z, std::size_t n, double shift, double* out);

// z[i] = (threshold - x[rows[i]]) * inverse.
void standardise(const double* x, const std::int32_t* rows, std::size_t n, double threshold, double inverse, double* z);

}  // namespace petiole
