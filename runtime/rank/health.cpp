// The datagrams as they travel: what both have, what only one has, and the tag of all that is before it.
#include "runtime/rank/health.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "runtime/job/directory.hpp"

namespace coracle::internals {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers travel in this order");

enum class Kind : std::uint16_t { ping = 1, answer = 2 };

struct Start {
  std::uint32_t magic = 0x6c487243;  // "CrHl"
  std::uint16_t version = 1;
  Kind kind;
  bool operator==(const Start&) const = default;
};

struct PingDatagram {
  static constexpr Kind kKind = Kind::ping;
  Start start{.kind = kKind};
  std::uint32_t rank;
  std::uint32_t unused = 0;
  std::uint64_t nonce;
  std::uint64_t tag = 0;
};
static_assert(sizeof(PingDatagram) == kHealthPingBytes);

struct AnswerDatagram {
  static constexpr Kind kKind = Kind::answer;
  Start start{.kind = kKind};
  std::uint32_t rank;
  std::uint32_t health;
  std::uint64_t nonce;
  std::uint64_t since_ms;
  std::int32_t exit_status;
  std::uint32_t unused = 0;
  std::uint64_t tag = 0;
};
static_assert(sizeof(AnswerDatagram) == kHealthAnswerBytes);

template <class Datagram>
std::uint64_t tag_of(const Datagram& datagram, const JobKey& key) noexcept {
  return key_tag(std::as_bytes(std::span(&datagram, 1)).first(sizeof(Datagram) - sizeof(datagram.tag)), key);
}

template <class Datagram>
std::array<std::byte, sizeof(Datagram)> sealed(Datagram datagram, const JobKey& key) noexcept {
  datagram.tag = tag_of(datagram, key);
  return std::bit_cast<std::array<std::byte, sizeof(Datagram)>>(datagram);
}

template <class Datagram>
std::optional<Datagram> opened(std::span<const std::byte> bytes, const JobKey& key) noexcept {
  Datagram datagram;
  if (bytes.size() != sizeof datagram) return std::nullopt;
  std::memcpy(&datagram, bytes.data(), sizeof datagram);
  if (datagram.start != Start{.kind = Datagram::kKind}) return std::nullopt;
  return same_tag(datagram.tag, tag_of(datagram, key)) ? std::optional(datagram) : std::nullopt;
}

}  // namespace

std::string text_of_end(std::int32_t exit_status) {
  if (exit_status == kGivenUpStatus)
    return "its process was stopped while others ran, for longer than the silence limit (--silence), and killed";
  return exit_status > 128 ? fmt::format("its process was killed by signal {}", exit_status - 128)
                           : fmt::format("its process exited with status {}", exit_status);
}

std::array<std::byte, kHealthPingBytes> encode(const HealthPing& ping, const JobKey& key) noexcept {
  return sealed(PingDatagram{.rank = ping.rank, .nonce = ping.nonce}, key);
}

std::array<std::byte, kHealthAnswerBytes> encode(const HealthAnswer& answer, const JobKey& key) noexcept {
  return sealed(AnswerDatagram{.rank = answer.rank,
                               .health = static_cast<std::uint32_t>(answer.health),
                               .nonce = answer.nonce,
                               .since_ms = answer.since_ms,
                               .exit_status = answer.exit_status},
                key);
}

std::optional<HealthPing> decode_health_ping(std::span<const std::byte> datagram, const JobKey& key) noexcept {
  const auto ping = opened<PingDatagram>(datagram, key);
  return ping ? std::optional(HealthPing{ping->rank, ping->nonce}) : std::nullopt;
}

std::optional<HealthAnswer> decode_health_answer(std::span<const std::byte> datagram, const JobKey& key) noexcept {
  const auto answer = opened<AnswerDatagram>(datagram, key);
  if (!answer || answer->health > static_cast<std::uint32_t>(RankHealth::ended)) return std::nullopt;
  return HealthAnswer{answer->rank, answer->nonce, static_cast<RankHealth>(answer->health), answer->exit_status,
                      answer->since_ms};
}

}  // namespace coracle::internals
