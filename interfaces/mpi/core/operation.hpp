// Op: how a reduction combines two values.
#pragma once

#include <cstdint>
#include <iterator>

#include "collectives/data/reduction.hpp"
#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/object.hpp"

namespace coracle::mpi {

enum class Combining : std::uint8_t {
  none,
  max,
  min,
  sum,
  prod,
  land,
  band,
  lor,
  bor,
  lxor,
  bxor,
  minloc,
  maxloc,
  replace,
  no_op,
  user,
};

class Op final : public Object {
 public:
  /// Calls the program's function by its language: the ABI's business. inout[i] = in[i] op inout[i].
  using Call = void (*)(const void* in, void* inout, Count count, Datatype& datatype, void* function);

  explicit Op(Combining predefined) noexcept;
  Op(Call call, void* function, bool commutative) noexcept;

  Combining combining() const noexcept { return combining_; }
  bool is_commutative() const noexcept { return commutative_; }
  /// inout[i] = in[i] op inout[i], in the datatype's own layout. Throws MpiError (op) where the standard does not allow
  /// the pair, by names.
  void apply(const void* in, void* inout, Count count, Datatype& datatype) const;

 private:
  ~Op() override = default;
  Combining combining_;
  bool commutative_;
  Call call_ = nullptr;
  void* function_ = nullptr;
};

/// A reduction over packed values of `datatype` by `op`, for the collectives; it must live until they have ended. Of a
/// predefined op on a basic type it is a plain loop (vectorised) over elements; of a user's op, or a pair with gaps, or
/// a derived datatype, one element is one value of the datatype *with its gaps removed only if it has none*: others are
/// laid out by extent in scratch memory by whoever calls (see stride()).
class PreparedReduction {
 public:
  /// Throws MpiError (op) where the standard does not allow the pair.
  PreparedReduction(const Op& op, Datatype& datatype);
  internals::Reduction reduction() const noexcept;
  /// Bytes of an element, as the collectives count them: the size of a basic type, or the extent of another.
  Count element_bytes() const noexcept { return element_bytes_; }
  /// Whether the program's buffer (count values at its extent) is already what the collective works on: no gaps, and
  /// the lower bound is 0. Else values are copied to and from scratch memory of count * element_bytes(), by layout.
  bool works_in_place() const noexcept { return in_place_; }

 private:
  const Op& op_;
  Datatype& datatype_;
  Count element_bytes_ = 0;
  bool in_place_ = true;
  internals::Reduction::Combine function_ = nullptr;
};

/// The predefined operations by MPI's name ("MPI_SUM"); one object each; null for a name that is none.
Op* predefined_op(const char* name);

}  // namespace coracle::mpi
