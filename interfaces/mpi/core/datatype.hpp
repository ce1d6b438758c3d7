// Datatype: where the bytes of a value lie (its Layout), what they are (its basic types), and how it was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interfaces/mpi/core/attributes.hpp"
#include "interfaces/mpi/core/basic.hpp"
#include "interfaces/mpi/core/constants.hpp"
#include "interfaces/mpi/core/object.hpp"
#include "runtime/layout/layout.hpp"
#include "runtime/messages/message_memory.hpp"

namespace coracle::mpi {

/// Nothing is ever mapped below: an address there comes from MPI_BOTTOM (null) and a displacement.
inline constexpr Count kFirstPage = 4096;

class Datatype;

/// How a datatype was made: what MPI_Type_get_envelope and _get_contents give, in the order of the standard's tables.
struct Construction {
  Combiner combiner = Combiner::named;
  std::vector<int> integers;     ///< Of the narrow form; where a value does not fit, the form is wide.
  std::vector<Count> addresses;  ///< Displacements, strides, bounds in bytes.
  std::vector<Count> counts;     ///< Of the wide form (MPI-4), instead of integers that are counts, and of addresses.
  std::vector<Ref<Datatype>> datatypes;

  /// A count by its place in the narrow form: of a struct, the length of block i is count_at(1 + i).
  Count count_at(std::size_t place) const noexcept { return counts.empty() ? Count{integers[place]} : counts[place]; }
};

/// A run of basic values in the packed order.
struct BasicRun {
  Basic basic;
  Count count;
};

/// What a predefined datatype is.
struct PredefinedForm {
  const char* name = "";
  Basic basic = Basic::none;
  Count count = 1;                 ///< Of such values, one after the other: MPI_2COMPLEX has 2.
  std::uint8_t external_long = 8;  ///< Bytes of a 64-bit integer in external32: C's long has 4 there.
  bool marks_lower = false;        ///< MPI_LB
  bool marks_upper = false;        ///< MPI_UB
};

/// `count` of `datatype`, in the packed order.
struct DatatypePart {
  const Datatype* datatype;
  Count count;
};

/// Immutable but for its name, attributes and whether it is committed.
class Datatype final : public Object {
 public:
  /// A predefined one.
  explicit Datatype(const PredefinedForm& form);
  /// One that is predefined without a name: a type of Fortran by its precision and range.
  Datatype(const PredefinedForm& form, Construction construction);
  /// A derived one. Where no upper bound is set, the extent is rounded up to the largest alignment of its basic types
  /// (MPI's epsilon, as Open MPI has it: for each constructor). Throws MpiError (arg) where that leaves 64 bits.
  Datatype(internals::Layout layout, Construction construction);

  const internals::Layout& layout() const noexcept { return layout_; }
  Count size() const noexcept { return static_cast<Count>(layout_.size()); }
  Count lower_bound() const noexcept { return layout_.lower_bound(); }
  Count extent() const noexcept { return layout_.extent(); }
  bool is_contiguous() const noexcept { return layout_.is_contiguous(); }
  bool is_committed() const noexcept { return committed_; }
  void commit() noexcept;
  const Construction& construction() const noexcept { return construction_; }
  /// Of a predefined one, or of one that consists of one basic type only (as reductions want); else none.
  Basic basic() const noexcept { return basic_; }
  /// Runs of basic values of one repetition, in the packed order: written out at first use, kept. A vector of structs
  /// has as many as blocks: prefer parts().
  const std::vector<BasicRun>& signature() const;
  /// As MPI_Get_elements counts them: of a pair both.
  Count basic_values() const noexcept { return values_; }

