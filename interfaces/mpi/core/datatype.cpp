// What a datatype knows of itself from what it was made of; and what a call's (buffer, count, datatype) stands for.
#include "interfaces/mpi/core/datatype.hpp"

#include <algorithm>

#include "interfaces/mpi/core/error.hpp"
#include "runtime/core/error.hpp"

namespace coracle::mpi {

namespace {

using internals::Layout;

std::int64_t as_signed(std::size_t value) {
  return static_cast<std::int64_t>(value);
}

Layout layout_of_value(Basic basic) {
  const BasicParts parts = parts_of(basic);
  const std::int64_t bytes = as_signed(bytes_of(basic));
  if (parts[1] == Basic::none) return Layout::bytes(bytes);
  const Layout whole =
      Layout::structure({{1, 0, Layout::bytes(as_signed(bytes_of(parts[0])))},
                         {1, as_signed(second_part_of(basic)), Layout::bytes(as_signed(bytes_of(parts[1])))}});
  const std::int64_t alignment = as_signed(alignment_of(basic));
  const std::int64_t extent = (bytes + alignment - 1) / alignment * alignment;
  return extent == whole.extent() ? whole : whole.resized(0, extent);
}

Layout layout_of(const PredefinedForm& form) {
  if (form.basic == Basic::none) return Layout().resized(0, 0);
  return layout_of_value(form.basic).contiguous(form.count);
}

/// Of one value: as it is in memory without gaps, but for C's long.
Count external_bytes_of(const PredefinedForm& form) {
  Count bytes = 0;
  for (const Basic part : parts_of(form.basic)) {
    const bool is_long = part == Basic::int64 || part == Basic::uint64;
    bytes += part == Basic::wide_character ? 2 : is_long ? form.external_long : as_signed(bytes_of(part));
  }
  return bytes;
}

/// Whether a constructor of one datatype was asked for any of it.
bool has_blocks(const Construction& made) {
  switch (made.combiner) {
    case Combiner::contiguous:
      return made.count_at(0) > 0;
    case Combiner::vector:
    case Combiner::hvector:
    case Combiner::indexed_block:
    case Combiner::hindexed_block:
      return made.count_at(0) > 0 && made.count_at(1) > 0;
    case Combiner::indexed:
    case Combiner::hindexed:
      for (Count i = 0; i < made.count_at(0); ++i)
        if (made.count_at(static_cast<std::size_t>(1 + i)) > 0) return true;
      return false;
    default:
      return true;
  }
}

template <class Scattered, class Memory, class Pointer>
Memory memory_of(Pointer* buffer, Count count, const Datatype* given) {
  const Datatype& datatype = checked(given);
  check_count(count);
  const Scattered scattered{buffer, datatype.layout(), static_cast<std::uint64_t>(count)};
  try {
    if (buffer == kInPlace) [[unlikely]]
      raise(ErrorClass::buffer, "the buffer is MPI_IN_PLACE, which this call does not take there: give a buffer");
    const internals::Footprint reach = datatype.layout().footprint(scattered.count);
    if (buffer == nullptr && reach.low < reach.high && reach.low < kFirstPage) [[unlikely]]
      raise(ErrorClass::buffer,
            "the buffer is MPI_BOTTOM (or null), and the datatype's first byte lies {} bytes from there: give the "
            "buffer's address, or a datatype made of addresses from MPI_Get_address",
            reach.low);
    return Memory(scattered);
  } catch (const internals::Error& error) {
    raise(ErrorClass::count, "count is {}: {}", count, error.what());
  }
}

}  // namespace

Datatype::Datatype(const PredefinedForm& form) : Datatype(form, Construction{}) {
  name = form.name;
}

Datatype::Datatype(const PredefinedForm& form, Construction construction)
    : layout_(layout_of(form)),
      construction_(std::move(construction)),
      form_(form),
      basic_(form.basic),
      marks_lower_(form.marks_lower),
      marks_upper_(form.marks_upper),
      alignment_(as_signed(alignment_of(form.basic))),
      leaf_(this) {
  const BasicParts parts = parts_of(form.basic);
  if (form.basic != Basic::none) values_ = form.count * (parts[1] == Basic::none ? 1 : 2);
  external_bytes_ = form.count * external_bytes_of(form);
  set_predefined();
  commit();
}

Datatype::Datatype(internals::Layout layout, Construction construction)
    : layout_(std::move(layout)), construction_(std::move(construction)) {
  const Combiner combiner = construction_.combiner;
  marks_lower_ = combiner == Combiner::resized || combiner == Combiner::subarray || combiner == Combiner::darray;
  marks_upper_ = marks_lower_;
  derive_from_parts();
  if (!marks_upper_) round_extent();
}

void Datatype::derive_from_parts() {
  bool first = true;
  for (std::size_t i = 0; i < parts(); ++i) {
    const auto [datatype, count] = part(i);
    if (count == 0 || datatype->is_void()) continue;
    marks_lower_ |= datatype->marks_lower_;
    marks_upper_ |= datatype->marks_upper_;
    alignment_ = std::max(alignment_, datatype->alignment_);
    if (datatype->size() == 0) continue;
    values_ += count * datatype->values_;
    external_bytes_ += count * datatype->external_bytes_;
    leaf_ = first || leaf_ == datatype->leaf_ ? datatype->leaf_ : nullptr;
    basic_ = first || basic_ == datatype->basic_ ? datatype->basic_ : Basic::none;
    first = false;
  }
}

void Datatype::round_extent() {
  const std::int64_t over = extent() % alignment_;
  if (over == 0 || size() == 0) return;
  std::int64_t rounded = 0;
  if (__builtin_add_overflow(extent(), over < 0 ? -over : alignment_ - over, &rounded))
    raise(ErrorClass::arg, "the datatype's extent of {} bytes, rounded up to {}, is 2^63 or more: take smaller counts",
          extent(), alignment_);
  try {
    layout_ = layout_.resized(lower_bound(), rounded);
  } catch (const internals::Error& error) {
    raise(ErrorClass::arg, "{}", error.what());
  }
}

void Datatype::commit() noexcept {
  committed_ = true;
  const bool plain = layout_.is_contiguous() && layout_.first_byte() == 0 && layout_.size() <= INT32_MAX;
  plain_bytes_ = plain ? static_cast<std::uint32_t>(layout_.size()) : 0;
}

DatatypePart Datatype::part(std::size_t index) const noexcept {
  const Datatype* const datatype = construction_.datatypes[index].get();
  if (construction_.combiner == Combiner::structure) return {datatype, construction_.count_at(1 + index)};
  if (datatype->size() > 0) return {datatype, size() / datatype->size()};
  return {datatype, has_blocks(construction_) ? 1 : 0};
}

std::string Datatype::label() const {
  return name.empty() ? fmt::format("a datatype of {} bytes", size()) : name;
}

Count Datatype::leaf_repetitions() const noexcept {
  return size() / leaf_->size();
}

const std::vector<BasicRun>& Datatype::signature() const {
  if (signature_ != nullptr) return *signature_;
  auto runs = std::make_unique<std::vector<BasicRun>>();
  const auto append = [&](Basic basic, Count count) {
    if (!runs->empty() && runs->back().basic == basic)
      runs->back().count += count;
    else
      runs->push_back({basic, count});
  };
  if (leaf_ != nullptr && size() > 0) append(leaf_->basic_, leaf_repetitions() * leaf_->form_.count);
  for (std::size_t i = 0; leaf_ == nullptr && i < parts(); ++i) {
    const auto [datatype, count] = part(i);
    if (datatype->size() == 0) continue;
    const std::vector<BasicRun>& inner = datatype->signature();
    if (inner.size() == 1)
      append(inner.front().basic, count * inner.front().count);
    else
      for (Count k = 0; k < count; ++k)
        for (const BasicRun& run : inner) append(run.basic, run.count);
  }
  signature_ = std::move(runs);
  return *signature_;
}

internals::MessageSource checked_source(const void* buffer, Count count, const Datatype* datatype) {
  return memory_of<internals::ScatteredSource, internals::MessageSource>(buffer, count, datatype);
}

internals::MessageTarget checked_target(void* buffer, Count count, const Datatype* datatype) {
  return memory_of<internals::ScatteredTarget, internals::MessageTarget>(buffer, count, datatype);
}

const Datatype& existing(const Datatype* datatype) {
  if (datatype == nullptr) [[unlikely]]
    raise(ErrorClass::type, "the datatype is MPI_DATATYPE_NULL, or has been freed: give one that exists");
  return *datatype;
}

const Datatype& checked(const Datatype* datatype) {
  if (!existing(datatype).is_committed()) [[unlikely]]
    raise(ErrorClass::type, "the datatype ({}) is not committed: call MPI_Type_commit first", datatype->label());
  return *datatype;
}

void check_count(Count count, const char* what) {
  if (count < 0) [[unlikely]]
    raise(ErrorClass::count, "{} is {}: a count is 0 or more", what, count);
}

}  // namespace coracle::mpi
