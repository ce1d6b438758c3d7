// Asking, sending and landing.
#include "collectives/messages/asked_pieces.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/core/assert.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/rank/read_exposures.hpp"

namespace coracle::internals {

bool AskedPieces::is_needed(Rank& rank, const RemoteAddress& place, std::size_t bytes) noexcept {
  const JobRegion& region = rank.core().region();
  return rank.placement() == Placement::process && region.is_local(place.rank) && !region.header().kernel_copies &&
         rank.core().addresses().reach(place, bytes) == nullptr;
}

Task<> AskedPieces::fetch(std::uint32_t peer, std::uint64_t address, std::span<std::byte> target) {
  Arriving arriving(*this, peer, target);
  co_await rank_.request(peer, on_asked, {}, address, target.size(), arriving.number);
  co_await arriving.whole;
}

void AskedPieces::on_asked(Rank& rank, const Message& message) {
  const std::span data(reinterpret_cast<const std::byte*>(message.argument(0)), message.argument(1));
  // No longer offered where the asker is lost, of whom this may be the last word: nobody waits for it then.
  if (!rank.core().read_exposures().covers(message.argument(0), data.size())) return;
  rank.service().spawn(ignore_loss(send(rank, message.source(), data, message.argument(2))));
}

Task<> AskedPieces::send(Rank& rank, std::uint32_t peer, std::span<const std::byte> data, std::uint64_t number) {
  constexpr std::size_t kPieceBytes = 8192;
  for (std::size_t begin = 0; begin < data.size(); begin += kPieceBytes) {
    const auto piece = data.subspan(begin, std::min(kPieceBytes, data.size() - begin));
    co_await rank.request(peer, on_piece, piece, number, begin);
  }
}

void AskedPieces::on_piece(Rank& rank, const Message& message) {
  auto& self = rank.local<AskedPieces>();
  const auto found = self.arriving_.find(message.argument(0));
  if (found == self.arriving_.end()) return;
  Arriving& arriving = *found->second;
  const std::span<const std::byte> piece = message.payload();
  const std::uint64_t begin = message.argument(1);
  CORACLE_ASSERT(message.source() == arriving.peer && begin <= arriving.target.size() &&
                     piece.size() <= std::min(arriving.missing, arriving.target.size() - begin),
                 "a piece of {} bytes from rank {}, where {} of rank {} are missing", piece.size(), message.source(),
                 arriving.missing, arriving.peer);
  std::memcpy(arriving.target.data() + begin, piece.data(), piece.size());
  arriving.missing -= piece.size();
  if (arriving.missing == 0) arriving.whole.set();
}

}  // namespace coracle::internals
