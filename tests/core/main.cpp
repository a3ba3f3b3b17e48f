// The core's own tests: laws on random data of odd shapes, meant to be run under sanitizers as well (`make sanitize`).
#include <cstdlib>

#include "support.hpp"

int main() {
  base_tests();
  data_tests();
  tree_tests();
  grow_tests();
  forest_tests();
  votes_tests();
  estimate_tests();
  soft_tests();
  lazy_tests();
  linear_tests();
  explain_tests();
  boost_tests();
  std::printf("%d passed, %d failed\n", n_passed, n_failed);
  return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
