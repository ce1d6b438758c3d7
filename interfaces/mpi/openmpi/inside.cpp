// Tells Coracle's functions inside a program, when this library is loaded, what Open MPI's handles are.
#include "interfaces/mpi/inside/handle_reader.hpp"

#include "interfaces/mpi/by_hand.hpp"
#include "interfaces/mpi/openmpi/translate.hpp"

namespace coracle::mpi::openmpi {
namespace {

template <class T>
Handle<T>* as_handle(const void* handle) noexcept {
  return static_cast<Handle<T>*>(const_cast<void*>(handle));
}

Comm& read_comm(const void* handle) {
  return checked(object_of(as_handle<Comm>(handle), "comm"));
}

const Datatype& read_datatype(const void* handle) {
  return existing(object_of(as_handle<Datatype>(handle), "datatype"));
}

bool is_thread_main() {
  bool flag = false;
  by_hand::is_thread_main(flag);
  return flag;
}

constexpr HandleReader kReader{.comm = read_comm, .datatype = read_datatype, .is_thread_main = is_thread_main};

[[gnu::constructor]] void offer_reader() noexcept {
  set_handle_reader(kReader);
}

}  // namespace
}  // namespace coracle::mpi::openmpi
