// Counter-based random numbers: a node's numbers depend on the seed and on the path to the node, never on the order
// in which nodes are grown, so any number of threads gives the same tree.
#pragma once

#include <cstdint>

namespace petiole {

// The finaliser of SplitMix64 (Steele, Lea & Flood 2014).
inline std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

inline std::uint64_t derive_key(std::uint64_t key, std::uint64_t branch) { return mix(key ^ mix(branch + 1)); }

class Random {
 public:
  explicit Random(std::uint64_t key) : state_(key) {}

  std::uint64_t next() { return mix(state_++); }

  // Uniform in 0..n-1; the bias of 2^-32 for n below 2^32 is of no consequence here.
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32); }

 private:
  std::uint64_t state_;
};

}  // namespace petiole
