// Copies between a GPU and what stands for its memory.
#include "collectives/data/scratch.hpp"

#include "runtime/core/error.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/rank/memory_domain.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

StagedData::StagedData(Team& team, std::span<std::byte> device, Scope& landings)
    : devices_(*team.rank().core().device_memory()), device_(device), landings_(landings) {
  try {
    slab_ = team.rank().allocate<std::byte>(device.size());
    host_ = slab_.local();
  } catch (const Error& error) {
    if (error.code() != Errc::segment_full) throw;
    host_ = scratch_.emplace(device.size()).span();
  }
}

Task<> StagedData::copy(std::byte* target, const std::byte* source, std::size_t bytes) {
  const Layout plain = Layout::bytes(static_cast<std::int64_t>(bytes));
  co_await devices_.copy({target, plain}, {source, plain}, bytes);
}

void StagedData::arrived(std::size_t offset, std::size_t bytes) {
  stored_bytes_ += bytes;
  landings_.spawn(copy(device_.data() + offset, host_.data() + offset, bytes));
}

void StagedData::all_arrived() {
  if (stored_bytes_ == host_.size()) return;
  // Some ways of a collective don't tell of pieces, and none tells of some only.
  CORACLE_ASSERT(stored_bytes_ == 0, "{} of {} bytes have arrived", stored_bytes_, host_.size());
  arrived(0, host_.size());
}

}  // namespace coracle::internals
