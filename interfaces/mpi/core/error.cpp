// The runtime's errors as MPI's.
#include "interfaces/mpi/core/error.hpp"

#include <new>

#include "runtime/core/error.hpp"

namespace coracle::mpi {

MpiError current_error() noexcept {
  try {
    throw;
  } catch (const MpiError& error) {
    return error;
  } catch (const internals::Error& error) {
    const std::error_code code = error.code();
    if (code == internals::Errc::truncated) return {ErrorClass::truncate, error.what()};
    // Members of a collective have given sizes that differ.
    if (code == internals::Errc::bad_input) return {ErrorClass::truncate, error.what()};
    const bool is_full = code == std::errc::no_buffer_space || code == internals::Errc::segment_full;
    if (is_full || code == std::errc::not_enough_memory) return {ErrorClass::no_mem, error.what()};
    return {ErrorClass::other, error.what()};
  } catch (const std::bad_alloc&) {
    return {ErrorClass::no_mem, "there is no more memory"};
  } catch (const std::exception& error) {
    return {ErrorClass::intern, error.what()};
  } catch (...) {
    return {ErrorClass::intern, "an exception that is not a std::exception"};
  }
}

}  // namespace coracle::mpi
