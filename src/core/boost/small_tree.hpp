// A tree of few leaves in which the leaves of many rows are found by comparing all of them with every test, without branches.
//
// Leaves are bits, numbered from left to right. A test that sends a row to the right rules out the leaves to its left. The
// first leaf that no test has ruled out is the row's (QuickScorer, Lucchese et al. 2015; here rows side by side).
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "base/simd.hpp"
#include "base/types.hpp"

namespace petiole::boosting {

class SmallTree {
 public:
  static constexpr std::size_t kLanes = 16;  // rows that are compared together
  static constexpr std::size_t kMostLeaves = 32;

  SmallTree() = default;

  // test_of(node) is the (slot, threshold) of a node and first_child_of(node) its left child, which is the node itself at a
  // leaf; the right child comes next. value_of(node) is what a leaf adds.
  template <class TestOf, class FirstChildOf, class ValueOf>
  SmallTree(std::size_t root, TestOf&& test_of, FirstChildOf&& first_child_of, ValueOf&& value_of) {
    add(root, test_of, first_child_of, value_of);
  }

  bool is_set() const { return !values_.empty(); }

  // Adds the values of the leaves of kLanes rows to out[0], out[stride], ...; values[slot * kLanes + row] is a row's value.
  void add_to(const float* values, std::size_t n_rows, double* out, std::size_t stride) const {
    alignas(16) std::array<std::uint32_t, kLanes> left;
    rule_out(values, left.data());
    for (std::size_t i = 0; i < n_rows; ++i) out[i * stride] += values_[static_cast<std::size_t>(std::countr_zero(left[i]))];
  }

 private:
  struct Test {
    float threshold;
    std::uint32_t slot;         // of the value
    std::uint32_t to_the_left;  // leaves that are out of reach if the value is larger
  };

  // Writes the leaves that the tests leave over, for each of kLanes rows.
#ifdef PETIOLE_SSE2
  void rule_out(const float* values, std::uint32_t* left) const {
    constexpr std::size_t kVectors = kLanes / 4;
    __m128i over[kVectors];
    std::fill_n(over, kVectors, _mm_set1_epi32(-1));
    for (const Test& test : tests_) {
      const __m128 threshold = _mm_set1_ps(test.threshold);
      const __m128i to_the_left = _mm_set1_epi32(static_cast<std::int32_t>(test.to_the_left));
      for (std::size_t i = 0; i < kVectors; ++i) {
        const __m128 larger = _mm_cmpgt_ps(_mm_loadu_ps(values + test.slot * kLanes + 4 * i), threshold);
        over[i] = _mm_andnot_si128(_mm_and_si128(_mm_castps_si128(larger), to_the_left), over[i]);
      }
    }
    for (std::size_t i = 0; i < kVectors; ++i) _mm_store_si128(reinterpret_cast<__m128i*>(left) + i, over[i]);
  }
#else
  void rule_out(const float* values, std::uint32_t* left) const {
    std::fill_n(left, kLanes, ~0u);
    for (const Test& test : tests_)
      for (std::size_t i = 0; i < kLanes; ++i)
        left[i] &= ~(values[test.slot * kLanes + i] > test.threshold ? test.to_the_left : 0u);
  }
#endif

  template <class TestOf, class FirstChildOf, class ValueOf>
  void add(std::size_t node, TestOf& test_of, FirstChildOf& first_child_of, ValueOf& value_of) {
    const std::size_t child = first_child_of(node);
    if (child == node) {
      values_.push_back(value_of(node));
      return;
    }
    const auto [slot, threshold] = test_of(node);
    const std::size_t first = values_.size();
    add(child, test_of, first_child_of, value_of);
    const std::uint32_t to_the_left = (~0u >> (kMostLeaves - (values_.size() - first))) << first;
    tests_.push_back({threshold, slot, to_the_left});
    add(child + 1, test_of, first_child_of, value_of);
  }

  std::vector<Test> tests_;
  std::vector<double> values_;  // of leaves from left to right
};

}  // namespace petiole::boosting
