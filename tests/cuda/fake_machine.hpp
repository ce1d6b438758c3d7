// FakeMachine: the GPUs of a machine that has none: what their memories hold, what they can do and what goes wrong.
// Processes that use them are FakeCuda's (fake_cuda.hpp).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "transports/cuda/api.hpp"

namespace coracle::internals::test {

using cuda::Status;

/// What its devices and its driver can do.
struct FakeAbilities {
  int devices = 2;
  bool driver = true;
  bool stream_words = true;
  bool batches = true;
  bool peers = true;
  bool strict_pitch = true;              ///< 2-D copies within devices want pitches of 512 bytes.
  bool strides = true;                   ///< Otherwise all strided copies are refused.
  std::size_t memory_bytes = 256 << 20;  ///< Of each device; and of pinned memory in all.
};

/// What goes wrong next. Counts go down as it does.
struct FakeFaults {
  unsigned failing_copies = 0;  ///< Copies that end the device's context as they are carried out.
  Status failing_with = cuda::kIllegalAddress;
  unsigned failing_kernels = 0;    ///< Kernels that do so.
  unsigned wrong_copies = 0;       ///< Copies in which one byte lands wrong.
  unsigned stalls = 0;             ///< Copies in which their stream stops until resume().
  unsigned stalled_functions = 0;  ///< Functions before which their stream stops until resume().
  unsigned late_words = 0;         ///< Words that come late.
  std::uint64_t late_ns = 0;
  unsigned lost_words = 0;     ///< Words that are not written at all.
  std::string refused_call{};  ///< A call by its name: after `accepted` calls the next `refusals` give `refused_with`.
  unsigned accepted = 0;
  unsigned refusals = 0;
  Status refused_with = cuda::kInvalidValue;
};

/// What all processes in an address space share of the stand-ins, each of which has globals of its own. The driver
/// binds its files to the process that began to use it: others in the address space, and forks, are refused.
class FakeSpace {
 public:
  static FakeSpace& of_this_process();

  /// Whether the calling process is the one, or becomes it.
  bool admits_this_process() noexcept;
  pid_t owner() const noexcept { return owner_.load(); }

  /// Faults of whatever machine is used in this address space.
  std::atomic<unsigned> failing_copies{0};
  std::atomic<unsigned> refused_allocations{0};
  static bool take(std::atomic<unsigned>& count) noexcept;

 private:
  std::atomic<pid_t> owner_{0};
};

class FakeMachine {
 public:
  explicit FakeMachine(FakeAbilities abilities = {}) : abilities_(abilities), free_bytes_(8, abilities.memory_bytes) {}
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;
  ~FakeMachine();

  const FakeAbilities& abilities() const noexcept { return abilities_; }

  /// A memfd for device memory; -1: none is left.
  int take_memory(std::size_t device, std::size_t bytes);
  void give_back(std::size_t device, std::size_t bytes, int fd);
  /// Names a memfd for others; and finds it again.
  struct Lent {
    int fd = -1;
    std::size_t bytes = 0;
    int device = 0;
    const void* owner = nullptr;
  };
  std::uint64_t lend(const Lent& lent);
  Lent find(std::uint64_t name);

  /// While it is set allocations on devices do not return.
  std::atomic<bool> holds{false};
  std::atomic<bool> held{false};  ///< One has come.
  void hold_if_asked() noexcept;

  /// Under the mutex.
  FakeFaults faults;
  std::mutex mutex;

  void set(const FakeFaults& next) {
    const std::lock_guard lock(mutex);
    faults = next;
  }
  FakeFaults now() {
    const std::lock_guard lock(mutex);
    return faults;
  }
  /// Takes one of a count of faults, if there is any.
  bool take(unsigned FakeFaults::*count) {
    const std::lock_guard lock(mutex);
    if (count == &FakeFaults::failing_copies && FakeSpace::take(FakeSpace::of_this_process().failing_copies))
      return true;
    if (faults.*count == 0) return false;
    --(faults.*count);
    return true;
  }

 private:
  FakeAbilities abilities_;
  std::vector<std::size_t> free_bytes_;
  std::map<std::uint64_t, Lent> lent_;
  std::uint64_t names_ = 0;
};

}  // namespace coracle::internals::test
