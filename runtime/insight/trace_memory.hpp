// TraceMemory: a rank's events as its trace writer leaves them, in memory of the job's region: the launcher reads them
// also when the rank has crashed. It is of a fixed size, and what does not fit is counted.
//
//     [TraceHeader][texts: length u32, bytes ...][StoredEvent ...]
#pragma once

#include <coracle_tool.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace coracle::internals {

/// An event as it is kept: texts and places by their numbers, since pointers mean nothing to others.
struct StoredEvent {
  std::uint64_t ticks;
  std::uint16_t kind;
  std::uint16_t what;
  std::uint32_t peer;
  std::uint64_t task;
  std::uint64_t id;
  std::uint64_t number;
  std::uint64_t bytes;
  std::uint64_t tag;    ///< Of messages; of others `name` in the lower half: the number of a text, 0: none.
  std::uint64_t place;  ///< Line, and the number of the file's name in the upper half; of messages the team.

  /// Of `place`: the line is an address in the machine code of the file, which is a program or a library.
  static constexpr std::uint64_t kInModule = std::uint64_t{1} << 63;

  static constexpr bool is_message(std::uint16_t kind) noexcept {
    return kind >= CORACLE_SEND_BEGIN && kind <= CORACLE_RECEIVE_END;
  }
  std::uint32_t name() const noexcept { return is_message(kind) ? 0 : static_cast<std::uint32_t>(tag); }
  std::uint32_t file() const noexcept {
    return is_message(kind) ? 0 : static_cast<std::uint32_t>((place & ~kInModule) >> 32);
  }
  std::uint32_t line() const noexcept { return is_message(kind) ? 0 : static_cast<std::uint32_t>(place); }
  bool is_in_module() const noexcept { return !is_message(kind) && (place & kInModule) != 0; }
};
static_assert(sizeof(StoredEvent) == 64 && sizeof(coracle_event) == 64);

/// All zero, but for what the launcher sets, is its first state. One writes, others read.
struct TraceHeader {
  std::atomic<std::uint64_t> events{0};      ///< Whole ones. Its store releases them.
  std::atomic<std::uint64_t> dropped{0};     ///< For which there was no room.
  std::atomic<std::uint64_t> text_bytes{0};  ///< Whole texts.
  std::atomic<std::uint64_t> is_open{0};     ///< A writer has been there.
};

class TraceMemory {
 public:
  static constexpr std::size_t kHeaderBytes = 4096;
  static constexpr std::uint64_t kBytesMin = 256 * 1024;
  static constexpr std::uint64_t kBytesDefault = 16 << 20;

  /// `memory`: at least kBytesMin, aligned to a page.
  explicit TraceMemory(std::span<std::byte> memory) noexcept : memory_(memory) {}

  TraceHeader& header() const noexcept { return *reinterpret_cast<TraceHeader*>(memory_.data()); }
  std::span<std::byte> texts() const noexcept { return memory_.subspan(kHeaderBytes, text_room()); }
  std::span<StoredEvent> events() const noexcept {
    const auto room = memory_.subspan(kHeaderBytes + text_room());
    return {reinterpret_cast<StoredEvent*>(room.data()), room.size() / sizeof(StoredEvent)};
  }

 private:
  /// An eighth, but never much.
  std::size_t text_room() const noexcept {
    constexpr std::size_t kMost = 1 << 20;
    const std::size_t part = memory_.size() / 8 / kHeaderBytes * kHeaderBytes;
    return part < kMost ? part : kMost;
  }

  std::span<std::byte> memory_;
};

}  // namespace coracle::internals
