// The plan of a message follows from its seed, so that its receiver knows what was sent.
#include "tests/messages/scattered_traffic.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/layout/area.hpp"

namespace coracle::internals::test {
namespace {

constexpr int kLevels = 3;

Described layout_with_bytes(Dice& dice, bool may_overlap) {
  for (;;) {
    Described described = dice.one_in(5) ? Described{Layout::bytes(64), plain_bytes(64)} : random_layout(dice, kLevels);
    if (described.map.bytes.empty()) continue;
    if (may_overlap || !described.map.repeated(3).overlaps()) return described;
  }
}

/// As many repetitions as make `bytes`, or fewer where the layout reaches too far.
std::uint64_t repetitions(const Described& described, std::uint64_t bytes) {
  constexpr std::uint64_t kReachMax = 8 << 20;
  const auto extent = static_cast<std::uint64_t>(std::abs(described.map.extent()));
  return std::min(bytes / described.map.bytes.size() + 1, kReachMax / std::max<std::uint64_t>(extent, 1) + 1);
}

std::uint64_t seed_of(const ScatteredOptions& options, std::uint32_t from, std::uint32_t to, std::uint32_t number) {
  return ((options.seed * 1009 + from) * 1009 + to) * 1009 + number;
}

/// What is sent.
Area source_of(Dice& dice, const ScatteredOptions& options) {
  constexpr std::uint64_t kSmall = 700;
  const std::uint64_t most = dice.one_in(2) ? kSmall : options.bytes_max;
  Described described = layout_with_bytes(dice, true);
  const auto bytes = static_cast<std::uint64_t>(dice.between(1, static_cast<std::int64_t>(most)));
  const std::uint64_t count = repetitions(described, bytes);
  Area area(std::move(described), count);
  dice.fill(area.memory);
  return area;
}

/// Where it is received; has room for it unless repetitions of every layout tried lie over each other.
std::optional<Area> target_for(Dice& dice, std::uint64_t bytes) {
  constexpr int kTries = 20;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    Described described = layout_with_bytes(dice, false);
    const std::uint64_t count = (bytes + described.map.bytes.size() - 1) / described.map.bytes.size();
    if (repetitions(described, bytes) < count) continue;
    Area area(std::move(described), count);
    if (!area.all.overlaps()) return area;
  }
  return std::nullopt;
}

Task<> send_all(Team& team, ScatteredOptions options, std::uint32_t to) {
  for (std::uint32_t number = 0; number < options.messages; ++number) {
    Dice dice(seed_of(options, team.index(), to, number));
    Area area = source_of(dice, options);
    if (options.sleeps && dice.one_in(3)) co_await sleep_for(std::chrono::microseconds(dice.between(0, 50)));
    const ScatteredSource source = area.source();
    co_await team.send(source, to, number);
  }
}

Task<> receive_all(Team& team, ScatteredOptions options, std::uint32_t from) {
  for (std::uint32_t number = 0; number < options.messages; ++number) {
    const std::uint64_t seed = seed_of(options, from, team.index(), number);
    Dice dice(seed);
    Area sent = source_of(dice, options);
    Dice mine(seed + 1);
    if (options.sleeps && mine.one_in(3)) co_await sleep_for(std::chrono::microseconds(mine.between(0, 50)));
    std::optional<Area> area = target_for(mine, sent.bytes());
    if (!area) area.emplace(Described{Layout::bytes(1), plain_bytes(1)}, sent.bytes());
    const std::vector<std::byte> before = area->memory;
    const ScatteredTarget target = area->target();
    const Received received = co_await team.recv(target, from, number);
    const std::vector<std::byte> after = std::exchange(area->memory, before);
    for (std::uint64_t i = 0; i < sent.bytes(); ++i) area->at(i) = sent.at(i);
    if (received.bytes == sent.bytes() && after == area->memory) continue;
    throw std::runtime_error("scattered traffic of seed " + std::to_string(options.seed) + ", message " +
                             std::to_string(number) + " of member " + std::to_string(from) + " to " +
                             std::to_string(team.index()) + ": " + std::to_string(received.bytes) + " bytes of " +
                             std::to_string(sent.bytes()) + ", " + sent.what.layout.describe() + " -> " +
                             area->what.layout.describe());
  }
}

}  // namespace

Task<> run_scattered(Team& team, ScatteredOptions options) {
  std::vector<Task<>> parts;
  for (std::uint32_t peer = 0; peer < team.size(); ++peer) {
    parts.push_back(receive_all(team, options, peer));
    parts.push_back(send_all(team, options, peer));
  }
  co_await when_all(std::move(parts));
}

}  // namespace coracle::internals::test
