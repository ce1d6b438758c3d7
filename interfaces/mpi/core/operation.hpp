// Op: how a reduction combines two values.
#pragma once

#include <cstdint>
#include <iterator>

#include "collectives/data/reduction.hpp"
#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/element_loops.hpp"
#include "interfaces/mpi/core/object.hpp"

namespace coracle::mpi {

class Op final : public Object {
 public:
  /// Calls the program's function by its language: the ABI's business. inout[i] = in[i] op inout[i].
  using Call = void (*)(const void* in, void* inout, Count count, Datatype& datatype, void* function);

  explicit Op(Combining predefined) noexcept;
  Op(Call call, void* function, bool commutative) noexcept;

  Combining combining() const noexcept { return combining_; }
  bool is_user() const noexcept { return combining_ == Combining::user; }
  bool is_commutative() const noexcept { return commutative_; }
  /// "MPI_SUM"; of the program's: "the program's operation".
  const char* name() const noexcept;
  std::string label() const override { return name(); }
  /// inout[i] = in[i] op inout[i], in the datatype's own layout. Throws MpiError (op) where the standard does not allow
  /// the pair, by names. MPI_REPLACE and MPI_NO_OP take any datatype here.
  void apply(const void* in, void* inout, Count count, Datatype& datatype) const;

 private:
  ~Op() override = default;
  Combining combining_;
  bool commutative_;
  Call call_ = nullptr;
  void* function_ = nullptr;
};

/// Throws MpiError (op) for MPI_OP_NULL.
Op& checked(Op* op);

/// How a predefined operation goes through values of a datatype.
struct ElementWalk {
  ElementLoop loop;
  Count per_value = 0;     ///< Elements in a value of the datatype.
  std::int64_t first = 0;  ///< Where the first one lies, from the origin.
  bool together = false;   ///< Any number of values is one array of elements, from the first on.
};

/// Throws MpiError (op), which names both, where MPI does not define the pair.
ElementWalk walk_of(const Op& op, const Datatype& datatype);

/// A reduction over values of `datatype` by `op`, for the collectives; it must live until they have ended, and keeps
/// both until then. An element is a value of the datatype. Of a predefined op it is a plain loop (vectorised) where the
/// values have no gaps between them; of a user's op, or of a derived datatype with gaps, the op's function is called.
class PreparedReduction {
 public:
  /// Throws MpiError (op) where the standard does not allow the pair.
  PreparedReduction(Op& op, Datatype& datatype);
  PreparedReduction(const PreparedReduction&) = delete;
  PreparedReduction& operator=(const PreparedReduction&) = delete;

  internals::Reduction reduction() const noexcept;
  /// Bytes of an element, as the collectives count them: the extent of the datatype. (Of one whose bytes leave its
  /// bounds, more: see load().)
  Count element_bytes() const noexcept { return form_.element_bytes; }
  /// Whether the program's buffer (count values at its extent) is already what the collective works on: no gaps, and
  /// the lower bound is 0. Else values are copied to and from scratch memory of count * element_bytes(), by load() and
  /// store().
  bool works_in_place() const noexcept { return form_.in_place; }
  /// Copies values from the program's buffer into scratch memory (aligned to 16 bytes), in the collective's form.
  void load(const void* buffer, Count count, std::byte* scratch) const;
  /// And back; bytes in the gaps of the program's buffer stay as they are.
  void store(const std::byte* scratch, Count count, void* buffer) const;

 private:
  static void combine_plain(const void* self, const std::byte* left, const std::byte* right, std::byte* result,
                            std::size_t count);
  static void combine_called(const void* self, const std::byte* left, const std::byte* right, std::byte* result,
                             std::size_t count);
  void call(const std::byte* in, std::byte* inout, std::size_t count) const;
  void call_by_pieces(const std::byte* left, const std::byte* right, std::byte* result, std::size_t count) const;
  std::size_t bytes_per_element() const noexcept { return static_cast<std::size_t>(form_.element_bytes); }

  /// What follows from the operation and the datatype.
  struct Form {
    Count element_bytes = 0;
    std::int64_t origin = 0;  ///< Of a value, from the beginning of its element.
    bool in_place = false;
    bool apart = false;  ///< Elements are not one extent apart: each is handed over alone.
    ElementWalk walk;
  };
  static Form form_of(const Op& op, const Datatype& datatype);
  static Form known_form_of(const Op& op, const Datatype& datatype);

  Ref<Op> op_;
  Ref<Datatype> datatype_;
  Form form_;
};

/// The predefined operations by MPI's name ("MPI_SUM"); one object each; null for a name that is none.
Op* predefined_op(const char* name);
/// MPI_Op_create: `call` calls `function` by its language.
Op* create_op(Op::Call call, void* function, bool commutative);

}  // namespace coracle::mpi
