// Checking what a peer asks for.
#include "runtime/rank/request.hpp"

#include <fmt/format.h>

#include "runtime/core/error.hpp"

namespace coracle::internals::scattered {

Extent Extent::of(const RemoteAddress& origin, const Layout& layout, std::uint64_t count) {
  const Footprint footprint = layout.footprint(count);
  RemoteAddress low = origin;
  low.offset += static_cast<std::uint64_t>(footprint.low);
  return {low, static_cast<std::uint64_t>(footprint.high) - static_cast<std::uint64_t>(footprint.low), footprint.low};
}

TransferRequest TransferRequest::read(std::span<const std::uint64_t> words, std::span<const std::byte> payload,
                                      std::uint32_t rank) {
  if (words.size() != TransferHeader::kWords)
    throw Error(Errc::bad_input, fmt::format("a transfer is asked for in {} words", words.size()));
  const auto layout_bytes = static_cast<std::uint32_t>(words[2]);
  if (layout_bytes > payload.size())
    throw Error(Errc::bad_input, fmt::format("a layout of {} bytes in {} bytes", layout_bytes, payload.size()));
  TransferRequest asked{};
  asked.serial = words[0];
  asked.layout = Layout::decode(payload.first(layout_bytes));
  asked.count = words[3];
  asked.bytes = asked.layout.packed_bytes(asked.count);
  asked.extent = Extent::of({words[1], rank, static_cast<std::uint32_t>(words[2] >> 32)}, asked.layout, asked.count);
  asked.data = payload.subspan(layout_bytes);
  if (asked.bytes != words[4] || asked.data.size() > asked.bytes)
    throw Error(Errc::bad_input, fmt::format("{} bytes are announced and {} are there, for a layout of {}", words[4],
                                             asked.data.size(), asked.bytes));
  return asked;
}

}  // namespace coracle::internals::scattered
