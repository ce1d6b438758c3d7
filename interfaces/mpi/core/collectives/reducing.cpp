// Values to and from rows of elements.
#include "interfaces/mpi/core/collectives/reducing.hpp"

#include "collectives/data/blocks.hpp"
#include "interfaces/mpi/core/collectives/arguments.hpp"
#include "interfaces/mpi/core/error.hpp"

namespace coracle::mpi::collectives {
namespace {

Datatype& checked_for_reduction(Datatype* datatype) {
  checked(static_cast<const Datatype*>(datatype));
  return *datatype;
}

}  // namespace

Reducing::Reducing(Datatype* datatype, Op* op, Comm* comm)
    : Call(comm), datatype_(&checked_for_reduction(datatype)), prepared_(checked(op), *datatype) {}

Reducing::Reducing(Datatype* datatype, Op* op, Comm* comm, Across any)
    : Call(comm, any), datatype_(&checked_for_reduction(datatype)), prepared_(checked(op), *datatype) {}

void Reducing::check_values(const void* buffer, Count count, const char* what) const {
  if (count < 0) [[unlikely]]
    raise(ErrorClass::count, "count is {}: a count is 0 or more", count);
  Count bytes = 0;
  if (__builtin_mul_overflow(count, element_bytes(), &bytes)) [[unlikely]]
    raise(ErrorClass::count, "count is {}, of values of {} bytes: more than any memory", count, element_bytes());
  if (buffer == nullptr && count > 0 && datatype_->is_predefined()) [[unlikely]]
    raise(ErrorClass::buffer, "{} is null, and count is {}", what, count);
}

ElementsToSend::ElementsToSend(const Reducing& reducing, const void* buffer, Count count) {
  const std::size_t bytes = reducing.bytes_of(count);
  if (reducing.works_in_place()) {
    bytes_ = {static_cast<const std::byte*>(buffer), bytes};
    return;
  }
  reducing.prepared().load(buffer, count, scratch_.emplace(bytes).data());
  bytes_ = scratch_->span();
}

ElementsToReceive::ElementsToReceive(const Reducing& reducing, void* buffer, Count count)
    : reducing_(reducing), buffer_(buffer), count_(count) {
  const std::size_t bytes = reducing.bytes_of(count);
  if (reducing.works_in_place())
    bytes_ = {static_cast<std::byte*>(buffer), bytes};
  else
    bytes_ = scratch_.emplace(bytes).span();
}

void ElementsToReceive::store() const {
  if (scratch_) reducing_.prepared().store(scratch_->data(), count_, buffer_);
}

// From the last on: then the operation writes its right argument, as MPI's do.
void combine_in_order(const Reduction& reduction, std::span<const std::byte> contributions, std::uint32_t number,
                      std::span<std::byte> result) {
  const std::size_t bytes = result.size();
  if (number == 0 || bytes == 0) return;
  internals::copy_bytes(contributions.subspan((number - 1) * bytes, bytes), result);
  for (std::uint32_t member = number - 1; member-- > 0;)
    reduction.combine(contributions.data() + member * bytes, result.data(), result.data(), bytes);
}

}  // namespace coracle::mpi::collectives
