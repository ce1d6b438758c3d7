// The functions of datatypes and of what is received of them: each stands for MPI's of the same name, and throws
// MpiError. The names that MPI-2 replaced (MPI_Type_hvector, MPI_Address ...) are entry points of the new ones.
#pragma once

#include <span>
#include <string>

#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/numbers.hpp"
#include "interfaces/mpi/core/status.hpp"

namespace coracle::mpi {

class Comm;

void type_contiguous(Count count, Datatype* oldtype, Datatype*& newtype);
void type_vector(Count count, Count blocklength, Count stride, Datatype* oldtype, Datatype*& newtype);
void type_create_hvector(Count count, Count blocklength, Count stride, Datatype* oldtype, Datatype*& newtype);
void type_indexed(Count count, Numbers blocklengths, Numbers displacements, Datatype* oldtype, Datatype*& newtype);
void type_create_hindexed(Count count, Numbers blocklengths, Numbers displacements, Datatype* oldtype,
                          Datatype*& newtype);
void type_create_indexed_block(Count count, Count blocklength, Numbers displacements, Datatype* oldtype,
                               Datatype*& newtype);
void type_create_hindexed_block(Count count, Count blocklength, Numbers displacements, Datatype* oldtype,
                                Datatype*& newtype);
void type_create_struct(Count count, Numbers blocklengths, Numbers displacements, std::span<Datatype* const> types,
                        Datatype*& newtype);
void type_create_subarray(int ndims, Numbers sizes, Numbers subsizes, Numbers starts, int order, Datatype* oldtype,
                          Datatype*& newtype);
/// `distribs` and `dargs` in the core's values.
void type_create_darray(int size, int rank, int ndims, Numbers gsizes, Numbers distribs, Numbers dargs, Numbers psizes,
                        int order, Datatype* oldtype, Datatype*& newtype);
void type_create_resized(Datatype* oldtype, Count lb, Count extent, Datatype*& newtype);
void type_dup(Datatype* oldtype, Datatype*& newtype);
void type_create_f90_real(int p, int r, Datatype*& newtype);
void type_create_f90_complex(int p, int r, Datatype*& newtype);
void type_create_f90_integer(int r, Datatype*& newtype);
void type_match_size(int typeclass, int size, Datatype*& datatype);

void type_commit(Datatype*& datatype);
void type_free(Datatype*& datatype);
void type_size(Datatype* datatype, Count& size);
void type_size_x(Datatype* datatype, Count& size);
void type_get_extent(Datatype* datatype, Count& lb, Count& extent);
void type_get_extent_x(Datatype* datatype, Count& lb, Count& extent);
void type_get_true_extent(Datatype* datatype, Count& true_lb, Count& true_extent);
void type_get_true_extent_x(Datatype* datatype, Count& true_lb, Count& true_extent);
void type_extent(Datatype* datatype, Count& extent);
void type_lb(Datatype* datatype, Count& displacement);
void type_ub(Datatype* datatype, Count& displacement);
void type_get_name(Datatype* datatype, std::string& name);
void type_set_name(Datatype* datatype, const char* name);

void type_get_envelope(Datatype* datatype, int& integers, int& addresses, int& datatypes, int& combiner);
/// Integers are in the core's values: the order of subarrays and darrays, distributions and their arguments.
void type_get_contents(Datatype* datatype, Count max_integers, Count max_addresses, Count max_datatypes, int* integers,
                       Count* addresses, std::span<Datatype*> datatypes);
void type_get_envelope_c(Datatype* datatype, Count& integers, Count& addresses, Count& large_counts, Count& datatypes,
                         int& combiner);
void type_get_contents_c(Datatype* datatype, Count max_integers, Count max_addresses, Count max_large_counts,
                         Count max_datatypes, int* integers, Count* addresses, Count* large_counts,
                         std::span<Datatype*> datatypes);

void get_count(const Status& status, Datatype* datatype, Count& count);
void get_elements(const Status& status, Datatype* datatype, Count& count);
void get_elements_x(const Status& status, Datatype* datatype, Count& count);
void status_set_elements(Status& status, Datatype* datatype, Count count);
void status_set_elements_x(Status& status, Datatype* datatype, Count count);
void status_set_cancelled(Status& status, bool flag);
void test_cancelled(const Status& status, bool& flag);

void pack(const void* inbuf, Count incount, Datatype* datatype, void* outbuf, Count outsize, Count& position,
          Comm* comm);
void unpack(const void* inbuf, Count insize, Count& position, void* outbuf, Count outcount, Datatype* datatype,
            Comm* comm);
void pack_size(Count incount, Datatype* datatype, Comm* comm, Count& size);
void pack_external(const char* datarep, const void* inbuf, Count incount, Datatype* datatype, void* outbuf,
                   Count outsize, Count& position);
void unpack_external(const char* datarep, const void* inbuf, Count insize, Count& position, void* outbuf,
                     Count outcount, Datatype* datatype);
void pack_external_size(const char* datarep, Count incount, Datatype* datatype, Count& size);
void get_address(const void* location, Count& address);

}  // namespace coracle::mpi
