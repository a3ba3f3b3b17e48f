#pragma once

struct LazyTestResult {
  int n_passed = 0, n_failed = 0;
};

LazyTestResult lazy_tests();
