// [magic u32][version u16][kind u16][rank u32][...][nonce u64] ... [tag u64], in little-endian order.
#include "runtime/rank/health.hpp"

#include <fmt/format.h>

#include <cstring>

#include "runtime/job/directory.hpp"

namespace coracle::internals {
namespace {

constexpr std::uint32_t kMagic = 0x6c487243;  // "CrHl"
constexpr std::uint16_t kVersion = 1;
enum Kind : std::uint16_t { ping_kind = 1, answer_kind = 2 };
constexpr std::size_t kTagBytes = 8;

// Fields, by their offsets.
constexpr std::size_t kMagicAt = 0;
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kKindAt = 6;
constexpr std::size_t kRankAt = 8;
constexpr std::size_t kHealthAt = 12;  // 0 in a ping
constexpr std::size_t kNonceAt = 16;
constexpr std::size_t kSinceAt = 24;
constexpr std::size_t kExitStatusAt = 32;

template <class T>
void put(std::span<std::byte> datagram, std::size_t at, T value) noexcept {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    datagram[at + i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
}

template <class T>
T get(std::span<const std::byte> datagram, std::size_t at) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value |= std::to_integer<std::uint64_t>(datagram[at + i]) << (8 * i);
  return static_cast<T>(value);
}

void seal(std::span<std::byte> datagram, Kind kind, const JobKey& key) noexcept {
  put(datagram, kMagicAt, kMagic);
  put(datagram, kVersionAt, kVersion);
  put(datagram, kKindAt, static_cast<std::uint16_t>(kind));
  const std::size_t tag_at = datagram.size() - kTagBytes;
  put(datagram, tag_at, key_tag(datagram.first(tag_at), key));
}

bool is_sealed(std::span<const std::byte> datagram, std::size_t bytes, Kind kind, const JobKey& key) noexcept {
  if (datagram.size() != bytes) return false;
  const std::size_t tag_at = bytes - kTagBytes;
  return get<std::uint32_t>(datagram, kMagicAt) == kMagic && get<std::uint16_t>(datagram, kVersionAt) == kVersion &&
         get<std::uint16_t>(datagram, kKindAt) == kind &&
         same_tag(get<std::uint64_t>(datagram, tag_at), key_tag(datagram.first(tag_at), key));
}

}  // namespace

const char* to_string(RankHealth health) noexcept {
  switch (health) {
    case RankHealth::unknown:
      return "unknown";
    case RankHealth::starting:
      return "starting";
    case RankHealth::running:
      return "running";
    case RankHealth::stopped:
      return "stopped";
    case RankHealth::ended:
      return "ended";
  }
  return "?";
}

std::string text_of_end(std::int32_t exit_status) {
  if (exit_status == kGivenUpStatus)
    return "its process was stopped while others ran, for longer than the silence limit (--silence), and killed";
  return exit_status > 128 ? fmt::format("its process was killed by signal {}", exit_status - 128)
                           : fmt::format("its process exited with status {}", exit_status);
}

std::array<std::byte, kHealthPingBytes> encode(const HealthPing& ping, const JobKey& key) noexcept {
  std::array<std::byte, kHealthPingBytes> datagram{};
  put(datagram, kRankAt, ping.rank);
  put(datagram, kNonceAt, ping.nonce);
  seal(datagram, ping_kind, key);
  return datagram;
}

std::array<std::byte, kHealthAnswerBytes> encode(const HealthAnswer& answer, const JobKey& key) noexcept {
  std::array<std::byte, kHealthAnswerBytes> datagram{};
  put(datagram, kRankAt, answer.rank);
  put(datagram, kHealthAt, static_cast<std::uint8_t>(answer.health));
  put(datagram, kNonceAt, answer.nonce);
  put(datagram, kSinceAt, answer.since_ms);
  put(datagram, kExitStatusAt, static_cast<std::uint32_t>(answer.exit_status));
  seal(datagram, answer_kind, key);
  return datagram;
}

std::optional<HealthPing> decode_health_ping(std::span<const std::byte> datagram, const JobKey& key) noexcept {
  if (!is_sealed(datagram, kHealthPingBytes, ping_kind, key)) return std::nullopt;
  return HealthPing{get<std::uint32_t>(datagram, kRankAt), get<std::uint64_t>(datagram, kNonceAt)};
}

std::optional<HealthAnswer> decode_health_answer(std::span<const std::byte> datagram, const JobKey& key) noexcept {
  if (!is_sealed(datagram, kHealthAnswerBytes, answer_kind, key)) return std::nullopt;
  HealthAnswer answer;
  answer.rank = get<std::uint32_t>(datagram, kRankAt);
  answer.nonce = get<std::uint64_t>(datagram, kNonceAt);
  const auto health = get<std::uint8_t>(datagram, kHealthAt);
  if (health > static_cast<std::uint8_t>(RankHealth::ended)) return std::nullopt;
  answer.health = static_cast<RankHealth>(health);
  answer.since_ms = get<std::uint64_t>(datagram, kSinceAt);
  answer.exit_status = static_cast<std::int32_t>(get<std::uint32_t>(datagram, kExitStatusAt));
  return answer;
}

}  // namespace coracle::internals
