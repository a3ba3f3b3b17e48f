// Sixty-four counters at once, for features with few rows per value: the walk over codes is most of the time that a large
// numeric node takes.
#pragma once

#include <bit>
#include <cstdint>

#include "base/simd.hpp"

namespace petiole {

inline constexpr std::uint32_t kBlockCodes = 64;

#if defined(PETIOLE_SSE2)
inline constexpr bool kHasCodeBlocks = true;

// A counter holds the weights of two classes in 8 bits each.
struct CodeBlock {
  // The weights before each code and, last, of the whole block.
  alignas(16) std::uint16_t zero[kBlockCodes + 8];
  alignas(16) std::uint16_t one[kBlockCodes + 8];
  std::uint64_t cuts = 0;  // codes in use after one of another class, or after more than one unused code
  std::uint32_t n_used = 0;

  // Reads the counters and empties them.
  void take(std::uint16_t* counters) {
    __m128i sums[2] = {_mm_setzero_si128(), _mm_setzero_si128()};
    __m128i last = _mm_setzero_si128();
    std::uint64_t used = 0;
    for (std::uint32_t i = 0; i < kBlockCodes; i += 16) {
      const Masks low = take_eight(counters + i, i, sums, last);
      const Masks high = take_eight(counters + i + 8, i + 8, sums, last);
      cuts |= std::uint64_t{bits(low.cut, high.cut)} << i;
      used |= std::uint64_t{bits(low.used, high.used)} << i;
    }
    zero[kBlockCodes] = static_cast<std::uint16_t>(_mm_cvtsi128_si32(sums[0]));
    one[kBlockCodes] = static_cast<std::uint16_t>(_mm_cvtsi128_si32(sums[1]));
    n_used = static_cast<std::uint32_t>(std::popcount(used));
  }

 private:
  struct Masks {
    __m128i cut, used;
  };

  static std::uint32_t bits(__m128i low, __m128i high) {
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
  }

  // `sums`: the weights of the block so far, in every lane; `last`: the eight counters before.
  Masks take_eight(std::uint16_t* counters, std::uint32_t at, __m128i (&sums)[2], __m128i& last) {
    const __m128i none = _mm_setzero_si128();
    const __m128i here = _mm_load_si128(reinterpret_cast<const __m128i*>(counters));
    _mm_store_si128(reinterpret_cast<__m128i*>(counters), none);
    const __m128i of_zero = _mm_and_si128(here, _mm_set1_epi16(0xff)), of_one = _mm_srli_epi16(here, 8);
    sums[0] = put_sums(of_zero, sums[0], zero + at);
    sums[1] = put_sums(of_one, sums[1], one + at);
    const __m128i one_before = _mm_or_si128(_mm_slli_si128(here, 2), _mm_srli_si128(last, 14));
    const __m128i two_before = _mm_or_si128(_mm_slli_si128(here, 4), _mm_srli_si128(last, 12));
    const __m128i previous = _mm_or_si128(one_before, _mm_and_si128(_mm_cmpeq_epi16(one_before, none), two_before));
    last = here;
    const __m128i both = _mm_or_si128(here, previous);
    const __m128i pure = _mm_or_si128(_mm_cmpeq_epi16(_mm_and_si128(both, _mm_set1_epi16(0xff)), none),
                                      _mm_cmpeq_epi16(_mm_srli_epi16(both, 8), none));
    const __m128i unused = _mm_cmpeq_epi16(here, none);
    const __m128i run_goes_on = _mm_andnot_si128(_mm_cmpeq_epi16(previous, none), pure);
    const __m128i all = _mm_cmpeq_epi16(none, none);
    return {_mm_andnot_si128(_mm_or_si128(unused, run_goes_on), all), _mm_andnot_si128(unused, all)};
  }

  // Writes the sums before each of eight numbers, and returns the sum after the last, in every lane.
  static __m128i put_sums(__m128i numbers, __m128i so_far, std::uint16_t* out) {
    __m128i sums = _mm_add_epi16(numbers, _mm_slli_si128(numbers, 2));
    sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 4));
    sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 8));
    sums = _mm_add_epi16(sums, so_far);
    _mm_store_si128(reinterpret_cast<__m128i*>(out), _mm_sub_epi16(sums, numbers));
    const __m128i last = _mm_shufflehi_epi16(sums, 0xff);
    return _mm_unpackhi_epi64(last, last);
  }
};
#else
inline constexpr bool kHasCodeBlocks = false;

struct CodeBlock {  // never used
  std::uint16_t zero[kBlockCodes + 1], one[kBlockCodes + 1];
  std::uint64_t cuts = 0;
  std::uint32_t n_used = 0;
  void take(std::uint16_t*) {}
};
#endif

}  // namespace petiole
