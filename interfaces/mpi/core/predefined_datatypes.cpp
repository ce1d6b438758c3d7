// The predefined datatypes: all that MPI-5 and Open MPI 4.1 name.
#include <array>
#include <map>
#include <string_view>

#include "interfaces/mpi/core/datatype.hpp"

namespace coracle::mpi {

namespace {

constexpr std::uint8_t kExternalLong = 4;  // MPI-4.1, table 15.2: of external32's long.

constexpr auto kForms = std::to_array<PredefinedForm>({
    {"MPI_BYTE", Basic::byte},
    {"MPI_PACKED", Basic::packed},
    {"MPI_LB", Basic::none, 0, 0, true, false},
    {"MPI_UB", Basic::none, 0, 0, false, true},
    // C
    {"MPI_CHAR", Basic::character},
    {"MPI_SIGNED_CHAR", Basic::int8},
    {"MPI_UNSIGNED_CHAR", Basic::uint8},
    {"MPI_WCHAR", Basic::wide_character},
    {"MPI_SHORT", Basic::int16},
    {"MPI_UNSIGNED_SHORT", Basic::uint16},
    {"MPI_INT", Basic::int32},
    {"MPI_UNSIGNED", Basic::uint32},
    {"MPI_LONG", Basic::int64, 1, kExternalLong},
    {"MPI_UNSIGNED_LONG", Basic::uint64, 1, kExternalLong},
    {"MPI_LONG_LONG_INT", Basic::int64},
    {"MPI_UNSIGNED_LONG_LONG", Basic::uint64},
    {"MPI_FLOAT", Basic::float32},
    {"MPI_DOUBLE", Basic::float64},
    {"MPI_LONG_DOUBLE", Basic::float80},
    {"MPI_C_BOOL", Basic::boolean},
    {"MPI_C_COMPLEX", Basic::complex32},
    {"MPI_C_DOUBLE_COMPLEX", Basic::complex64},
    {"MPI_C_LONG_DOUBLE_COMPLEX", Basic::complex80},
    {"MPI_INT8_T", Basic::int8},
    {"MPI_INT16_T", Basic::int16},
    {"MPI_INT32_T", Basic::int32},
    {"MPI_INT64_T", Basic::int64},
    {"MPI_UINT8_T", Basic::uint8},
    {"MPI_UINT16_T", Basic::uint16},
    {"MPI_UINT32_T", Basic::uint32},
    {"MPI_UINT64_T", Basic::uint64},
    {"MPI_AINT", Basic::int64},
    {"MPI_COUNT", Basic::int64},
    {"MPI_OFFSET", Basic::int64},
    {"MPI_FLOAT_INT", Basic::float32_int32},
    {"MPI_DOUBLE_INT", Basic::float64_int32},
    {"MPI_LONG_DOUBLE_INT", Basic::float80_int32},
    {"MPI_LONG_INT", Basic::int64_int32, 1, kExternalLong},
    {"MPI_SHORT_INT", Basic::int16_int32},
    {"MPI_2INT", Basic::int32_int32},
    // C++
    {"MPI_CXX_BOOL", Basic::boolean},
    {"MPI_CXX_FLOAT_COMPLEX", Basic::complex32},
    {"MPI_CXX_DOUBLE_COMPLEX", Basic::complex64},
    {"MPI_CXX_LONG_DOUBLE_COMPLEX", Basic::complex80},
    // Fortran
    {"MPI_CHARACTER", Basic::character},
    {"MPI_LOGICAL", Basic::logical32},
    {"MPI_LOGICAL1", Basic::logical8},
    {"MPI_LOGICAL2", Basic::logical16},
    {"MPI_LOGICAL4", Basic::logical32},
    {"MPI_LOGICAL8", Basic::logical64},
    {"MPI_LOGICAL16", Basic::logical128},
    {"MPI_INTEGER", Basic::int32},
    {"MPI_INTEGER1", Basic::int8},
    {"MPI_INTEGER2", Basic::int16},
    {"MPI_INTEGER4", Basic::int32},
    {"MPI_INTEGER8", Basic::int64},
    {"MPI_INTEGER16", Basic::int128},
    {"MPI_REAL", Basic::float32},
    {"MPI_REAL2", Basic::float16},
    {"MPI_REAL4", Basic::float32},
    {"MPI_REAL8", Basic::float64},
    {"MPI_REAL16", Basic::float128},
    {"MPI_DOUBLE_PRECISION", Basic::float64},
    {"MPI_COMPLEX", Basic::complex32},
    {"MPI_DOUBLE_COMPLEX", Basic::complex64},
    {"MPI_COMPLEX4", Basic::complex16},
    {"MPI_COMPLEX8", Basic::complex32},
    {"MPI_COMPLEX16", Basic::complex64},
    {"MPI_COMPLEX32", Basic::complex128},
    {"MPI_LONG_DOUBLE_COMPLEX", Basic::complex80},
    {"MPI_2INTEGER", Basic::int32_int32},
    {"MPI_2REAL", Basic::float32_float32},
    {"MPI_2DOUBLE_PRECISION", Basic::float64_float64},
    {"MPI_2COMPLEX", Basic::complex32, 2},
    {"MPI_2DOUBLE_COMPLEX", Basic::complex64, 2},
});

struct Synonym {
  const char* name;
  const char* of;
};
constexpr auto kSynonyms = std::to_array<Synonym>({
    {"MPI_LONG_LONG", "MPI_LONG_LONG_INT"},
    {"MPI_C_FLOAT_COMPLEX", "MPI_C_COMPLEX"},
    {"MPI_CXX_COMPLEX", "MPI_CXX_FLOAT_COMPLEX"},
});

using Predefined = std::map<std::string_view, Datatype*>;

Predefined make_predefined() {
  Predefined made;
  for (const PredefinedForm& form : kForms) made.emplace(form.name, new Datatype(form));
  for (const Synonym& synonym : kSynonyms) made.emplace(synonym.name, made.at(synonym.of));
  return made;
}

}  // namespace

Datatype* predefined_datatype(const char* name) {
  // Never freed: programs use them up to their last exit handler.
  static const auto& all = *new Predefined(make_predefined());
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace coracle::mpi
