// ControllerLink: asking, and being asked by, the ranks of the node.
#include "storage/pages/page_cache.hpp"

#include <string>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/io.hpp"
#include "runtime/rank/peer_event.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/rpc.hpp"
#include "storage/pages/cache_controller.hpp"

namespace coracle::internals::storage {
namespace {

void unpinned_there(Rank& rank, std::uint32_t segment) {
  if (CacheController* controller = rank.local<SegmentTable>().find(segment)) controller->unpinned();
}

void prefetch_there(Rank& rank, std::uint32_t segment, std::uint64_t first, std::uint64_t count) {
  if (CacheController* controller = rank.local<SegmentTable>().find(segment)) controller->prefetch(first, count);
}

}  // namespace

bool ControllerLink::reads_here() const noexcept {
  return own_ != nullptr || rank_.placement() == Placement::pvas || rank_.placement() == Placement::thread;
}

Task<std::uint32_t> ControllerLink::obtain(std::uint64_t page, bool writing, const std::byte* whole) {
  if (own_ != nullptr) return own_->obtain(page, writing, whole);
  return ask(page, writing, whole);
}

void ControllerLink::unpinned() noexcept {
  if (own_ != nullptr) return own_->unpinned();
  rank_.service().spawn(rank_.tell(controller_, unpinned_there, segment_));
}

void ControllerLink::prefetch(std::uint64_t first, std::uint64_t count) noexcept {
  if (own_ != nullptr) {
    own_->prefetch(first, count);
    if (rank_.loop().io_in_flight()) rank_.loop().io().hand_over();  // what comes next may be a long copy
    return;
  }
  while (count > 0 && frames_.find(first) != Frames::kNone) {
    ++first;
    --count;
  }
  if (count > 0) rank_.service().spawn(rank_.tell(controller_, prefetch_there, segment_, first, count));
}

/// A page that the controller was asked for; it lives in the asker's frame, and its address travels.
struct ControllerLink::Asked {
  Asked(RankCore& core, std::uint32_t controller) noexcept : answered(core, "page", controller) {
    answered.explain({WaitKind::inside});  // whoever holds the page may let it go
  }
  PeerEvent answered;
  std::uint32_t frame = Frames::kNone;
  std::error_code code;
  std::string text;
};

Task<std::uint32_t> ControllerLink::ask(std::uint64_t page, bool writing, const std::byte* whole) {
  Asked asked(rank_.core(), controller_);
  co_await rank_.request(controller_, serve_acquire, {}, segment_, page, writing ? 1 : 0,
                         reinterpret_cast<std::uint64_t>(&asked), reinterpret_cast<std::uint64_t>(whole));
  co_await asked.answered;
  if (asked.frame == Frames::kNone) throw Error(asked.code, asked.text);
  co_return asked.frame;
}

void ControllerLink::serve_acquire(Rank& rank, const Message& message) {
  rank.service().spawn(answer_acquire(
      rank, message.source(), message.argument(3), static_cast<std::uint32_t>(message.argument(0)), message.argument(1),
      message.argument(2) != 0, reinterpret_cast<const std::byte*>(message.argument(4))));
}

Task<> ControllerLink::answer_acquire(Rank& rank, std::uint32_t asker, std::uint64_t cookie, std::uint32_t segment,
                                      std::uint64_t page, bool writing, const std::byte* whole) {
  std::uint32_t frame = Frames::kNone;
  std::error_code code;
  std::string text;
  try {
    frame = co_await rank.local<SegmentTable>().at(segment).obtain(page, writing, whole);
  } catch (const Error& error) {
    code = error.code();
    text = error.what();
  }
  const std::span<const char> bytes(text);
  const Result<> told =
      co_await as_result(rank.request(asker, take_acquired, std::as_bytes(bytes), cookie, frame, to_wire(code)));
  if (told.ok() || frame == Frames::kNone) co_return;
  // The asker is lost, and will not let go of it.
  CacheController* controller = rank.local<SegmentTable>().find(segment);
  if (controller == nullptr) co_return;
  controller->frames().head(frame).unpin(writing);
  controller->unpinned();
}

void ControllerLink::take_acquired(Rank&, const Message& message) {
  Asked& asked = *reinterpret_cast<Asked*>(message.argument(0));
  asked.frame = static_cast<std::uint32_t>(message.argument(1));
  asked.code = code_from_wire(message.argument(2));
  asked.text.assign(reinterpret_cast<const char*>(message.payload().data()), message.payload().size());
  asked.answered.set();
}

}  // namespace coracle::internals::storage
