// PreparedReduction: values of a datatype as the collectives' reductions see them, as elements of bytes.
#include <algorithm>
#include <cstring>
#include <vector>

#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core/operation.hpp"
#include "runtime/layout/layout.hpp"

namespace coracle::mpi {

namespace {

/// Whether all bytes of a value lie within its bounds, so that values do not lie in each other.
bool lies_within_bounds(const Datatype& datatype) noexcept {
  const internals::Layout& layout = datatype.layout();
  return layout.true_lower_bound() >= layout.lower_bound() &&
         layout.true_lower_bound() + layout.true_extent() <= layout.lower_bound() + layout.extent();
}

/// So that the values of elements in a row are aligned, whatever their type.
constexpr std::int64_t round_up(std::int64_t bytes) noexcept {
  return (bytes + 15) / 16 * 16;
}

void copy_values(void* target, const void* source, Count count, const Datatype& datatype) {
  const auto repetitions = static_cast<std::uint64_t>(count);
  internals::copy({target, datatype.layout(), repetitions}, {source, datatype.layout(), repetitions}, 0,
                  static_cast<std::uint64_t>(count * datatype.size()));
}

}  // namespace

PreparedReduction::PreparedReduction(Op& op, Datatype& datatype)
    : op_(&op), datatype_(&datatype), form_(known_form_of(op, datatype)) {}

/// Of predefined ones, which stay, the latest is kept: programs reduce the same values again and again.
PreparedReduction::Form PreparedReduction::known_form_of(const Op& op, const Datatype& datatype) {
  struct Known {
    const Op* op = nullptr;
    const Datatype* datatype = nullptr;
    Form form;
  };
  static constinit Known latest;  // one thread calls MPI
  if (latest.op == &op && latest.datatype == &datatype) [[likely]]
    return latest.form;
  const Form form = form_of(op, datatype);
  if (op.is_predefined() && datatype.is_predefined()) latest = {&op, &datatype, form};
  return form;
}

PreparedReduction::Form PreparedReduction::form_of(const Op& op, const Datatype& datatype) {
  if (op.combining() == Combining::replace || op.combining() == Combining::no_op)
    raise(ErrorClass::op, "{} is not for reductions: it combines {}", op.name(), domain_of(op.combining()));
  Form form;
  if (!op.is_user()) form.walk = walk_of(op, datatype);
  const internals::Layout& layout = datatype.layout();
  form.apart = !lies_within_bounds(datatype);
  form.origin = form.apart ? -layout.true_lower_bound() : -layout.lower_bound();
  // Without any bytes a count of elements still divides by this.
  form.element_bytes = std::max<Count>(1, form.apart ? round_up(layout.true_extent()) : layout.extent());
  const bool has_gaps = datatype.size() != datatype.extent();
  form.in_place = !form.apart && !has_gaps && layout.lower_bound() == 0 && datatype.is_contiguous();
  return form;
}

internals::Reduction PreparedReduction::reduction() const noexcept {
  const bool plain = form_.walk.together && !form_.apart;
  const bool one_each = plain && form_.walk.per_value == 1 && form_.walk.first + form_.origin == 0;
  const auto function = one_each ? form_.walk.loop.function : plain ? combine_plain : combine_called;
  return {bytes_per_element(), function, this, op_->is_commutative()};
}

void PreparedReduction::load(const void* buffer, Count count, std::byte* scratch) const {
  if (!form_.apart) return copy_values(scratch + form_.origin, buffer, count, *datatype_);
  for (Count i = 0; i < count; ++i) {
    const std::byte* value = static_cast<const std::byte*>(buffer) + i * datatype_->extent();
    copy_values(scratch + i * form_.element_bytes + form_.origin, value, 1, *datatype_);
  }
}

void PreparedReduction::store(const std::byte* scratch, Count count, void* buffer) const {
  if (!form_.apart) return copy_values(buffer, scratch + form_.origin, count, *datatype_);
  for (Count i = 0; i < count; ++i) {
    std::byte* value = static_cast<std::byte*>(buffer) + i * datatype_->extent();
    copy_values(value, scratch + i * form_.element_bytes + form_.origin, 1, *datatype_);
  }
}

/// Values without gaps, of several elements each.
void PreparedReduction::combine_plain(const void* context, const std::byte* left, const std::byte* right,
                                      std::byte* result, std::size_t count) {
  const auto& self = *static_cast<const PreparedReduction*>(context);
  const std::int64_t first = self.form_.walk.first + self.form_.origin;
  self.form_.walk.loop.function(nullptr, left + first, right + first, result + first,
                                count * static_cast<std::size_t>(self.form_.walk.per_value));
}

void PreparedReduction::combine_called(const void* context, const std::byte* left, const std::byte* right,
                                       std::byte* result, std::size_t count) {
  const auto& self = *static_cast<const PreparedReduction*>(context);
  if (result == left && self.op_->is_commutative()) return self.call(right, result, count);
  if (result == left) return self.call_by_pieces(left, right, result, count);
  if (result != right) std::memcpy(result, right, count * self.bytes_per_element());
  self.call(left, result, count);
}

void PreparedReduction::call(const std::byte* in, std::byte* inout, std::size_t count) const {
  if (!form_.apart) return op_->apply(in + form_.origin, inout + form_.origin, static_cast<Count>(count), *datatype_);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = i * bytes_per_element();
    op_->apply(in + place + form_.origin, inout + place + form_.origin, 1, *datatype_);
  }
}

/// The function writes its right argument: of that there is a copy, a piece at a time.
void PreparedReduction::call_by_pieces(const std::byte* left, const std::byte* right, std::byte* result,
                                       std::size_t count) const {
  constexpr std::size_t kPieceBytes = 4096;
  alignas(64) std::byte piece[kPieceBytes];
  std::vector<std::byte> large;
  const std::size_t bytes = bytes_per_element();
  if (bytes > kPieceBytes) large.resize(bytes);
  std::byte* const sum = large.empty() ? piece : large.data();
  const std::size_t at_once = std::max<std::size_t>(1, kPieceBytes / bytes);
  for (std::size_t done = 0; done < count; done += at_once) {
    const std::size_t now = std::min(at_once, count - done);
    std::memcpy(sum, right + done * bytes, now * bytes);
    call(left + done * bytes, sum, now);
    std::memcpy(result + done * bytes, sum, now * bytes);
  }
}

}  // namespace coracle::mpi
