// SummaryWriter: the tool that adds up what a rank does for `coracle run --summary`.
#pragma once

#include <coracle_tool.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/insight/summary_memory.hpp"

namespace coracle::internals {

/// Knows which of a rank's time goes to which wait. The rank waits while no task that is known of can run: from the
/// begin of a wait until the end of any. Each moment of that is booked once: when a wait ends, on it, as far as it has
/// lasted and nothing else was booked.
class WaitAccount {
 public:
  explicit WaitAccount(SummaryFacts& facts) noexcept : facts_(facts) {}

  /// The time up to this event is over.
  void advance(const coracle_event& event) noexcept;
  /// A task can run from now on; it can not.
  void can_run(std::uint64_t task) noexcept;
  void can_not_run(std::uint64_t task) noexcept;
  std::uint64_t waiting() const noexcept { return facts_.waiting; }
  /// Gives how much of the waiting since `begin` (of waiting()) had not been booked, and books it.
  std::uint64_t book(std::uint64_t begin) noexcept;

 private:
  static constexpr std::size_t kTasksMax = 64;

  SummaryFacts& facts_;
  bool has_begun_ = false;  // at 0, perhaps
  bool is_waiting_ = false;
  bool is_idle_ = false;  // as the last event has told
  std::uint64_t booked_ = 0;
  std::array<std::uint64_t, kTasksMax> can_run_{};  // in the order in which they will
  std::size_t can_run_count_ = 0;
};

/// One rank's. It knows of nothing but what tools are told. Rank's thread only.
class SummaryWriter {
 public:
  explicit SummaryWriter(SummaryMemory memory);
  SummaryWriter(const SummaryWriter&) = delete;
  SummaryWriter& operator=(const SummaryWriter&) = delete;

  /// As coracle_tool_open() would; this must live until its close().
  coracle_tool tool() noexcept;
  void write(const coracle_event& event) noexcept;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct OpenWait {
    std::uint64_t begin = 0;     // of WaitAccount::waiting()
    std::uint32_t line = kNone;  // of the table
    WaitGroup group = WaitGroup::unknown;
    bool is_booked = false;  // else it is a service's, and others wait longer
  };
  struct OpenCollective {
    std::uint64_t task = 0;
    std::uint64_t id = 0;
    std::uint64_t begin = 0;
    const coracle_place* place = nullptr;
    const char* name = nullptr;
    std::uint32_t call = kNone;
    std::uint32_t entry = kNone;
  };
  struct OpenSpan {
    std::uint64_t id = 0;
    const coracle_place* place = nullptr;
    decltype(WaitLine::call) name{};
  };
  struct KnownLine {
    const void* place = nullptr;
    const char* name = nullptr;
    std::uint32_t line = kNone;
  };
  struct OpenMiss {
    std::uint64_t id = 0;
    std::uint64_t task = 0;
    std::uint64_t bytes = 0;
  };

  void begin_wait(const coracle_event& event);
  void end_wait(const coracle_event& event) noexcept;
  void begin_collective(const coracle_event& event);
  void end_collective(const coracle_event& event) noexcept;
  void begin_span(const coracle_event& event);
  void end_span(const coracle_event& event) noexcept;
  void begin_miss(const coracle_event& event);
  void end_miss(const coracle_event& event) noexcept;
  void count_operation(const coracle_event& event) noexcept;
  void count(TrafficKind flow, std::uint32_t peer, std::uint64_t bytes) noexcept;

  const OpenCollective* collective_of(std::uint64_t task) const noexcept;
  bool awaits_page(std::uint64_t task) const noexcept;
  std::uint32_t line_of(const coracle_place* place, const char* name, WaitGroup group) noexcept;
  void set_span(WaitLine& line, const OpenSpan& span) noexcept;
  std::uint32_t module_of(const char* path) noexcept;
  std::uint32_t find_line(const WaitLine& wanted) noexcept;
  PeerTraffic& traffic_with(std::uint32_t peer) noexcept;
  std::uint32_t call_of(const char* name) noexcept;

  SummaryMemory memory_;
  SummaryFacts& facts_;
  WaitAccount account_;
  // What is open; each bounded.
  std::unordered_map<std::uint64_t, OpenWait> waits_;
  std::vector<OpenCollective> collectives_;
  std::vector<OpenSpan> spans_;
  std::vector<OpenMiss> misses_;
  std::array<KnownLine, 256> known_{};  // by hash
};

}  // namespace coracle::internals
