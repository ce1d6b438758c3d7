// What the reductions have in common: values as elements in a row, as the runtime combines them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "collectives/data/scratch.hpp"
#include "interfaces/mpi/core/collectives/call.hpp"
#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/operation.hpp"

namespace coracle::mpi::collectives {

using internals::Reduction;
using internals::Scratch;

/// The datatype and the operation of a reduction. Keeps both.
class Reducing : public Call {
 public:
  /// Throws MpiError: (comm, type, op), also for a pair that MPI does not define.
  Reducing(Datatype* datatype, Op* op, Comm* comm);

  Reduction reduction() const noexcept { return prepared_.reduction(); }
  const PreparedReduction& prepared() const noexcept { return prepared_; }
  std::size_t bytes_of(Count count) const noexcept { return static_cast<std::size_t>(count * element_bytes()); }
  /// Whether the program's memory is what is combined; else values go by scratch memory.
  bool works_in_place() const noexcept { return prepared_.works_in_place(); }
  /// Whether an element is larger than the runtime combines: then all contributions are gathered, and combined at once.
  bool too_large() const noexcept {
    return prepared_.element_bytes() > static_cast<Count>(internals::kReducedBytesMax);
  }
  bool is_direct() const noexcept { return works_in_place() && !too_large(); }
  Count extent() const noexcept { return datatype_->extent(); }

 protected:
  Reducing(Datatype* datatype, Op* op, Comm* comm, Across any);
  Count element_bytes() const noexcept { return prepared_.element_bytes(); }
  /// Throws MpiError (count, buffer).
  void check_values(const void* buffer, Count count, const char* what) const;
  /// Memory of `count` values where it works in place.
  std::span<const std::byte> bytes_at(const void* buffer, Count count) const noexcept {
    return {static_cast<const std::byte*>(buffer), bytes_of(count)};
  }
  std::span<std::byte> bytes_at(void* buffer, Count count) const noexcept {
    return {static_cast<std::byte*>(buffer), bytes_of(count)};
  }

 private:
  Ref<Datatype> datatype_;
  PreparedReduction prepared_;
};

/// A process's values in a row of elements.
class ElementsToSend {
 public:
  ElementsToSend(const Reducing& reducing, const void* buffer, Count count);
  std::span<const std::byte> span() const noexcept { return bytes_; }

 private:
  std::optional<Scratch> scratch_;  // before what is made in it
  std::span<const std::byte> bytes_;
};

/// Room for a result in a row of elements; store() brings it to where it belongs, if that is elsewhere.
class ElementsToReceive {
 public:
  ElementsToReceive(const Reducing& reducing, void* buffer, Count count);
  std::span<std::byte> span() const noexcept { return bytes_; }
  void store() const;

 private:
  const Reducing& reducing_;
  void* buffer_;
  Count count_;
  std::optional<Scratch> scratch_;
  std::span<std::byte> bytes_;
};

/// Of `number` contributions, each as long as `result` and behind the one before: all combined in their order.
void combine_in_order(const Reduction& reduction, std::span<const std::byte> contributions, std::uint32_t number,
                      std::span<std::byte> result);

}  // namespace coracle::mpi::collectives
