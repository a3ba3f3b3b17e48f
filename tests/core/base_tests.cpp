// Numbers.
#include "base/normal_cdf.hpp"

#include "support.hpp"

namespace {

void test_normal_cdf() {
  double worst = 0;
  for (double z = -12; z <= 12; z += 0.001)
    worst = std::max(worst, std::abs(normal_cdf(z) - 0.5 * std::erfc(-z / std::sqrt(2.0))));
  CHECK(worst < 1e-14);
  const std::array<double, 5> far = {-HUGE_VAL, -1e300, 0.0, 1e300, HUGE_VAL};
  std::array<double, 5> found{};
  normal_cdf(far.data(), far.size(), 0.0, found.data());
  CHECK(found[0] < 1e-16 && found[1] < 1e-16 && std::abs(found[2] - 0.5) < 1e-14 && found[3] == 1 && found[4] == 1);
}

}  // namespace

void base_tests() { test_normal_cdf(); }
