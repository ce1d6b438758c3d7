// From MPI_Init to MPI_Finalize, and what asks after the world: by hand.
#include "interfaces/mpi/core/world.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

#include "interfaces/mpi/by_hand.hpp"
#include "interfaces/mpi/openmpi/entry.hpp"
#include "interfaces/mpi/openmpi/raw.hpp"
#include "interfaces/mpi/values.hpp"

extern "C" {
[[gnu::tls_model("initial-exec")]] __thread const void* coracle_ompi_fortran_site = nullptr;

bool coracle_ompi_is_told() noexcept {
  return coracle::mpi::call_events != nullptr;
}
}

namespace coracle::mpi::openmpi {
namespace {

/// What MPI_Query_thread gives, also after MPI_Finalize.
int provided_level = static_cast<int>(ThreadLevel::single);

/// Open MPI's: what is asked for at least, for programs that don't ask for enough.
int level_from_environment() {
  const char* const text = std::getenv("OMPI_MPI_THREAD_LEVEL");
  if (text == nullptr || *text == '\0') return static_cast<int>(ThreadLevel::single);
  if (text[0] < '0' || text[0] > '3' || text[1] != '\0')
    raise(ErrorClass::arg, "OMPI_MPI_THREAD_LEVEL is \"{}\": it is to be 0 to 3, from MPI_THREAD_SINGLE to _MULTIPLE",
          text);
  return threadlevel_from(text[0] - '0', "OMPI_MPI_THREAD_LEVEL");
}

/// Attributes are read where they lie: those that are ranks must have this ABI's values.
void translate_attributes() {
  set_predefined_attribute(kHost, AttributeValue::of_number(rank_to(kProcNull)));
  set_predefined_attribute(kIo, AttributeValue::of_number(rank_to(kAnySource)));
}

void start_world(int level) {
  world_init(std::max(level, level_from_environment()), provided_level);
  translate_attributes();
  attach_predefined();
  world_begun();
}

}  // namespace

extern "C" {

int PMPI_Init(int*, char***) {
  try {
    start_world(static_cast<int>(ThreadLevel::single));
    return kSuccess;
  } catch (...) {
    return failed("MPI_Init");
  }
}

int PMPI_Init_thread(int*, char***, int required, int* provided) {
  try {
    check_place(provided, "provided");
    start_world(threadlevel_from(required, "required"));
    *provided = threadlevel_to(provided_level);
    return kSuccess;
  } catch (...) {
    return failed("MPI_Init_thread");
  }
}

int PMPI_Finalize() {
  try {
    const RunningCall call;
    world_finalize();
    return kSuccess;
  } catch (...) {
    return failed("MPI_Finalize");
  }
}

int PMPI_Abort(MPI_Comm, int errorcode) {
  world_abort("the program called MPI_Abort", errorcode);
}

double PMPI_Wtime() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double PMPI_Wtick() {
  return 1e-9;
}

int PMPI_Pcontrol(int, ...) {
  return kSuccess;
}
}

CORACLE_WEAK_TWIN(int, Init, int*, char***);
CORACLE_WEAK_TWIN(int, Init_thread, int*, char***, int, int*);
CORACLE_WEAK_TWIN(int, Finalize);
CORACLE_WEAK_TWIN(int, Abort, MPI_Comm, int);
CORACLE_WEAK_TWIN(double, Wtime);
CORACLE_WEAK_TWIN(double, Wtick);
CORACLE_WEAK_TWIN(int, Pcontrol, int, ...);

namespace by_hand {

void initialized(bool& flag) {
  flag = is_initialized();
}

void finalized(bool& flag) {
  flag = is_finalized();
}

void query_thread(int& provided) {
  provided = provided_level;
}

void is_thread_main(bool& flag) {
  flag = World::is_main_thread();
}

void get_version(int& version, int& subversion) {
  version = 3;
  subversion = 1;
}

void get_library_version(std::string& version) {
  version = "Coracle, by the binary interface of Open MPI v4.1.4 (MPI 3.1)";
}

void get_processor_name(std::string& name) {
  std::array<char, 256> text{};
  if (gethostname(text.data(), text.size() - 1) != 0) raise(ErrorClass::other, "this machine tells no name");
  name = text.data();
}

void alloc_mem(Count size, Info*, void*& baseptr) {
  if (size < 0) raise(ErrorClass::arg, "size is {}: it is to be 0 or more", size);
  constexpr std::size_t kLine = 64;
  const std::size_t bytes = (static_cast<std::size_t>(size) + kLine) / kLine * kLine;
  baseptr = std::aligned_alloc(kLine, bytes);
  if (baseptr == nullptr) raise(ErrorClass::no_mem, "there is no memory left for {} bytes", size);
}

void free_mem(void* base) {
  std::free(base);
}

void comm_get_parent(Comm*& parent) {
  parent = nullptr;
}

}  // namespace by_hand
}  // namespace coracle::mpi::openmpi
