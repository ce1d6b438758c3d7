// Fortran's types by precision and range, as gfortran's selected_real_kind chooses; and types by their size.
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "interfaces/mpi/core/construction.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {

namespace {

struct RealKind {
  int digits;
  int exponent;
  Basic real;
  Basic complex;
};
constexpr RealKind kRealKinds[] = {
    {6, 37, Basic::float32, Basic::complex32},
    {15, 307, Basic::float64, Basic::complex64},
    // Where C's long double has 64 bits of mantissa, so has gfortran's next kind.
    {std::numeric_limits<long double>::digits == 64 ? 18 : 0, 4931, Basic::float80, Basic::complex80},
    {33, 4931, Basic::float128, Basic::complex128},
};

struct IntegerKind {
  int digits;
  Basic basic;
};
constexpr IntegerKind kIntegerKinds[] = {
    {2, Basic::int8}, {4, Basic::int16}, {9, Basic::int32}, {18, Basic::int64}, {38, Basic::int128},
};

const RealKind& real_kind(int p, int r) {
  if (p == kUndefined && r == kUndefined)
    raise(ErrorClass::arg, "both precision and range are MPI_UNDEFINED: give at least one of them");
  for (const RealKind& kind : kRealKinds)
    if ((p == kUndefined || p <= kind.digits) && (r == kUndefined || r <= kind.exponent)) return kind;
  raise(ErrorClass::arg, "no kind of real has {} digits and a decimal exponent of {}: the largest has 33 and 4931", p,
        r);
}

Basic integer_kind(int r) {
  for (const IntegerKind& kind : kIntegerKinds)
    if (r <= kind.digits) return kind.basic;
  raise(ErrorClass::arg, "no kind of integer has {} digits: the largest has 38", r);
}

/// The same object each time: programs need not free it (MPI-4.1, 19.1.9), nor can they.
Datatype* fortran_type(Combiner combiner, Basic basic, std::vector<int> arguments) {
  static auto& made = *new std::map<std::pair<Combiner, std::vector<int>>, Datatype*>;
  Datatype*& datatype = made[{combiner, arguments}];
  if (datatype != nullptr) return datatype;
  Construction construction;
  construction.combiner = combiner;
  construction.integers = std::move(arguments);
  datatype = new Datatype({.basic = basic}, std::move(construction));
  return datatype;
}

struct SizedType {
  int size;
  const char* name;
};
constexpr SizedType kIntegers[] = {
    {1, "MPI_INTEGER1"}, {2, "MPI_INTEGER2"}, {4, "MPI_INTEGER4"}, {8, "MPI_INTEGER8"}, {16, "MPI_INTEGER16"},
};
constexpr SizedType kReals[] = {{2, "MPI_REAL2"}, {4, "MPI_REAL4"}, {8, "MPI_REAL8"}, {16, "MPI_REAL16"}};
constexpr SizedType kComplexes[] = {
    {4, "MPI_COMPLEX4"}, {8, "MPI_COMPLEX8"}, {16, "MPI_COMPLEX16"}, {32, "MPI_COMPLEX32"}};

std::span<const SizedType> types_of_class(int typeclass) {
  switch (typeclass) {
    case kTypeClassInteger:
      return kIntegers;
    case kTypeClassReal:
      return kReals;
    case kTypeClassComplex:
      return kComplexes;
    default:
      raise(ErrorClass::arg, "typeclass is {}: it is MPI_TYPECLASS_INTEGER, _REAL or _COMPLEX", typeclass);
  }
}

}  // namespace

void type_create_f90_real(int p, int r, Datatype*& newtype) {
  newtype = fortran_type(Combiner::f90_real, real_kind(p, r).real, {p, r});
}

void type_create_f90_complex(int p, int r, Datatype*& newtype) {
  newtype = fortran_type(Combiner::f90_complex, real_kind(p, r).complex, {p, r});
}

void type_create_f90_integer(int r, Datatype*& newtype) {
  newtype = fortran_type(Combiner::f90_integer, integer_kind(r), {r});
}

void type_match_size(int typeclass, int size, Datatype*& datatype) {
  for (const SizedType& type : types_of_class(typeclass)) {
    if (type.size != size) continue;
    datatype = predefined_datatype(type.name);
    return;
  }
  raise(ErrorClass::arg, "no type of that class has {} bytes", size);
}

}  // namespace coracle::mpi
