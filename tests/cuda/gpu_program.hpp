// What programs have in common that every rank runs with a GPU on the stand-in: the driver, and memory of all kinds.
#pragma once

#include <fmt/format.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda/fake_cuda.hpp"
#include "transports/cuda/device_owner.hpp"
#include "transports/cuda/gpu.hpp"

namespace coracle::internals::test {

/// To be set before machine() is used.
inline FakeAbilities abilities;

inline FakeMachine& machine() {
  static FakeMachine machine(abilities);
  return machine;
}

/// Of this process: ranks that are threads share it, as they would share a driver.
inline FakeCuda& driver() {
  static FakeCuda cuda(machine());
  return cuda;
}

inline void require(bool holds, std::string_view what) {
  if (!holds) throw Error(Errc::bad_input, fmt::format("does not hold: {}", what));
}

inline void require_no_misuse() {
  for (const std::string& misuse : driver().misuses())
    throw Error(Errc::bad_input, "the driver was misused: " + misuse);
}

/// Whether this process has been started to make all calls of the driver for ranks that share an address space.
inline bool owns_devices() {
  return std::getenv(DeviceOwnerRecord::kVariable) != nullptr;
}
/// Its work; returns its exit status.
inline int own_devices() {
  const int status = cuda::own_devices_on(driver());
  const std::vector<std::string> misuses = driver().misuses();
  for (const std::string& misuse : misuses) fmt::print(stderr, "the driver was misused: {}\n", misuse);
  return misuses.empty() ? status : 1;
}

/// Of all ranks: when it returns at rank `last`, no other waits for that one any more, so that it may die.
inline Task<> let_die(Rank& self, std::uint32_t last) {
  const std::uint32_t ready = 1;
  if (self.id() != last) co_return co_await self.world().send(std::span(&ready, 1), last);
  for (std::uint32_t others = self.size() - 1; others > 0; --others)
    static_cast<void>(co_await self.world().recv_value<std::uint32_t>());
}

using Bytes = std::vector<std::byte>;

inline Bytes random_bytes(std::mt19937_64& random, std::size_t count) {
  Bytes bytes(count);
  std::generate(bytes.begin(), bytes.end(), [&random] { return static_cast<std::byte>(random()); });
  return bytes;
}

/// Where bytes can lie at a rank.
enum class Kind { pageable, segment, device };
inline constexpr std::array kKinds{Kind::pageable, Kind::segment, Kind::device};

struct Place {
  std::span<std::byte> bytes;
  Remote<std::byte> remote;
};

/// A rank's memory of all kinds.
struct Memory {
  static constexpr std::size_t kBytes = 600'000;

  Memory(Rank& rank, Gpu& gpu)
      : own(kBytes), segment(rank.allocate<std::byte>(kBytes)), device(gpu.allocate<std::byte>(kBytes)) {}
  Place of(Kind kind) {
    if (kind == Kind::pageable) return {own, {}};
    return kind == Kind::segment ? Place{segment.local(), segment.remote()} : Place{device.local(), device.remote()};
  }

  Bytes own;
  Slab<std::byte> segment;
  DeviceSlab<std::byte> device;
};

/// Fills any memory of this rank.
inline Task<> fill(Rank& self, Place place, std::span<const std::byte> with) {
  if (place.remote.address().segment == RemoteAddress::kOwnSegment) {
    std::copy(with.begin(), with.end(), place.bytes.begin());
    co_return;
  }
  co_await self.put(with, place.remote);
}

inline Task<Bytes> content(Rank& self, Place place, std::size_t count) {
  Bytes bytes(count);
  if (place.remote.address().segment == RemoteAddress::kOwnSegment)
    std::copy_n(place.bytes.begin(), count, bytes.begin());
  else
    co_await self.get(place.remote, std::span(bytes));
  co_return bytes;
}

/// `attempt` must throw an Error with this code.
template <class Attempt>
Task<> refused(Errc code, Attempt attempt, std::string_view what) {
  std::string thrown = "nothing";
  try {
    co_await attempt();
  } catch (const Error& error) {
    if (error.code() == code) co_return;
    thrown = error.what();
  }
  throw Error(Errc::bad_input, fmt::format("does not hold: {}; thrown was: {}", what, thrown));
}

}  // namespace coracle::internals::test
