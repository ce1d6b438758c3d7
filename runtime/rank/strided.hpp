// Puts of equal blocks at equal distances, such as a face of an array: by the transport's device, where it takes them.
#pragma once

#include <coroutine>
#include <optional>

#include "runtime/layout/layout.hpp"
#include "runtime/rank/operation.hpp"
#include "runtime/rank/rank_core.hpp"

namespace coracle::internals::scattered {

/// The blocks of two sides of equally many bytes, at least one; none when they are not the same equal blocks at equal
/// distances in one or two levels. Where one side is in a row of longer blocks, or is one run, those are cut.
std::optional<StridedShape> common_shape(const Layout& local, std::uint64_t local_count, const Layout& remote,
                                         std::uint64_t remote_count) noexcept;

/// Awaited: true when it is done, false when the transport does not take it, and nothing has happened. Throws Error as
/// any put.
class StridedPut final : public StridedOperation {
 public:
  StridedPut(RankCore& core, const StridedShape& of, std::uint32_t peer) noexcept
      : StridedOperation(of, peer), core_(core) {}

  bool await_ready() noexcept {
    is_taken_ = core_.transport_to(remote.rank).submit_strided(*this);
    return !is_taken_ || finished();
  }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    suspend(self, false);  // not interruptible: the memory belongs to the operation until it has finished
  }
  bool await_resume() const {
    if (failed()) [[unlikely]]
      core_.throw_failure(*this);
    return is_taken_;
  }

 private:
  RankCore& core_;
  bool is_taken_ = false;
};

}  // namespace coracle::internals::scattered
