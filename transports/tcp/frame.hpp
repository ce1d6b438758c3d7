// Frame: what travels on a TCP connection between two ranks, and the reader that takes a stream of bytes apart. It
// trusts nothing: every length, type and count is checked before it is used, so that a broken or hostile peer ends its
// connection and no more.
//
//     [FrameHeader: 16 bytes][words x 8 bytes][payload_bytes]
//
// Both ends are little-endian and run the same program (checked by the hello).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/job/directory.hpp"
#include "runtime/rank/message.hpp"

namespace coracle::internals::tcp {

enum class FrameType : std::uint8_t {
  // from the initiator of the connection
  hello = 1,  ///< magic, version, key (2 words), program digest, source rank, target rank
  put,        ///< offset, segment [, signal's offset, signal's segment, addend]; payload: the data
  get,        ///< offset, segment, bytes
  add,        ///< offset, segment, width | code of a Modification << 8 (0: adds integers), operand
  swap,       ///< offset, segment, width, expected, desired
  message,    ///< handler [, arguments ...]; payload
  goodbye,    ///< nothing follows; also from the responder
  // from the responder, one answer per put, get, add and swap, in their order
  done,     ///< number of operations that have ended well since the last answer
  data,     ///< the next operation's data as payload, or what comes next of it
  value,    ///< the next operation's old value
  failure,  ///< the next operation's error, see to_wire()
  reply,    ///< as message
  refused,  ///< payload: the reason, as text; the connection ends
  end,      // one past the last
};

struct FrameHeader {
  std::uint32_t check;  ///< Digest of the job key.
  FrameType type;
  std::uint8_t words;
  std::uint16_t zero;
  std::uint64_t payload_bytes;
};
static_assert(sizeof(FrameHeader) == 16);

inline constexpr std::size_t kFrameWordsMax = 7;
/// Room for a head and its words.
inline constexpr std::size_t kHeadBytesMax = sizeof(FrameHeader) + kFrameWordsMax * sizeof(std::uint64_t);
inline constexpr std::uint64_t kFrameMagic = 0x31706354636f4321;
inline constexpr std::uint64_t kFrameVersion = 2;
/// Larger transfers travel as several frames.
inline constexpr std::uint64_t kTransferBytesMax = 1ULL << 40;
inline constexpr std::uint64_t kMessageBytesMax = 1ULL << 32;
inline constexpr std::uint64_t kReplyBytesMax = 8192;
inline constexpr std::uint64_t kReasonBytesMax = 512;

struct Frame {
  FrameHeader head;
  std::array<std::uint64_t, kFrameWordsMax> words;
};

/// What frames of a job carry as `check`.
std::uint32_t frame_check(const JobKey& key) noexcept;
/// Of the running program's code: a peer with another one would take our function addresses for others.
std::uint64_t program_digest() noexcept;

/// The head and words of a frame as bytes; returns how many of `bytes` were filled.
std::size_t write_head(std::span<std::byte, kHeadBytesMax> bytes, std::uint32_t check, FrameType type,
                       std::span<const std::uint64_t> words, std::uint64_t payload_bytes) noexcept;
/// handler and arguments as the words of a message or reply; returns how many.
std::size_t message_words(const MessageHeader& header, std::span<std::uint64_t, kFrameWordsMax> words) noexcept;
/// The reverse; false when the handler is none of this program.
bool read_message(const Frame& frame, MessageHeader& header) noexcept;

/// Which frames an end of a connection takes.
enum class End { initiator, responder };

/// Told of frames. Every call may refuse by returning false (null) after a call of FrameReader::fail.
class FrameUser {
 public:
  /// A whole frame whose payload lies in one piece, valid during the call only.
  virtual void whole(const Frame& frame, std::span<const std::byte> payload) noexcept = 0;
  /// A frame whose payload comes in pieces: where it shall go, `frame.head.payload_bytes` long and valid until end();
  /// null: it goes to piece().
  virtual std::byte* begin(const Frame& frame) noexcept = 0;
  /// What has come of a payload that has no place of its own: `bytes` from `position` on, valid during the call only.
  virtual void piece(const Frame& frame, std::uint64_t position, std::span<const std::byte> bytes) noexcept = 0;
  /// The payload of the frame last begun is complete.
  virtual void end(const Frame& frame) noexcept = 0;

 protected:
  ~FrameUser() = default;
};

/// Takes frames out of a stream of bytes, without I/O.
class FrameReader {
 public:
  FrameReader(FrameUser& user, End end, std::uint32_t check) noexcept : user_(user), end_(end), check_(check) {}

  /// The next bytes of the stream. Nothing more is taken once failed().
  void take(std::span<const std::byte> bytes) noexcept;
  /// Where the stream's next bytes may be received to directly, being the rest of a large payload; empty: anywhere, and
  /// then to take().
  std::span<std::byte> landing() const noexcept;
  /// So many bytes have been received to landing().
  void landed(std::size_t bytes) noexcept;

  /// Stops taking frames, because of `reason`. The first reason stands.
  void fail(std::string reason) noexcept;
  bool failed() const noexcept { return !reason_.empty(); }
  const std::string& reason() const noexcept { return reason_; }

 private:
  /// Shorter rests of a payload are copied: cheaper than a receive of their own.
  static constexpr std::size_t kLandingBytesMin = 16 * 1024;

  bool take_head(std::span<const std::byte>& bytes) noexcept;
  bool check_head() noexcept;
  void take_payload(std::span<const std::byte>& bytes) noexcept;
  void end_payload() noexcept;

  FrameUser& user_;
  End end_;
  std::uint32_t check_;
  std::array<std::byte, kHeadBytesMax> head_;
  std::size_t head_bytes_ = 0;
  Frame frame_{};
  bool in_payload_ = false;
  std::byte* place_ = nullptr;  // of the payload's next byte; null: it has none
  std::uint64_t rest_ = 0;      // of the payload
  std::string reason_;
};

}  // namespace coracle::internals::tcp
