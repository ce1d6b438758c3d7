// MemoryMonitor: learns from the kernel when memory is unmapped, moved or emptied, so that a registration of what was
// there is not used for what comes to lie there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

namespace coracle::internals::verbs {

/// Told on the monitor's own thread, with its mutex held. Must not allocate, free or map anything: whoever does so with
/// watched memory waits for this very thread.
class MemoryObserver {
 public:
  virtual void gone(std::uintptr_t begin, std::uintptr_t end) noexcept = 0;

 protected:
  ~MemoryObserver() = default;
};

/// Uses userfaultfd, but only for its events: no page is ever protected, so that no access faults. A thread that unmaps
/// watched memory goes on only when the event has been read, which is done with the mutex held: who takes the mutex
/// afterwards finds the sink told.
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

}  // namespace coracle::internals::verbs
