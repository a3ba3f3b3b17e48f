// An array of integer codes in the narrowest type that holds them.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/types.hpp"

namespace petiole {

class Codes {
 public:
  Codes() = default;

  // Room for `size` codes below `limit`; the values are not initialised.
  Codes(std::size_t size, std::uint64_t limit) : size_(size), width_(limit <= 256 ? 1 : limit <= 65536 ? 2 : 4) {
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(size * static_cast<std::size_t>(width_));
  }

  Codes(const Codes& other) : size_(other.size_), width_(other.width_) {
    const std::size_t n_bytes = size_ * static_cast<std::size_t>(width_);
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(n_bytes);
    std::copy_n(other.bytes_.get(), n_bytes, bytes_.get());
  }
  Codes(Codes&&) = default;
  Codes& operator=(const Codes& other) { return *this = Codes(other); }
  Codes& operator=(Codes&&) = default;

  // Calls f with a typed pointer to the codes.
  template <class F>
  decltype(auto) visit(F&& f) const {
    if (width_ == 1) return f(reinterpret_cast<std::uint8_t*>(bytes_.get()));
    if (width_ == 2) return f(reinterpret_cast<std::uint16_t*>(bytes_.get()));
    return f(reinterpret_cast<std::uint32_t*>(bytes_.get()));
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int width() const { return width_; }

  // All of them as wider numbers.
  template <class T>
  std::vector<T> widened() const {
    return visit([this](const auto* codes) { return std::vector<T>(codes, codes + size_); });
  }

  std::uint32_t at(std::size_t i) const {
    return visit([i](const auto* codes) { return static_cast<std::uint32_t>(codes[i]); });
  }

 private:
  std::size_t size_ = 0;
  int width_ = 4;
  std::unique_ptr<std::byte[]> bytes_;
};

// Packs whole numbers from 0.
template <class T>
Codes to_codes(const std::vector<T>& values) {
  std::uint64_t largest = 0;
  for (const T value : values) largest = std::max(largest, static_cast<std::uint64_t>(value));
  Codes codes(values.size(), largest + 1);
  codes.visit([&](auto* out) {
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<std::remove_pointer_t<decltype(out)>>(values[i]);
  });
  return codes;
}

// Whether weights can be packed without loss: they are whole numbers from 0 that fit into the widest code.
inline bool are_codes(const std::vector<double>& weights) {
  return std::all_of(weights.begin(), weights.end(),
                     [](double weight) { return !(weight < 0 || weight > 4294967295.0 || weight != std::floor(weight)); });
}

}  // namespace petiole
