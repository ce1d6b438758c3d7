// DeviceTransfers: puts and gets with a GPU's memory at either end. Where the engines reach both ends they copy
// straight from one to the other, also from layout to layout; other host memory goes through pinned buffers, several at
// a time; to peers that are not reached, the bytes go by messages (Exchange), through pinned buffers at either end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/accelerator.hpp"
#include "runtime/layout/copy.hpp"
#include "runtime/operation.hpp"

namespace coracle::internals {

class Rank;

/// One rank's, whose GPU `accelerator` is. Its thread only.
class DeviceTransfers {
 public:
  DeviceTransfers(Rank& rank, Accelerator& accelerator) noexcept : rank_(rank), accelerator_(accelerator) {}

  Accelerator& accelerator() noexcept { return accelerator_; }
  /// See Accelerator::covers.
  bool covers(const void* address) const noexcept { return accelerator_.covers(address); }
  RemoteAddress place_of(const void* address) const noexcept { return accelerator_.place_of(address); }
  /// Whether the operation has an end in a GPU's memory.
  bool concerns(const Operation& operation) const noexcept {
    if (operation.bytes > 0 && accelerator_.covers(operation.local)) return true;
    return operation.verb != Operation::Verb::request && Accelerator::holds(operation.remote);
  }
  bool on_device(const void* origin, const Layout& layout, std::uint64_t count) const {
    return accelerator_.covers(static_cast<const std::byte*>(origin) + layout.footprint(count).low);
  }
  /// Takes such an operation; it finishes later. Atomics on a GPU's memory and requests with a payload there fail
  /// (unsupported).
  void start(Operation& operation) noexcept;
  /// A put or get of layouts, of which both sides have `bytes`. What is referred to must live until it has ended.
  /// Throws Error.
  Task<> transfer(Operation::Verb verb, ScatteredTarget local, RemoteAddress origin, const Layout& layout,
                  std::uint64_t count, std::uint64_t bytes);
  /// The first `bytes`, which both sides have, of memory of this address space of which at least one side is a GPU's
  /// that this rank reaches. As above.
  Task<> copy(ScatteredTarget target, ScatteredSource source, std::uint64_t bytes);
  /// Why the last operation that failed has failed.
  const std::string& last_failure() const noexcept { return last_failure_; }

  // --- for who moves packed bytes: `packed` is of a DeviceBuffer ---
  /// As coracle::pack: gives the bytes done.
  Task<std::uint64_t> pack(ScatteredSource source, std::uint64_t position, std::span<std::byte> packed);
  /// As coracle::unpack; all of `packed` belongs to the target.
  Task<> unpack(std::span<const std::byte> packed, std::uint64_t position, ScatteredTarget target);

 private:
  struct Staged;

  Task<> carry_out(Operation& operation);
  Task<> copy_runs(ScatteredTarget target, std::uint64_t target_position, ScatteredSource source,
                   std::uint64_t source_position, std::uint64_t bytes);
  static Task<> stage_all(Scope& scope, Staged& staged);
  static Task<> stage_some(Staged& staged);
  bool engines_reach(const void* origin, const Layout& layout, std::uint64_t count);

  Rank& rank_;
  Accelerator& accelerator_;
  std::string last_failure_;
};

}  // namespace coracle::internals
