// Refusals.
#include "interfaces/mpi/core/collectives/arguments.hpp"

#include "interfaces/mpi/core/error.hpp"

namespace coracle::mpi::collectives {

std::uint32_t checked_root(const Comm& comm, int root) {
  if (root < 0 || root >= comm.size()) [[unlikely]]
    raise(ErrorClass::root, "root is {}: the ranks of this communicator are 0 to {}", root, comm.size() - 1);
  return static_cast<std::uint32_t>(root);
}

Count total_of(Count count, std::uint32_t number, const char* what) {
  if (count < 0) [[unlikely]]
    raise(ErrorClass::count, "{} is {}: a count is 0 or more", what, count);
  Count total = 0;
  if (__builtin_mul_overflow(count, Count{number}, &total)) [[unlikely]]
    raise(ErrorClass::count, "{} is {}, for each of {} processes: more than any memory", what, count, number);
  return total;
}

Count checked_count(Count count, const char* what, std::uint32_t place) {
  if (count < 0) [[unlikely]]
    raise(ErrorClass::count, "{}[{}] is {}: a count is 0 or more", what, place, count);
  return count;
}

void refuse_in_place(const void* buffer, const char* what) {
  if (is_in_place(buffer)) [[unlikely]]
    raise(ErrorClass::buffer, "{} is MPI_IN_PLACE, which this call does not take there: give a buffer", what);
}

std::optional<MpiError> own_misfit(std::size_t sent, std::size_t received) {
  if (sent == received) [[likely]]
    return {};
  return MpiError(ErrorClass::truncate, fmt::format("this process sends itself {} bytes and receives {} of them: "
                                                    "counts and datatypes of both sides must fit",
                                                    sent, received));
}

void check_own_bytes(std::size_t sent, std::size_t received) {
  if (const std::optional<MpiError> misfit = own_misfit(sent, received)) [[unlikely]]
    throw MpiError(*misfit);
}

void refuse_aliases(const void* sent, const void* received, std::size_t bytes) {
  if (sent == received && bytes > 0 && sent != nullptr) [[unlikely]]
    raise(ErrorClass::buffer,
          "sendbuf and recvbuf are the same memory, which is overwritten before it is sent: give MPI_IN_PLACE as "
          "sendbuf, or two buffers");
}

}  // namespace coracle::mpi::collectives
