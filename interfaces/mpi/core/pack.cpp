// MPI_Pack and MPI_Unpack: the packed order of layouts; and addresses.
#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/packing.hpp"

#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {

namespace {

void check_comm(const Comm* comm) {
  if (comm == nullptr) raise(ErrorClass::comm, "the communicator is MPI_COMM_NULL: give one whose members will unpack");
}

}  // namespace

void pack(const void* inbuf, Count incount, Datatype* datatype, void* outbuf, Count outsize, Count& position,
          Comm* comm) {
  check_comm(comm);
  const internals::MessageSource source = source_of(inbuf, incount, datatype);
  const auto bytes = static_cast<Count>(source.bytes());
  internals::read_part(source, 0, piece_at<std::byte>(outbuf, outsize, position, bytes, "outbuf"));
  position += bytes;
}

void unpack(const void* inbuf, Count insize, Count& position, void* outbuf, Count outcount, Datatype* datatype,
            Comm* comm) {
  check_comm(comm);
  const internals::MessageTarget target = target_of(outbuf, outcount, datatype);
  const auto bytes = static_cast<Count>(target.bytes());
  internals::write_part(target, 0, piece_at<const std::byte>(inbuf, insize, position, bytes, "inbuf"));
  position += bytes;
}

void pack_size(Count incount, Datatype* datatype, Comm* comm, Count& size) {
  check_comm(comm);
  check_count(incount, "incount");
  if (__builtin_mul_overflow(existing(datatype).size(), incount, &size))
    raise(ErrorClass::count, "{} values of {} bytes are 2^63 bytes or more", incount, datatype->size());
}

void get_address(const void* location, Count& address) {
  address = reinterpret_cast<Count>(location);
}

}  // namespace coracle::mpi
