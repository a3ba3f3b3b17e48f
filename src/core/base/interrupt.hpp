// Long loops count their work and from time to time ask the caller whether to continue.
#pragma once

#include <cstdint>
#include <functional>

#include "base/types.hpp"

namespace petiole {

class Interrupt {
 public:
  Interrupt() = default;
  explicit Interrupt(std::function<bool()> requested) : requested_(std::move(requested)) {}

  bool requested() { return requested_ && requested_(); }

  // `work` counts visited cells; about four million of them (some ten milliseconds) lie between two polls.
  void check(std::uint64_t work) {
    done_ += work;
    if (done_ < kWorkPerPoll) return;
    done_ = 0;
    if (requested()) throw Interrupted();
  }

 private:
  static constexpr std::uint64_t kWorkPerPoll = std::uint64_t{1} << 22;
  std::function<bool()> requested_;
  std::uint64_t done_ = 0;
};

}  // namespace petiole
