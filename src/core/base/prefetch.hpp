// A hint that memory will be read soon. It changes no result; other compilers ignore it.
#pragma once

namespace petiole {

inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

}  // namespace petiole
