// Health: the datagrams by which a rank asks the launcher of another node what has become of a silent peer. A rank that
// computes and does not turn its loop is not dead; one that is stopped or has ended is, and only its launcher knows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/job/directory.hpp"

namespace coracle::internals {

/// What the launcher of a rank's node knows of it.
enum class RankHealth : std::uint8_t {
  unknown,   ///< No rank of that node.
  starting,  ///< Its process runs, or is about to; it has not come to coracle::run.
  running,   ///< In coracle::run, or past it. Also while the whole job is stopped by the user (Ctrl-Z).
  stopped,   ///< By SIGSTOP or the like, but not held by a debugger.
  ended,     ///< Its process is gone.
};

/// In place of an exit status, of a rank that its launcher has given up and killed since it was stopped for too long:
/// 128 + SIGSTOP, with which no process ends by itself.
inline constexpr std::int32_t kGivenUpStatus = 128 + 19;

/// How a rank's process has ended, for its peers: "its process was killed by signal 9".
std::string text_of_end(std::int32_t exit_status);

struct HealthPing {
  std::uint32_t rank = 0;   ///< Whom it asks about.
  std::uint64_t nonce = 0;  ///< Comes back with the answer.
};

struct HealthAnswer {
  std::uint32_t rank = 0;
  std::uint64_t nonce = 0;  ///< Of the ping.
  RankHealth health = RankHealth::unknown;
  std::int32_t exit_status = 0;  ///< `ended`: as the shell has it, 128 + signal for a signal; or kGivenUpStatus.
  std::uint64_t since_ms = 0;    ///< For how long it has been so; `stopped`: while others waited for it.
};

inline constexpr std::size_t kHealthPingBytes = 32;
inline constexpr std::size_t kHealthAnswerBytes = 48;

/// Each datagram carries a tag made with the job's key (directory.hpp); what has another one is not of this job, and
/// decodes to nothing, as does any other length, magic or version. An answer is half as long again as a ping,
/// and comes only to a ping with a good tag: nobody can use it to flood others.
std::array<std::byte, kHealthPingBytes> encode(const HealthPing& ping, const JobKey& key) noexcept;
std::array<std::byte, kHealthAnswerBytes> encode(const HealthAnswer& answer, const JobKey& key) noexcept;
std::optional<HealthPing> decode_health_ping(std::span<const std::byte> datagram, const JobKey& key) noexcept;
std::optional<HealthAnswer> decode_health_answer(std::span<const std::byte> datagram, const JobKey& key) noexcept;

}  // namespace coracle::internals
