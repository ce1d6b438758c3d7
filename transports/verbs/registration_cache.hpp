// RegistrationCache: memory outside the segment made known to the RDMA device, kept for the next time where the kernel
// tells us in time that it is no longer the same memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "transports/verbs/port.hpp"

namespace coracle::internals::verbs {

/// Told on the monitor's own thread, with its mutex held. Must not allocate, free or map anything: whoever does so with
/// watched memory waits for this very thread.
class MemoryObserver {
 public:
  virtual void gone(std::uintptr_t begin, std::uintptr_t end) noexcept = 0;

 protected:
  ~MemoryObserver() = default;
};

/// Learns from the kernel when memory is unmapped, moved or emptied, so that a registration of what was there is not
/// used for what comes to lie there. Uses userfaultfd, but only for its events: no page is ever protected, so that no
/// access faults. A thread that unmaps watched memory goes on only when the event has been read, which is done with the
/// mutex held: who takes the mutex afterwards finds the sink told.
class MemoryMonitor {
 public:
  /// Null where the kernel refuses userfaultfd. The observer must outlive the monitor.
  static std::unique_ptr<MemoryMonitor> make(MemoryObserver& observer);
  ~MemoryMonitor();
  MemoryMonitor(const MemoryMonitor&) = delete;
  MemoryMonitor& operator=(const MemoryMonitor&) = delete;

  /// Whole pages. False when this kind of memory can't be watched, or somebody else watches it.
  bool add(std::uintptr_t begin, std::uintptr_t end) noexcept;
  void remove(std::uintptr_t begin, std::uintptr_t end) noexcept;
  /// For short looks at what the sink changes; nothing may be allocated or freed while it is held.
  std::mutex& mutex() noexcept { return mutex_; }

 private:
  MemoryMonitor(MemoryObserver& observer, int fd, int stop_fd);
  void follow() noexcept;
  void read_events() noexcept;

  MemoryObserver& observer_;
  int fd_;
  int stop_fd_;
  std::mutex mutex_;
  std::thread thread_;
};

/// Whole pages that the device may reach. Held from acquire() to release().
struct Registration {
  MemoryRegion region;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uint32_t uses = 0;
  std::uint64_t last_use = 0;
  bool writable = false;
  bool kept = false;   ///< In the cache: it outlives its use.
  bool stale = false;  ///< The memory has gone; guarded by the monitor's mutex.

  std::uint32_t local_key() const noexcept { return region->lkey; }
  std::uint32_t remote_key() const noexcept { return region->rkey; }
};

/// Rank's thread only. At most kKeptMax registrations and kKeptBytesMax pinned bytes are kept; the least recently used
/// go first. Without a MemoryMonitor none is kept.
class RegistrationCache final : private MemoryObserver {
 public:
  static constexpr std::size_t kKeptMax = 256;
  static constexpr std::size_t kKeptBytesMax = std::size_t{512} << 20;

  explicit RegistrationCache(ibv_pd* domain);
  ~RegistrationCache();
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;

  /// Makes [address, address + bytes) reachable for the device and, with its key, for peers. `written`: it or they will
  /// write there. 0, or errno (ENOMEM: more than may be locked; EFAULT: not mapped so).
  int acquire(const void* address, std::size_t bytes, bool written, Registration*& registration) noexcept;
  void release(Registration& registration) noexcept;

  /// Calls to the device so far, for tests.
  std::uint64_t registered_count() const noexcept { return registered_count_; }
  bool keeps() const noexcept { return monitor_ != nullptr; }

 private:
  void gone(std::uintptr_t begin, std::uintptr_t end) noexcept override;
  Registration* find(std::uintptr_t begin, std::uintptr_t end, bool written) noexcept;
  int make(std::uintptr_t begin, std::uintptr_t end, bool written, Registration& made) noexcept;
  Registration* keep(Registration& made) noexcept;
  void drop_stale() noexcept;
  bool drop_oldest() noexcept;
  void drop(Registration& registration) noexcept;

  ibv_pd* domain_;
  std::array<Registration, kKeptMax> kept_;
  std::atomic<bool> any_stale_{false};
  std::size_t kept_bytes_ = 0;
  std::uint64_t clock_ = 0;
  std::uint64_t registered_count_ = 0;
  std::unique_ptr<MemoryMonitor> monitor_;  // its thread uses what is above
};

}  // namespace coracle::internals::verbs
