#include "transports/tca/tca_memory.hpp"

#include "runtime/core/error.hpp"

namespace coracle::internals::tca {

TcaMemory::TcaMemory(Rank& rank) noexcept
    : region_(rank.core().region()),
      rank_(rank.id()),
      addresses_(region_, true, true),
      registered_(region_),
      shares_memory_(rank.placement() != Placement::process) {}

std::error_code TcaMemory::check(const Operation& operation) const noexcept {
  if (operation.verb == Operation::Verb::request)
    return static_cast<std::uint32_t>(operation.peer()) < region_.shape().size ? std::error_code() : Errc::no_such_peer;
  if (const std::error_code error = addresses_.check(operation.remote, operation.bytes)) return error;
  if (operation.signal_add > 0) {
    if (const std::error_code error = addresses_.check(operation.signal, sizeof(std::uint64_t))) return error;
    if (addresses_.address_there(operation.signal) % sizeof(std::uint64_t) != 0) return Errc::misaligned;
  }
  if (operation.is_atomic() && addresses_.address_there(operation.remote) % operation.width != 0)
    return Errc::misaligned;
  return {};
}

bool TcaMemory::is_in_segment(const std::byte* begin, std::size_t bytes) const noexcept {
  const std::byte* first = region_.segment(rank_);
  const std::uint64_t room = region_.shape().segment_bytes;
  return begin >= first && bytes <= room && begin <= first + (room - bytes);
}

bool TcaMemory::is_there(std::uint32_t segment, const std::byte* begin, std::uint64_t bytes) const noexcept {
  if (segment == RemoteAddress::kOwnSegment || segment == RemoteAddress::kWholeMemory) return true;
  const ExposedMemory* const exposed = region_.exposed(rank_, ExposedMemory::index_of(segment));
  if (exposed == nullptr) return false;
  const std::uint64_t word = exposed->word.load(std::memory_order_relaxed);  // written by this rank only
  if (word >> ExposedMemory::kTimesShift != ExposedMemory::times_of(segment)) return false;
  const std::uint64_t room = word & ExposedMemory::kBytesMask;
  const auto* first = reinterpret_cast<const std::byte*>(exposed->address.load(std::memory_order_relaxed));
  return begin >= first && bytes <= room && begin <= first + (room - bytes);
}

}  // namespace coracle::internals::tca
