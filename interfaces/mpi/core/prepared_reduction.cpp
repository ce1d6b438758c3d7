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

PreparedReduction::PreparedReduction(Op& op, Datatype& datatype) : op_(&op), datatype_(&datatype) {
  if (op.combining() == Combining::replace || op.combining() == Combining::no_op)
    raise(ErrorClass::op, "{} is not for reductions: it combines {}", op.name(), domain_of(op.combining()));
  if (!op.is_user()) walk_ = walk_of(op, datatype);
  const internals::Layout& layout = datatype.layout();
  apart_ = !lies_within_bounds(datatype);
  origin_ = apart_ ? -layout.true_lower_bound() : -layout.lower_bound();
  // Without any bytes a count of elements still divides by this.
  element_bytes_ = std::max<Count>(1, apart_ ? round_up(layout.true_extent()) : layout.extent());
  const bool has_gaps = datatype.size() != datatype.extent();
  in_place_ = !apart_ && !has_gaps && layout.lower_bound() == 0 && datatype.is_contiguous();
}

internals::Reduction PreparedReduction::reduction() const noexcept {
  const bool plain = walk_.together && !apart_;
  const bool one_each = plain && walk_.per_value == 1 && walk_.first + origin_ == 0;
  const auto function = one_each ? walk_.loop.function : plain ? combine_plain : combine_called;
  return {bytes_per_element(), function, this, op_->is_commutative()};
}

void PreparedReduction::load(const void* buffer, Count count, std::byte* scratch) const {
  if (!apart_) return copy_values(scratch + origin_, buffer, count, *datatype_);
  for (Count i = 0; i < count; ++i) {
    const std::byte* value = static_cast<const std::byte*>(buffer) + i * datatype_->extent();
    copy_values(scratch + i * element_bytes_ + origin_, value, 1, *datatype_);
  }
}

void PreparedReduction::store(const std::byte* scratch, Count count, void* buffer) const {
  if (!apart_) return copy_values(buffer, scratch + origin_, count, *datatype_);
  for (Count i = 0; i < count; ++i) {
    std::byte* value = static_cast<std::byte*>(buffer) + i * datatype_->extent();
    copy_values(value, scratch + i * element_bytes_ + origin_, 1, *datatype_);
  }
}

/// Values without gaps, of several elements each.
void PreparedReduction::combine_plain(const void* context, const std::byte* left, const std::byte* right,
                                      std::byte* result, std::size_t count) {
  const auto& self = *static_cast<const PreparedReduction*>(context);
  const std::int64_t first = self.walk_.first + self.origin_;
  self.walk_.loop.function(nullptr, left + first, right + first, result + first,
                           count * static_cast<std::size_t>(self.walk_.per_value));
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
  if (!apart_) return op_->apply(in + origin_, inout + origin_, static_cast<Count>(count), *datatype_);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = i * bytes_per_element();
    op_->apply(in + place + origin_, inout + place + origin_, 1, *datatype_);
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
