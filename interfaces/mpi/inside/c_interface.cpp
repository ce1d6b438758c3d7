// <coracle.h>: the functions for programs in C. Exceptions end here, as codes and a text.
#define CORACLE_BUILDS_ITSELF 1

// The name that Open MPI's mpi.h has for it.
using MPI_Comm = struct ompi_communicator_t*;  // NOLINT(readability-identifier-naming): the standard's name

#include <coracle.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "interfaces/mpi/core/call_lock.hpp"
#include "interfaces/mpi/core/call_place.hpp"
#include "interfaces/mpi/core/call_span.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "interfaces/mpi/inside/handle_reader.hpp"
#include "interfaces/mpi/inside/inside.hpp"
#include "interfaces/mpi/inside/symmetric_memory.hpp"
#include "runtime/core/error.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): a name of C
struct coracle_memory : coracle::mpi::SymmetricMemory {
  using SymmetricMemory::SymmetricMemory;
};

namespace coracle::mpi {
namespace {

using internals::Errc;
using internals::Error;

thread_local std::array<char, 512> the_text{};

int fail(int result, std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), the_text.size() - 1);
  std::memcpy(the_text.data(), text.data(), length);
  the_text[length] = '\0';
  return result;
}

int result_of(const std::error_code& code) noexcept {
  constexpr std::array<std::pair<Errc, int>, 8> kResults{{
      {Errc::unsupported, CORACLE_NOT_HERE},
      {Errc::bad_input, CORACLE_BAD_ARGUMENT},
      {Errc::out_of_segment, CORACLE_OUT_OF_RANGE},
      {Errc::slab_gone, CORACLE_OUT_OF_RANGE},
      {Errc::segment_full, CORACLE_NO_MEMORY},
      {Errc::peer_lost, CORACLE_PEER_LOST},
      {Errc::given_up, CORACLE_PEER_LOST},
      {Errc::no_such_peer, CORACLE_BAD_ARGUMENT},
  }};
  for (const auto& [each, result] : kResults)
    if (code == each) return result;
  return CORACLE_OTHER_FAILURE;
}

template <class Function>
int run(Function function) noexcept {
  try {
    const EarlyCall call;
    function();
    return CORACLE_OK;
  } catch (const Error& error) {
    return fail(result_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(CORACLE_NO_MEMORY, "there is no memory left");
  } catch (const std::exception& error) {
    return fail(CORACLE_OTHER_FAILURE, error.what());
  }
}

template <class T>
T& not_null(T* pointer, const char* name) {
  if (pointer == nullptr) throw Error(Errc::bad_input, std::string(name) + " is a null pointer");
  return *pointer;
}

/// A negative number is none that there is.
std::size_t signal_number(int signal) noexcept {
  return static_cast<std::size_t>(signal);
}

void check_buffer(const void* buffer, std::size_t bytes, const char* name) {
  if (bytes != 0) not_null(static_cast<const char*>(buffer), name);
}

void allocate(MPI_Comm comm, std::size_t bytes, int signals, coracle_memory** memory) {
  not_null(memory, "memory") = nullptr;
  if (signals < 0) throw Error(Errc::bad_input, "signals is " + std::to_string(signals) + ": it is to be 0 or more");
  *memory = new coracle_memory(comm_of(comm), bytes, static_cast<std::size_t>(signals));
}

}  // namespace
}  // namespace coracle::mpi

namespace mpi = coracle::mpi;

extern "C" {

const char* coracle_version(void) {
  return CORACLE_VERSION;
}

int coracle_runs_mpi(void) {
  return coracle::internals::runs_mpi() ? 1 : 0;
}

const char* coracle_error_text(void) {
  return mpi::the_text.data();
}

int coracle_allocate(MPI_Comm comm, size_t bytes, int signals, coracle_memory** memory) {
  return mpi::run([&] { mpi::allocate(comm, bytes, signals, memory); });
}

int coracle_free(coracle_memory** memory) {
  return mpi::run([&] {
    mpi::not_null(mpi::not_null(memory, "memory"), "*memory").end();
    delete std::exchange(*memory, nullptr);
  });
}

void* coracle_local(const coracle_memory* memory) {
  return memory->local();
}

int coracle_size(const coracle_memory* memory) {
  return memory->size();
}

int coracle_rank(const coracle_memory* memory) {
  return memory->rank();
}

int coracle_put(coracle_memory* memory, int rank, size_t offset, const void* source, size_t bytes) {
  return mpi::run([&] {
    mpi::check_buffer(source, bytes, "source");
    mpi::not_null(memory, "memory").put(rank, offset, source, bytes);
  });
}

int coracle_put_signal(coracle_memory* memory, int rank, size_t offset, const void* source, size_t bytes, int signal) {
  return mpi::run([&] {
    mpi::check_buffer(source, bytes, "source");
    mpi::not_null(memory, "memory").put_signal(rank, offset, source, bytes, mpi::signal_number(signal));
  });
}

int coracle_get(coracle_memory* memory, int rank, size_t offset, void* target, size_t bytes) {
  return mpi::run([&] {
    mpi::check_buffer(target, bytes, "target");
    mpi::not_null(memory, "memory").get(rank, offset, target, bytes);
  });
}

int coracle_flush(coracle_memory* memory) {
  return mpi::run([&] { mpi::not_null(memory, "memory").flush(); });
}

int coracle_wait_signal(coracle_memory* memory, int signal, uint64_t count) {
  return mpi::run([&] { mpi::not_null(memory, "memory").wait_signal(mpi::signal_number(signal), count); });
}

uint64_t coracle_signal(const coracle_memory* memory, int signal) {
  return memory->signal_count(mpi::signal_number(signal));
}

uint64_t coracle_span_begin(const char* name) {
  const mpi::EarlyCall call;
  coracle::internals::Events* const events = mpi::call_events;
  if (events == nullptr || name == nullptr) return 0;
  const std::uint64_t id = events->new_id();
  events->begin_span(name, id, mpi::place_of_call(__builtin_return_address(0)));
  return id;
}

void coracle_span_end(uint64_t span) {
  const mpi::EarlyCall call;
  if (span != 0 && mpi::call_events != nullptr) mpi::call_events->end_span(span);
}

int coracle_progress(void) {
  return mpi::run([] { coracle::internals::progress(); });
}
}
