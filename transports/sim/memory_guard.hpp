// MemoryGuard: sees the memory of a simulated job come to its end. All ranks are in one process, so that what is little
// for one is much for all of them; and where memory runs out, the kernel kills without a word.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/job/memory_room.hpp"

namespace coracle::internals::sim {

class MemoryGuard {
 public:
  /// How much there is, which takes a while to find out, and how much of it is used, which is quick.
  class Source {
   public:
    virtual ~Source() = default;
    virtual MemoryRoom room() = 0;
    virtual std::uint64_t used_bytes() noexcept = 0;
  };

  /// Over this process.
  MemoryGuard();
  explicit MemoryGuard(std::unique_ptr<Source> source);

  /// To be asked after each event. True once so little is left that the job had better end by itself.
  bool runs_short() {
    if (++events_ % kEvents != 0 || source_->used_bytes() < next_look_bytes_) [[likely]]
      return false;
    return look_again();
  }
  /// What has been taken, and what is left.
  const MemoryRoom& room() const noexcept { return room_; }

 private:
  static constexpr std::uint64_t kEvents = 128;  // whose time a system call hardly adds to

  /// The least that is taken between two looks at the room. So small jobs never look.
  static constexpr std::uint64_t kStepBytes = 16ULL << 20;

  bool look_again();

  std::unique_ptr<Source> source_;
  MemoryRoom room_;
  std::uint64_t events_ = 0;
  std::uint64_t reserve_bytes_ = 0;  // is to be left; 0: nobody has looked yet
  std::uint64_t next_look_bytes_;
};

}  // namespace coracle::internals::sim
