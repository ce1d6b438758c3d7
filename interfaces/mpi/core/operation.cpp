#include "interfaces/mpi/core/operation.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "interfaces/mpi/core/error.hpp"
#include "runtime/layout/layout.hpp"

namespace coracle::mpi {

namespace {

struct OpName {
  Combining combining;
  const char* name;
};
constexpr std::array kOpNames = {
    OpName{Combining::max, "MPI_MAX"},         OpName{Combining::min, "MPI_MIN"},
    OpName{Combining::sum, "MPI_SUM"},         OpName{Combining::prod, "MPI_PROD"},
    OpName{Combining::land, "MPI_LAND"},       OpName{Combining::band, "MPI_BAND"},
    OpName{Combining::lor, "MPI_LOR"},         OpName{Combining::bor, "MPI_BOR"},
    OpName{Combining::lxor, "MPI_LXOR"},       OpName{Combining::bxor, "MPI_BXOR"},
    OpName{Combining::minloc, "MPI_MINLOC"},   OpName{Combining::maxloc, "MPI_MAXLOC"},
    OpName{Combining::replace, "MPI_REPLACE"}, OpName{Combining::no_op, "MPI_NO_OP"},
};

std::array<Op*, kOpNames.size()> make_predefined_ops() {
  std::array<Op*, kOpNames.size()> ops{};
  for (std::size_t i = 0; i < ops.size(); ++i) {
    ops[i] = new Op(kOpNames[i].combining);
    ops[i]->set_predefined();
  }
  return ops;
}

internals::ScatteredSource source_at(const void* origin, Count count, const Datatype& datatype) {
  return {origin, datatype.layout(), static_cast<std::uint64_t>(count)};
}

internals::ScatteredTarget target_at(void* origin, Count count, const Datatype& datatype) {
  return {origin, datatype.layout(), static_cast<std::uint64_t>(count)};
}

/// By pieces of the packed order.
void combine_scattered(const ElementLoop& loop, const internals::ScatteredSource& in,
                       const internals::ScatteredTarget& inout, std::uint64_t bytes) {
  constexpr std::size_t kCombinedBytes = 4096;
  alignas(64) std::byte left[kCombinedBytes];
  alignas(64) std::byte right[kCombinedBytes];
  // Elements have a power of two of bytes: none is cut.
  for (std::uint64_t position = 0; position < bytes; position += kCombinedBytes) {
    const std::size_t piece = static_cast<std::size_t>(std::min<std::uint64_t>(kCombinedBytes, bytes - position));
    internals::pack(in, position, {left, piece});
    internals::pack({inout.origin, inout.layout, inout.count}, position, {right, piece});
    loop.function(nullptr, left, right, right, piece / loop.element_bytes);
    internals::unpack({right, piece}, position, inout);
  }
}

[[noreturn]] void refuse_pair(const Op& op, const Datatype& datatype) {
  raise(ErrorClass::op, "{} is not defined for {}: it combines {}", op.name(),
        datatype.name.empty() ? "a derived datatype" : datatype.name.c_str(), domain_of(op.combining()));
}

}  // namespace

Op::Op(Combining predefined) noexcept
    : combining_(predefined), commutative_(predefined != Combining::replace && predefined != Combining::no_op) {}

Op::Op(Call call, void* function, bool commutative) noexcept
    : combining_(Combining::user), commutative_(commutative), call_(call), function_(function) {}

const char* Op::name() const noexcept {
  for (const OpName& known : kOpNames) {
    if (known.combining == combining_) return known.name;
  }
  return "the program's operation";
}

void Op::apply(const void* in, void* inout, Count count, Datatype& datatype) const {
  if (is_user()) return call_(in, inout, count, datatype, function_);
  if (count <= 0 || combining_ == Combining::no_op) return;
  const auto bytes = static_cast<std::uint64_t>(count * datatype.size());
  const internals::ScatteredSource source = source_at(in, count, datatype);
  const internals::ScatteredTarget target = target_at(inout, count, datatype);
  if (combining_ == Combining::replace) return internals::copy(target, source, 0, bytes);
  const ElementWalk walk = walk_of(*this, datatype);
  if (!walk.together) return combine_scattered(walk.loop, source, target, bytes);
  auto* result = static_cast<std::byte*>(inout) + walk.first;
  walk.loop.function(nullptr, static_cast<const std::byte*>(in) + walk.first, result, result,
                     static_cast<std::size_t>(count * walk.per_value));
}

ElementWalk walk_of(const Op& op, const Datatype& datatype) {
  ElementWalk walk;
  walk.loop = element_loop(op.combining(), datatype.basic());
  if (walk.loop.function == nullptr) refuse_pair(op, datatype);
  const auto packed_bytes = static_cast<Count>(walk.loop.packed_bytes);
  walk.per_value = datatype.size() / packed_bytes;
  walk.first = datatype.layout().first_byte();
  walk.together = datatype.is_contiguous();
  if (walk.loop.packed_bytes == walk.loop.element_bytes) return walk;
  // Pairs with gaps: only where they lie as an array of C's structs.
  walk.together = walk.per_value == 1 && datatype.extent() == static_cast<Count>(walk.loop.element_bytes);
  if (!walk.together) refuse_pair(op, datatype);
  return walk;
}

Op& checked(Op* op) {
  if (op == nullptr)
    raise(ErrorClass::op, "the operation is MPI_OP_NULL: give a predefined one, or one of MPI_Op_create");
  return *op;
}

Op* predefined_op(const char* name) {
  static const std::array ops = make_predefined_ops();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (std::string_view(kOpNames[i].name) == name) return ops[i];
  }
  return nullptr;
}

Op* create_op(Op::Call call, void* function, bool commutative) {
  if (function == nullptr) raise(ErrorClass::arg, "the operation's function is a null pointer");
  return new Op(call, function, commutative);
}

void op_free(Op*& op) {
  if (checked(op).is_predefined())
    raise(ErrorClass::op, "{} is predefined: only operations of MPI_Op_create can be freed", op->name());
  free_handle(op);
}

void op_commutative(Op* op, bool& commutative) {
  commutative = checked(op).is_commutative();
}

void reduce_local(const void* in, void* inout, Count count, Datatype* datatype, Op* op) {
  const Op& combining = checked(op);
  checked(static_cast<const Datatype*>(datatype));
  if (count < 0) raise(ErrorClass::count, "count is {}: it must be 0 or more", count);
  if (in == kInPlace || inout == kInPlace)
    raise(ErrorClass::buffer, "a buffer is MPI_IN_PLACE: MPI_Reduce_local wants two buffers");
  if (combining.combining() == Combining::replace || combining.combining() == Combining::no_op)
    refuse_pair(combining, *datatype);
  if (count > 0 && in == inout && datatype->size() > 0)
    raise(ErrorClass::buffer, "inbuf and inoutbuf are the same memory: MPI_Reduce_local wants two buffers");
  combining.apply(in, inout, count, *datatype);
}

}  // namespace coracle::mpi
