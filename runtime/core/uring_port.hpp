// UringPort: the loop's own io_uring for those who speak it themselves (transports), so that one sleep waits for all.
#pragma once

#include <cstdint>

struct io_uring;
struct io_uring_sqe;

namespace coracle::internals {

/// Told of the completions of its entries, from inside the loop's poller.
class UringSink {
 public:
  /// `result` and `flags` of the completion; without IORING_CQE_F_MORE it is the entry's last.
  virtual void completed(int result, std::uint32_t flags) noexcept = 0;

 protected:
  ~UringSink() = default;
};

/// Loop's thread only.
class UringPort {
 public:
  /// An entry to be prepared; `sink` (null: nobody) must live until its last completion. Null when the kernel takes no
  /// more at the moment: try again in a later turn. User data belongs to the port, and the entry must post a
  /// completion.
  virtual io_uring_sqe* entry(UringSink* sink) noexcept = 0;
  /// Cancels all entries of `sink`; each still completes.
  virtual bool cancel(UringSink& sink) noexcept = 0;
  /// Hands what was prepared to the kernel now, not at the end of the turn.
  virtual void submit() noexcept = 0;
  virtual io_uring& ring() noexcept = 0;

 protected:
  ~UringPort() = default;
};

}  // namespace coracle::internals
