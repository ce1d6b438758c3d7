// StrangerReport: says who was turned away, without letting strangers fill the terminal.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace coracle::internals::tcp {

class StrangerReport {
 public:
  void dropped(std::uint32_t rank, const std::string& address, const char* why) noexcept {
    constexpr int kSaidMax = 8;
    if (++count_ > kSaidMax) return;
    std::fprintf(stderr, "coracle: rank %u: dropped a connection from %s: %s%s\n", rank, address.c_str(), why,
                 count_ == kSaidMax ? " (later ones are not reported)" : "");
  }

 private:
  int count_ = 0;
};

}  // namespace coracle::internals::tcp
