// TraceWriter: the tool that keeps a rank's events for `coracle run --trace`.
#pragma once

#include <coracle_tool.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/insight/trace_memory.hpp"

namespace coracle::internals {

/// One rank's. It knows of nothing but what tools are told. Rank's thread only.
class TraceWriter {
 public:
  explicit TraceWriter(TraceMemory memory);
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// As coracle_tool_open() would; this must live until its close().
  coracle_tool tool() noexcept;
  void write(const coracle_event& event) noexcept;

 private:
  /// A text that was kept, by where it stands in the program.
  struct Known {
    const char* text = nullptr;
    std::uint32_t number = 0;
  };

  std::uint32_t number_of(const char* text) noexcept {
    if (text == nullptr) return 0;
    const Known& known = known_[slot_of(text)];
    if (known.text == text) [[likely]]
      return known.number;
    return keep(text);
  }
  /// Of spans, whose names programs may have made up: what stands there may be another text by now.
  std::uint32_t number_of_changing(const char* text) noexcept;
  static std::size_t slot_of(const char* text) noexcept;
  std::uint32_t keep(const char* text) noexcept;
  std::uint32_t find(std::string_view text) const noexcept;
  std::uint32_t append(std::string_view text) noexcept;
  void make_room_resident(std::uint64_t index) noexcept;

  static constexpr std::size_t kSlots = 1024;

  TraceMemory memory_;
  TraceHeader& header_;
  StoredEvent* const events_;
  const std::uint64_t room_;
  std::uint64_t count_ = 0;
  std::uint64_t resident_ = 0;  // events up to here lie in memory that is there
  std::uint64_t dropped_ = 0;
  std::vector<Known> known_;
  std::vector<std::uint32_t> places_;  // by a text's number - 1: where it begins
};

}  // namespace coracle::internals