  /// What one repetition consists of; of a predefined one nothing.
  std::size_t parts() const noexcept { return construction_.datatypes.size(); }
  DatatypePart part(std::size_t index) const noexcept;
  /// The predefined datatype of which alone it consists, whose basic values it has `leaf_repetitions()` times over;
  /// null where there are several.
  const Datatype* leaf() const noexcept { return leaf_; }
  Count leaf_repetitions() const noexcept;
  /// Of a predefined one.
  const PredefinedForm& form() const noexcept { return form_; }
  /// Bytes of one repetition in external32.
  Count external_bytes() const noexcept { return external_bytes_; }
  Count alignment() const noexcept { return alignment_; }
  /// Whether bounds have been set, by resizing or by markers: then they count wherever it is used in others.
  bool marks_lower() const noexcept { return marks_lower_; }
  bool marks_upper() const noexcept { return marks_upper_; }
  /// Whether nothing of it shows in others: no bytes, no marks.
  bool is_void() const noexcept { return size() == 0 && !marks_lower_ && !marks_upper_; }

  /// Whether `count` of these at `buffer` are bytes from there on, and the arguments are right: what most calls have.
  bool is_plain_at(const void* buffer, Count count) const noexcept {
    return static_cast<std::uint64_t>(count) <= INT32_MAX && plain_bytes_ != 0 && buffer > kInPlace;
  }
  std::size_t plain_bytes() const noexcept { return plain_bytes_; }

  /// "MPI_INT", "a datatype of 24 bytes".
  std::string label() const override;

  std::string name;
  Attributes attributes{KeyvalOf::datatype};

 private:
  ~Datatype() override = default;
  void derive_from_parts();
  void round_extent();

  internals::Layout layout_;
  Construction construction_;
  PredefinedForm form_;
  Basic basic_ = Basic::none;
  bool committed_ = false;
  bool marks_lower_ = false;
  bool marks_upper_ = false;
  std::uint32_t plain_bytes_ = 0;  // The size of a committed one without gaps, from the origin on; else 0.
  Count values_ = 0;
  Count external_bytes_ = 0;
  Count alignment_ = 1;
  const Datatype* leaf_ = nullptr;
  mutable std::unique_ptr<std::vector<BasicRun>> signature_;
};

// The rest of what source_of and target_of do, where there is more to it.
internals::MessageSource checked_source(const void* buffer, Count count, const Datatype* datatype);
internals::MessageTarget checked_target(void* buffer, Count count, const Datatype* datatype);

/// What a call with (buffer, count, datatype) sends from, or receives into. Throws MpiError: (count) negative, (type)
/// null or not committed, (buffer) null where the bytes would lie in the first page.
inline internals::MessageSource source_of(const void* buffer, Count count, const Datatype* datatype) {
  if (datatype == nullptr || !datatype->is_plain_at(buffer, count)) [[unlikely]]
    return checked_source(buffer, count, datatype);
  const auto* const first = static_cast<const std::byte*>(buffer);
  return internals::MessageSource({first, static_cast<std::size_t>(count) * datatype->plain_bytes()});
}
inline internals::MessageTarget target_of(void* buffer, Count count, const Datatype* datatype) {
  if (datatype == nullptr || !datatype->is_plain_at(buffer, count)) [[unlikely]]
    return checked_target(buffer, count, datatype);
  auto* const first = static_cast<std::byte*>(buffer);
  return internals::MessageTarget({first, static_cast<std::size_t>(count) * datatype->plain_bytes()});
}

/// Throws MpiError (type) for MPI_DATATYPE_NULL, or one that is not committed.
const Datatype& checked(const Datatype* datatype);
/// Throws MpiError (type) for MPI_DATATYPE_NULL.
const Datatype& existing(const Datatype* datatype);
/// Throws MpiError (count) below 0; `what` is MPI's name of the argument.
void check_count(Count count, const char* what = "count");

/// The predefined datatypes by MPI's name ("MPI_INT", "MPI_DOUBLE_PRECISION"): each ABI exports those it has. One
/// object for each name, but for synonyms (MPI_LONG_LONG). Null for a name that is none.
Datatype* predefined_datatype(const char* name);

}  // namespace coracle::mpi
