// Tags: SipHash-2-4 as its authors give it.
#include "runtime/job/directory.hpp"

#include <bit>

namespace coracle::internals {
namespace {

std::uint64_t load(const void* from, std::size_t bytes) noexcept {
  const auto* octets = static_cast<const std::uint8_t*>(from);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t{octets[i]} << (8 * i);
  return value;
}

struct State {
  std::uint64_t v0, v1, v2, v3;

  void mix(int rounds) noexcept {
    for (int i = 0; i < rounds; ++i) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }
  void absorb(std::uint64_t word) noexcept {
    v3 ^= word;
    mix(2);
    v0 ^= word;
  }
};

}  // namespace

std::uint64_t key_tag(std::span<const std::byte> message, const JobKey& key) noexcept {
  const std::uint64_t k0 = load(key.bytes.data(), 8);
  const std::uint64_t k1 = load(key.bytes.data() + 8, 8);
  State state{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573};
  std::size_t at = 0;
  for (; at + 8 <= message.size(); at += 8) state.absorb(load(message.data() + at, 8));
  state.absorb(load(message.data() + at, message.size() - at) | std::uint64_t{message.size() & 0xff} << 56);
  state.v2 ^= 0xff;
  state.mix(4);
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

bool same_key(const JobKey& one, const JobKey& other) noexcept {
  const std::uint64_t first = load(one.bytes.data(), 8) ^ load(other.bytes.data(), 8);
  const std::uint64_t second = load(one.bytes.data() + 8, 8) ^ load(other.bytes.data() + 8, 8);
  return same_tag(first | second, 0);
}

bool same_tag(std::uint64_t one, std::uint64_t other) noexcept {
  std::uint64_t difference = one ^ other;
  asm("" : "+r"(difference));  // all of it is needed: no compiler may stop at the first byte that differs
  return difference == 0;
}

}  // namespace coracle::internals
