// ControllerLink: how a rank asks the controller of its cache, which is this rank itself or another of its node.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/task.hpp"
#include "storage/pages/frames.hpp"

namespace coracle::internals {
class Message;
class Rank;
}  // namespace coracle::internals

namespace coracle::internals::storage {

class CacheController;

/// Used by its own rank's thread.
class ControllerLink {
 public:
  /// `own`: the controller, when that is this rank; else null. It must outlive this.
  ControllerLink(Rank& rank, std::uint32_t controller, std::uint32_t segment, const Frames& frames,
                 CacheController* own) noexcept
      : rank_(rank), controller_(controller), segment_(segment), frames_(frames), own_(own) {}

  bool is_here() const noexcept { return own_ != nullptr; }
  /// Whether the controller reads all memory of this rank, not its segment alone.
  bool reads_here() const noexcept;
  /// As the controller's. `whole` only where it reads that here.
  Task<std::uint32_t> obtain(std::uint64_t page, bool writing, const std::byte* whole = nullptr);
  void unpinned() noexcept;
  void prefetch(std::uint64_t first, std::uint64_t count) noexcept;

 private:
  struct Asked;
  Task<std::uint32_t> ask(std::uint64_t page, bool writing, const std::byte* whole);
  static void serve_acquire(Rank& rank, const Message& message);
  static Task<> answer_acquire(Rank& rank, std::uint32_t asker, std::uint64_t cookie, std::uint32_t segment,
                               std::uint64_t page, bool writing, const std::byte* whole);
  static void take_acquired(Rank& rank, const Message& message);

  Rank& rank_;
  std::uint32_t controller_;
  std::uint32_t segment_;
  Frames frames_;
  CacheController* own_;
};

}  // namespace coracle::internals::storage
