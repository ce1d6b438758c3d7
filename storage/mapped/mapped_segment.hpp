// MappedSegment: ordinary loads and stores on a paged segment, through a window of virtual memory whose page faults are
// served by the event loop, from the same cache as get and put. For programs that can't be changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/task.hpp"
#include "storage/mapped/helper_threads.hpp"
#include "storage/mapped/userfault.hpp"
#include "storage/options/mapped_options.hpp"

namespace coracle::internals {

class PagedSegment;
class Rank;

/// A rank's own window on a segment, which must outlive it. The functions are for the rank's thread; data() is for all
/// other threads of this rank, and for none of its own: the loop serves the faults and can't wait for itself (when it
/// touches a page that is not there it is told so and gets SIGBUS).
///
/// A page is copied into the window at its first load or store, and back when it must make room or is synchronised.
/// Stores are private to this rank until then, and loads may see what the segment held when the page came. sync() is
/// both release and acquire: what was stored before it is in the segment, and what is loaded after it is what the
/// segment holds then. With whole_pages off, ranks may store to different bytes of one page between two syncs.
/// Ranks that store to the same byte without a sync and a message in between race: either's byte remains.
///
/// System calls don't bring pages: one that is given an address in the window fails with EFAULT where the page is not
/// there, or, for it to write to, has not been stored to. Copy through memory of your own.
///
/// A page that can't be read is told of on standard error, and gives SIGBUS to the threads that touch it (SIGSEGV
/// before Linux 6.6), until the next sync(), after which it is tried again.
class MappedSegment {
 public:
  /// Not collective. Throws Error (unsupported, with reason and remedy; no memory).
  static Task<MappedSegment> map(Rank& self, PagedSegment& segment, MappedOptions options = {});
  MappedSegment(MappedSegment&&) noexcept;
  MappedSegment& operator=(MappedSegment&&) = delete;
  /// When it was not unmapped: stores that have not been written back are lost.
  ~MappedSegment();

  /// Of the segment's first byte; aligned to the kernel's pages. Valid until unmap().
  std::byte* data() const noexcept;
  std::uint64_t bytes() const noexcept;
  template <class T>
  std::span<T> as() const noexcept {
    return {reinterpret_cast<T*>(data()), static_cast<std::size_t>(bytes() / sizeof(T))};
  }

  /// Calls `function()` on a thread of its own, and gives its value or throws its exception here. Cancellation does not
  /// end it.
  template <class Function>
  Task<std::invoke_result_t<Function&>> run(Function function);

  /// Writes all stores back and forgets all pages. Stores of threads that go on meanwhile are in the segment or still
  /// in the window, never lost. Throws the first Error of writing, having tried all; what could not be written stays.
  Task<> sync();
  /// All that was stored before is on the device when it returns. Loads go on seeing the pages that are there.
  Task<> flush();
  /// As sync(), then gives the addresses back. No thread may touch them any more. After an Error it is still mapped.
  Task<> unmap();

  MappedCounts counts() const noexcept;

 private:
  struct State;
  explicit MappedSegment(std::shared_ptr<State> state) noexcept;
  storage::HelperThreads& threads() noexcept;
  static Task<> live(std::shared_ptr<State> state);
  static Task<> serve_faults(State& state);
  std::shared_ptr<State> state_;
};

template <class Function>
Task<std::invoke_result_t<Function&>> MappedSegment::run(Function function) {
  using Result = std::invoke_result_t<Function&>;
  struct Call {
    Function& function;
    std::optional<Stored<Result>> result;
    std::exception_ptr error;
    static void make(void* context) {
      Call& call = *static_cast<Call*>(context);
      try {
        if constexpr (std::is_void_v<Result>) {
          call.function();
          call.result.emplace();
        } else {
          call.result.emplace(call.function());
        }
      } catch (...) {
        call.error = std::current_exception();
      }
    }
  };
  Call call{function, {}, nullptr};
  co_await threads().run(&Call::make, &call);
  if (call.error) std::rethrow_exception(call.error);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): set where there was no error
  if constexpr (!std::is_void_v<Result>) co_return std::move(*call.result);
}

}  // namespace coracle::internals
