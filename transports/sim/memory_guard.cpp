#include "transports/sim/memory_guard.hpp"

#include <algorithm>
#include <utility>

namespace coracle::internals::sim {
namespace {

class ThisProcess final : public MemoryGuard::Source {
 public:
  MemoryRoom room() override { return memory_room(); }
  std::uint64_t used_bytes() noexcept override { return used_.bytes(); }

 private:
  const MemoryUsed used_;
};

}  // namespace

MemoryGuard::MemoryGuard() : MemoryGuard(std::make_unique<ThisProcess>()) {}

MemoryGuard::MemoryGuard(std::unique_ptr<Source> source)
    : source_(std::move(source)), next_look_bytes_(source_->used_bytes() + kStepBytes) {}

/// The next look is due when some of what is left has been taken, long before all of it can have been.
bool MemoryGuard::look_again() {
  room_ = source_->room();
  // The rest of the machine goes on, too; and between two looks some is taken.
  if (reserve_bytes_ == 0) reserve_bytes_ = std::clamp<std::uint64_t>(room_.free_bytes / 32, 64ULL << 20, 1ULL << 30);
  const std::uint64_t spare = room_.free_bytes - std::min(room_.free_bytes, reserve_bytes_);
  next_look_bytes_ = source_->used_bytes() + std::max(spare / 8, kStepBytes);
  return room_.free_bytes < reserve_bytes_;
}

}  // namespace coracle::internals::sim
