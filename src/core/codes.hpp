// An array of integer codes in the narrowest type that holds them.
#pragma once

#include "types.hpp"

namespace petiole {

class Codes {
 public:
  Codes() = default;

  // Room for `size` codes below `limit`; the values are not initialised.
  Codes(std::size_t size, std::uint64_t limit) : width_(limit <= 256 ? 1 : limit <= 65536 ? 2 : 4) {
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(size * static_cast<std::size_t>(width_));
  }

  // Calls f with a typed pointer to the codes.
  template <class F>
  decltype(auto) visit(F&& f) const {
    if (width_ == 1) return f(reinterpret_cast<std::uint8_t*>(bytes_.get()));
    if (width_ == 2) return f(reinterpret_cast<std::uint16_t*>(bytes_.get()));
    return f(reinterpret_cast<std::uint32_t*>(bytes_.get()));
  }

  int width() const { return width_; }

  std::uint32_t at(std::size_t i) const {
    return visit([i](const auto* codes) { return static_cast<std::uint32_t>(codes[i]); });
  }

 private:
  int width_ = 4;
  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace petiole
