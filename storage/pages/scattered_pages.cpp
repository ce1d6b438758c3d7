// Copies between scattered bytes of a paged segment and scattered local memory, straight from page to layout.
#include "storage/pages/page_cache.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/layout/cursor.hpp"
#include "storage/pages/pinned_page.hpp"

namespace coracle::internals::storage {
namespace {

/// Of the packed order: one of several pieces that are on their way at once.
struct Piece {
  std::uint64_t begin;
  std::uint64_t end;
};

void move_bytes(const ScatteredPages& what, std::uint64_t position, const PinnedPage& page, std::uint64_t in_page,
                std::size_t bytes) {
  if (what.writing)
    pack({what.local.origin, what.local.layout, what.local.count}, position, page.writable().subspan(in_page, bytes));
  else
    unpack(page.bytes().subspan(in_page, bytes), position, what.local);
}

Task<> copy_piece(const ScatteredPages& what, Piece piece) {
  const std::uint32_t page_bytes = what.cache.shape().page_bytes;
  layouts::Cursor cursor(what.layout, what.count, piece.begin);
  std::optional<PinnedPage> held;  // while the blocks of the layout lie in it
  std::uint64_t held_page = 0;
  std::uint64_t position = piece.begin;
  while (position < piece.end) {
    const layouts::Group& group = cursor.group();
    const auto offset = what.offset + static_cast<std::uint64_t>(group.first_block());
    const std::uint64_t page = offset / page_bytes;
    const std::uint64_t in_page = offset % page_bytes;
    const std::uint64_t part = std::min({group.block_bytes, page_bytes - in_page, piece.end - position});
    if (!held || held_page != page) {
      held.reset();
      std::uint32_t frame = what.cache.try_pin_alone(page, what.writing);
      if (frame == Frames::kNone) frame = co_await what.cache.acquire(page, what.writing);
      held.emplace(what.cache, frame, what.writing);
      held_page = page;
    }
    move_bytes(what, position, *held, in_page, part);
    position += part;
    cursor.advance_bytes(part);
  }
}

}  // namespace

Task<> copy_scattered(ScatteredPages what) {
  const std::uint64_t bytes = what.layout.packed_bytes(what.count);
  if (const std::uint64_t here = what.local.layout.packed_bytes(what.local.count); here != bytes)
    throw Error(Errc::bad_input, fmt::format("scattered {} of a paged segment: {} bytes there and {} here",
                                             what.writing ? "put" : "get", bytes, here));
  if (bytes == 0) co_return;
  const Footprint footprint = what.layout.footprint(what.count);
  std::uint64_t low = 0;
  if (__builtin_add_overflow(what.offset, footprint.low, &low))
    throw Error(
        Errc::out_of_segment,
        fmt::format("scattered {}: a layout whose bytes lie from {} to {} around its origin, at offset {}, does "
                    "not lie in the paged segment",
                    what.writing ? "put" : "get", footprint.low, footprint.high, what.offset));
  what.cache.check_range(low, static_cast<std::uint64_t>(footprint.high - footprint.low),
                         what.writing ? "scattered put" : "scattered get");
  // Enough pieces that as many pages are awaited at once; each walks through its part of the packed order.
  constexpr std::uint64_t kPiecesMax = 16;
  constexpr std::uint64_t kPieceBytesMin = 4096;
  const std::uint64_t frames = what.cache.frames().shape().frames;
  const std::uint64_t wanted = std::clamp<std::uint64_t>(bytes / kPieceBytesMin, 1, kPiecesMax);
  const std::uint64_t pieces = std::clamp<std::uint64_t>(frames / 4, 1, wanted);
  PromiseBase& self = co_await this_coroutine();
  Scope scope(self.loop(), &self.scope());
  for (std::uint64_t i = 0; i < pieces; ++i)
    scope.spawn(copy_piece(what, Piece{bytes / pieces * i, i + 1 == pieces ? bytes : bytes / pieces * (i + 1)}));
  co_await scope.join();
}

}  // namespace coracle::internals::storage
