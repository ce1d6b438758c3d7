// SummaryMemory: what a rank's summary writer has added up, in memory of the job's region: the launcher reads it also
// when the rank has crashed. It is of a fixed size, whatever the rank does; what a table has no room for is counted.
#pragma once

#include <coracle_tool.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace coracle::internals {

/// What a rank waits for: as coracle_wait_kind, and pages, which come by waits of several kinds.
enum class WaitGroup : std::uint8_t {
  unknown,
  inside,
  children,
  timer,
  io,
  readiness,
  device,
  operation,
  call,
  receive,
  transfer,
  send,
  signal,
  collective,
  loss,
  page,
  last = page,
};
constexpr std::size_t kWaitGroups = static_cast<std::size_t>(WaitGroup::last) + 1;

/// One word, as users read it.
const char* name_of(WaitGroup group) noexcept;

/// How bytes go from rank to rank.
enum class TrafficKind : std::uint8_t { message, collective, put, get, atomic, last = atomic };
constexpr std::size_t kTrafficKinds = static_cast<std::size_t>(TrafficKind::last) + 1;
const char* name_of(TrafficKind flow) noexcept;

// The tables' entries. Times are ticks where a rank writes them, and nanoseconds once its launcher has read them.

struct Waited {
  std::uint64_t time = 0;     ///< Of it each moment is of one wait only.
  std::uint64_t waits = 0;    ///< That have ended.
  std::uint64_t longest = 0;  ///< Of the parts of `time` that were one wait's.
};

/// A line of the program at which it has waited, for one thing. Texts end with 0, and are cut.
struct WaitLine {
  std::array<char, 64> file{};  ///< Without its folder; "": not known. Line 0: words for a place without one.
  std::array<char, 32> call{};  ///< A function of MPI, or a span, in which it was; "": in none that matters.
  std::array<char, 28> name{};  ///< What is awaited: "receive", "barrier" ...
  std::uint32_t line = 0;
  std::uint32_t module = 0;   ///< Where `line` is not known yet, of `modules`, from 1;
  std::uint32_t address = 0;  ///< and where in it.
  WaitGroup group = WaitGroup::unknown;
  Waited waited;
};

/// What went between this rank and another, as this one has begun it.
struct PeerTraffic {
  std::uint32_t peer = 0;
  std::uint32_t is_used = 0;
  std::array<std::uint64_t, kTrafficKinds> count{};
  std::array<std::uint64_t, kTrafficKinds> bytes{};
};

/// All calls of one collective.
struct CollectiveCalls {
  std::array<char, 32> name{};
  std::uint64_t calls = 0;
  std::uint64_t time = 0;  ///< From begin to end, of those that have ended.
};

/// One call of one of the first collectives.
struct CollectiveEntry {
  std::uint64_t id = 0;  ///< The same at all members.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;   ///< 0: it has not ended.
  std::uint64_t call = 0;  ///< Of CollectiveCalls, or kCallsMax.
};

/// All zero is its first state. One writes, others read when it has ended.
struct SummaryFacts {
  std::uint64_t is_open = 0;  ///< A writer has been there.
  std::uint64_t has_ended = 0;
  std::uint64_t begin = 0;
  std::uint64_t last = 0;  ///< The last event.
  std::uint64_t computing = 0;
  std::uint64_t waiting = 0;
  std::array<Waited, kWaitGroups> groups{};
  std::array<std::uint64_t, 4> pages{};       ///< By coracle_page_way; 0: that never came.
  std::array<std::uint64_t, 4> page_bytes{};  ///< The same.
  std::uint64_t page_uses = 0;                ///< Of segments that it has closed,
  std::uint64_t page_hits = 0;                ///< and of them those whose page was there.
  std::uint64_t modules = 0;                  ///< In use, of each table.
  std::uint64_t lines = 0;
  std::uint64_t peers = 0;
  std::uint64_t calls = 0;
  std::uint64_t entries = 0;
  Waited other_lines;  ///< Of what had no room in the table; the same of the others.
  PeerTraffic other_peers;
  CollectiveCalls other_calls;
  std::uint64_t other_entries = 0;
};

class SummaryMemory {
 public:
  static constexpr std::size_t kModulesMax = 32;
  static constexpr std::size_t kLinesMax = 512;
  static constexpr std::size_t kPeersMax = 1024;
  static constexpr std::size_t kCallsMax = 64;
  static constexpr std::size_t kEntriesMax = 4096;

  struct Layout {
    SummaryFacts facts;
    std::array<std::array<char, 512>, kModulesMax> modules;  ///< Paths of programs and libraries.
    std::array<WaitLine, kLinesMax> lines;
    std::array<PeerTraffic, kPeersMax> peers;  ///< By hash.
    std::array<CollectiveCalls, kCallsMax> calls;
    std::array<CollectiveEntry, kEntriesMax> entries;
  };
  static constexpr std::size_t kBytes = (sizeof(Layout) + 4095) / 4096 * 4096;

  /// `memory`: kBytes, aligned to a page, all zero.
  explicit SummaryMemory(std::span<std::byte> memory) noexcept : layout_(reinterpret_cast<Layout*>(memory.data())) {}
  Layout& operator*() const noexcept { return *layout_; }
  Layout* operator->() const noexcept { return layout_; }

 private:
  Layout* layout_;
};

}  // namespace coracle::internals
