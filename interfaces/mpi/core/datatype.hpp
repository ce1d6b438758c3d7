// Datatype: where the bytes of a value lie (its Layout), what they are (its basic types), and how it was made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interfaces/mpi/core/attributes.hpp"
#include "interfaces/mpi/core/constants.hpp"
#include "interfaces/mpi/core/object.hpp"
#include "runtime/layout/layout.hpp"
#include "runtime/messages/message_memory.hpp"

namespace coracle::mpi {

/// What a predefined datatype's values are; a type of another language with the same representation is the same.
enum class Basic : std::uint8_t {
  none,  ///< MPI_DATATYPE_NULL's, and bounds (MPI_LB, MPI_UB)
  byte,
  packed,
  character,  ///< char, Fortran's CHARACTER: no arithmetic
  wide_character,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64,
  float80,   ///< long double of x86-64, 16 bytes
  float128,  ///< REAL*16
  complex32,
  complex64,
  complex80,
  complex128,  ///< COMPLEX*32
  boolean,     ///< C's _Bool, C++'s bool
  logical8,    ///< Fortran's LOGICAL, by bytes
  logical16,
  logical32,
  logical64,
  // Pairs, for MPI_MINLOC and MPI_MAXLOC; laid out as C's structs, Fortran's as two of the same.
  float32_int32,
  float64_int32,
  float80_int32,
  int64_int32,
  int32_int32,
  int16_int32,
  float32_float32,
  float64_float64,
};

/// Bytes of one value, as it lies in memory between its first and last byte; 0 for none.
std::size_t bytes_of(Basic basic) noexcept;
/// Alignment of the C type, from which epsilon of structs comes.
std::size_t alignment_of(Basic basic) noexcept;

class Datatype;

/// How a datatype was made: what MPI_Type_get_envelope and _get_contents give.
struct Construction {
  Combiner combiner = Combiner::named;
  std::vector<int> integers;     ///< Of the narrow form; where a value does not fit, the form is wide.
  std::vector<Count> addresses;  ///< Displacements, strides, bounds in bytes.
  std::vector<Count> counts;     ///< Of the wide form (MPI-4), instead of integers that are counts.
  std::vector<Ref<Datatype>> datatypes;
};

/// A run of basic values in the packed order.
struct BasicRun {
  Basic basic;
  Count count;
};

/// Immutable but for its name, attributes and whether it is committed.
class Datatype final : public Object {
 public:
  /// A predefined one.
  Datatype(Basic basic, std::string name);
  /// A derived one.
  Datatype(internals::Layout layout, Construction construction);

  const internals::Layout& layout() const noexcept { return layout_; }
  Count size() const noexcept { return static_cast<Count>(layout_.size()); }
  Count lower_bound() const noexcept { return layout_.lower_bound(); }
  Count extent() const noexcept { return layout_.extent(); }
  bool is_contiguous() const noexcept { return contiguous_; }
  bool is_committed() const noexcept { return committed_; }
  void commit() noexcept { committed_ = true; }
  const Construction& construction() const noexcept { return construction_; }
  /// Of a predefined one, or of one that consists of one basic type only (as reductions want); else none.
  Basic basic() const noexcept { return basic_; }
  /// Basic values of one repetition, in the packed order; runs of equal ones may repeat (a vector of structs has as
  /// many as blocks): computed at first use, kept.
  const std::vector<BasicRun>& signature() const;
  Count basic_values() const;

  std::string name;
  Attributes attributes{KeyvalOf::datatype};

 private:
  ~Datatype() override;
  internals::Layout layout_;
  Construction construction_;
  Basic basic_ = Basic::none;
  bool contiguous_ = false;
  bool committed_ = false;
  mutable std::unique_ptr<std::vector<BasicRun>> signature_;
};

/// What a call with (buffer, count, datatype) sends from, or receives into. Throws MpiError: (count) negative, (type)
/// null or not committed, (buffer) null where bytes are wanted and the layout is relative.
internals::MessageSource source_of(const void* buffer, Count count, const Datatype* datatype);
internals::MessageTarget target_of(void* buffer, Count count, const Datatype* datatype);
/// The same checks alone.
const Datatype& checked(const Datatype* datatype);

/// The predefined datatypes by MPI's name ("MPI_INT", "MPI_DOUBLE_PRECISION"): each ABI exports those it has. One
/// object for each name. Null for a name that is none.
Datatype* predefined_datatype(const char* name);

}  // namespace coracle::mpi
