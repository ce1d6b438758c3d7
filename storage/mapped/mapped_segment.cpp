#include "storage/mapped/mapped_segment.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <array>

#include "runtime/core/assert.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/io.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/rank/rank.hpp"
#include "storage/mapped/fault_server.hpp"
#include "storage/mapped/window_pages.hpp"
#include "storage/segment/paged_segment.hpp"

namespace coracle::internals {
namespace {

std::size_t window_bytes(const PagedSegment& segment) {
  const auto kernel_page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (segment.page_bytes() < kernel_page)
    throw Error(Errc::unsupported, fmt::format("loads and stores on a paged segment with pages of {} bytes: those of "
                                               "the kernel have {}; make it with pages as large as these",
                                               segment.page_bytes(), kernel_page));
  return segment.pages() * segment.page_bytes();
}

}  // namespace

/// Shared with the coroutine that serves the faults.
struct MappedSegment::State {
  State(Rank& rank, PagedSegment& paged, const MappedOptions& options)
      : self(rank),
        segment(paged),
        scope(rank.loop(), &rank.service()),
        faults(window_bytes(paged), storage::Userfault::Refusal::poison,
               storage::HugePagePool::bytes_beside(paged.page_bytes())),
        pages(paged, faults, scope, options),
        server(rank, paged, faults, pages, scope, options),
        watchdog(faults, rank.id()),
        threads(rank.loop(), options.one_core) {}

  Rank& self;
  PagedSegment& segment;
  Scope scope;
  storage::Userfault faults;
  storage::WindowPages pages;
  storage::FaultServer server;
  storage::FaultWatchdog watchdog;
  storage::HelperThreads threads;
  Event ended;
};

MappedSegment::MappedSegment(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
MappedSegment::MappedSegment(MappedSegment&&) noexcept = default;

MappedSegment::~MappedSegment() {
  if (!state_) return;
  CORACLE_ASSERT(state_->threads.running() == 0, "the window of a mapped segment ended while {} functions run on it",
                 state_->threads.running());
  state_->scope.cancel();
}

Task<MappedSegment> MappedSegment::map(Rank& self, PagedSegment& segment, MappedOptions options) {
  if (self.placement() == Placement::sim)
    throw Error(Errc::unsupported,
                "loads and stores on a paged segment: a simulated rank has no threads of its own; "
                "use get and put, or another placement");
  auto state = std::make_shared<State>(self, segment, options);
  self.service().spawn(live(state));
  MappedSegment mapped(std::move(state));
  co_return mapped;
}

/// Until the scope is cancelled.
Task<> MappedSegment::live(std::shared_ptr<State> state) {
  state->scope.spawn(serve_faults(*state));
  co_await join_quietly(state->scope);
  state->ended.set();
}

Task<> MappedSegment::serve_faults(State& state) {
  std::array<storage::Userfault::Fault, 64> faults;  // NOLINT(cppcoreguidelines-pro-type-member-init): take() fills it
  for (;;) {
    const std::size_t count = state.faults.take(faults);
    if (count == 0) {
      const Result<std::size_t> readable = co_await as_result(state.self.loop().io().wait_readable(state.faults.fd()));
      if (readable.ok()) continue;
      CORACLE_ASSERT(state.scope.cancelled(),
                     "rank {}: the page faults of a mapped segment can't be served any more, and its users would wait "
                     "for ever: {}",
                     state.self.id(), readable.error().what());
      throw Error(readable.error());
    }
    state.watchdog.alive();
    state.server.serve({faults.data(), count});
    co_await yield();
  }
}

std::byte* MappedSegment::data() const noexcept {
  return state_->faults.data();
}
std::uint64_t MappedSegment::bytes() const noexcept {
  return state_->segment.bytes();
}
storage::HelperThreads& MappedSegment::threads() noexcept {
  return state_->threads;
}
MappedCounts MappedSegment::counts() const noexcept {
  return state_->pages.counts();
}

Task<> MappedSegment::sync() {
  co_await state_->pages.drop_all();
}

Task<> MappedSegment::flush() {
  co_await state_->pages.clean_all();
  co_await state_->segment.flush();
}

Task<> MappedSegment::unmap() {
  CORACLE_ASSERT(state_->threads.running() == 0, "a mapped segment was unmapped while {} functions run on it",
                 state_->threads.running());
  co_await state_->pages.drop_all();
  const std::shared_ptr<State> state = std::move(state_);
  state->scope.cancel();
  co_await uninterrupted(state->ended);
}

}  // namespace coracle::internals
