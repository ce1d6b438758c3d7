// Fortran's arguments in C. MPI's constants that are no numbers are COMMON blocks there, known by their addresses.
#pragma once

#include <cstddef>
#include <string>

#include "interfaces/mpi/openmpi/abi.hpp"
#include "interfaces/mpi/openmpi/fortran/program_site.hpp"
#include "interfaces/mpi/openmpi/fortran_site.hpp"
#include "interfaces/mpi/openmpi/inline_values.hpp"

namespace coracle::mpi::openmpi {

// The library that defines them is Open MPI's libmpi; a program's own COMMON block of the name comes before that.
extern "C" {
extern char mpi_fortran_bottom_[];
extern char mpi_fortran_in_place_[];
extern char mpi_fortran_status_ignore_[];
extern char mpi_fortran_statuses_ignore_[];
extern char mpi_fortran_unweighted_[];
extern char mpi_fortran_weights_empty_[];
}

/// No handle has it: it becomes the null handle.
inline constexpr MPI_Fint kNullNumber = -1;

inline bool is_in_place(const void* buffer) noexcept {
  return buffer == mpi_fortran_in_place_;
}

inline void* buffer_at(void* buffer) noexcept {
  if (buffer == mpi_fortran_bottom_) return nullptr;
  return is_in_place(buffer) ? reinterpret_cast<void*>(1) : buffer;
}

inline const int* weights_at(const MPI_Fint* weights) noexcept {
  const void* const place = weights;
  if (place == mpi_fortran_unweighted_) return reinterpret_cast<const int*>(2);
  return place == mpi_fortran_weights_empty_ ? reinterpret_cast<const int*>(3) : weights;
}
inline int* weights_at(MPI_Fint* weights) noexcept {
  return const_cast<int*>(weights_at(const_cast<const MPI_Fint*>(weights)));
}

/// A status is six INTEGERs, which lie as C's does.
template <class Status, class Integer>
Status* status_at(Integer* status) noexcept {
  const void* const place = status;
  return place == mpi_fortran_status_ignore_ ? nullptr : reinterpret_cast<Status*>(status);
}
template <class Status, class Integer>
Status* statuses_at(Integer* statuses) noexcept {
  const void* const place = statuses;
  return place == mpi_fortran_statuses_ignore_ ? nullptr : reinterpret_cast<Status*>(statuses);
}

/// The modules' procedures may leave it out.
inline void store_error(int code, MPI_Fint* error) noexcept {
  if (error != nullptr) *error = code;
}

/// Without the blanks around it: of names they count as little at the end as of keys at the beginning.
std::string c_text(const char* text, int length);
void store_blank_padded(const char* text, char* to, int length) noexcept;
inline std::size_t room_of_text(int room) noexcept {
  return room > 0 ? static_cast<std::size_t>(room) : 1;
}

// Lengths of arrays that depend on a communicator.
int size_of_comm(MPI_Fint comm) noexcept;
int sources_of_comm(MPI_Fint comm) noexcept;
int destinations_of_comm(MPI_Fint comm) noexcept;

}  // namespace coracle::mpi::openmpi
