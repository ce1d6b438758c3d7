// Who carries out transfers with memory that loads and stores do not reach: MemoryDomain, with a GPU's, and
// LayoutMover, with that of peers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/core/task.hpp"
#include "runtime/job/accelerator.hpp"
#include "runtime/job/remote.hpp"
#include "runtime/layout/layout.hpp"
#include "runtime/rank/operation.hpp"

namespace coracle::internals {

/// Memory that loads and stores do not reach (a GPU's), as operations see it: whether they concern it, and who carries
/// them out. Of one rank. Its thread only.
class MemoryDomain {
 public:
  MemoryDomain(const MemoryDomain&) = delete;
  MemoryDomain& operator=(const MemoryDomain&) = delete;

  Accelerator& accelerator() noexcept { return accelerator_; }
  /// See Accelerator::covers.
  bool covers(const void* address) const noexcept { return accelerator_.covers(address); }
  RemoteAddress place_of(const void* address) const noexcept { return accelerator_.place_of(address); }
  /// Whether the operation has an end there.
  bool concerns(const Operation& operation) const noexcept {
    if (operation.bytes > 0 && accelerator_.covers(operation.local)) return true;
    return operation.verb != Operation::Verb::request && Accelerator::holds(operation.remote);
  }
  bool on_device(const void* origin, const Layout& layout, std::uint64_t count) const {
    return accelerator_.covers(static_cast<const std::byte*>(origin) + layout.footprint(count).low);
  }
  /// Takes such an operation; it finishes later. Atomics there and requests with a payload there fail (unsupported).
  virtual void start(Operation& operation) noexcept = 0;
  /// A put or get of layouts, of which both sides have `bytes`. What is referred to must live until it has ended.
  /// Throws Error.
  virtual Task<> transfer(Operation::Verb verb, ScatteredTarget local, RemoteAddress origin, const Layout& layout,
                          std::uint64_t count, std::uint64_t bytes) = 0;
  /// The first `bytes`, which both sides have, of memory of this address space of which at least one side is of this
  /// domain, within this rank's reach. As above.
  virtual Task<> copy(ScatteredTarget target, ScatteredSource source, std::uint64_t bytes) = 0;
  /// Why the last operation that failed has failed.
  const std::string& last_failure() const noexcept { return last_failure_; }

  // --- for who moves packed bytes: `packed` is of a DeviceBuffer ---
  /// As coracle::pack: gives the bytes done.
  virtual Task<std::uint64_t> pack(ScatteredSource source, std::uint64_t position, std::span<std::byte> packed) = 0;
  /// As coracle::unpack; all of `packed` belongs to the target.
  virtual Task<> unpack(std::span<const std::byte> packed, std::uint64_t position, ScatteredTarget target) = 0;

 protected:
  explicit MemoryDomain(Accelerator& accelerator) noexcept : accelerator_(accelerator) {}
  ~MemoryDomain() = default;

  Accelerator& accelerator_;
  std::string last_failure_;
};

/// What moves layouts to and from memory of peers that loads and stores do not reach. Of one rank. Its thread only.
class LayoutMover {
 public:
  /// Both sides have `bytes`. The peer must exist. Done when the data is in the peer's memory, or in ours. What is
  /// referred to must live until then. Throws Error (out_of_segment: the peer does not have that memory; peer_lost).
  virtual Task<> put(ScatteredSource source, RemoteAddress origin, const Layout& layout, std::uint64_t count,
                     std::uint64_t bytes) = 0;
  virtual Task<> get(RemoteAddress origin, const Layout& layout, std::uint64_t count, ScatteredTarget target,
                     std::uint64_t bytes) = 0;

 protected:
  ~LayoutMover() = default;
};

}  // namespace coracle::internals
