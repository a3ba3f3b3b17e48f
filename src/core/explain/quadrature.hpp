// Points and weights of Gauss and Legendre on the interval from 0 to 1: exact for polynomials of degree 2n - 1.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

namespace petiole {

struct Quadrature {
  std::vector<double> point, weight;

  explicit Quadrature(int n) : point(static_cast<std::size_t>(n)), weight(static_cast<std::size_t>(n)) {
    for (int i = 0; i < n; ++i) {
      double x = std::cos(std::numbers::pi * (i + 0.75) / (n + 0.5)), slope = 1;
      for (int step = 0; step < 100; ++step) {  // Newton's method, which needs some five steps
        double here = 1, before = 0;
        for (int k = 1; k <= n; ++k) {
          const double earlier = before;
          before = here;
          here = ((2 * k - 1) * x * before - (k - 1) * earlier) / k;
        }
        slope = n * (x * here - before) / (x * x - 1);
        const double moved = here / slope;
        x -= moved;
        if (std::abs(moved) < 1e-15) break;
      }
      const auto at = static_cast<std::size_t>(i);
      point[at] = (1 + x) / 2;
      weight[at] = 1 / ((1 - x * x) * slope * slope);
    }
  }
};

}  // namespace petiole
