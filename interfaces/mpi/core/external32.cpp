// The packed order of a datatype goes through a piece of memory in which its runs of values are converted.
#include "interfaces/mpi/core/external32.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "interfaces/mpi/core/external_values.hpp"
#include "interfaces/mpi/core/packing.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {

namespace {

constexpr std::size_t kConvertedBytes = 8192;  // Many of the largest value.

/// Packed bytes one after the other, by pieces.
class PackedSource {
 public:
  explicit PackedSource(const internals::MessageSource& source) noexcept : source_(source) {}

  /// The next `bytes`, at most a piece; valid until the next call.
  const std::byte* take(std::size_t bytes) {
    if (filled_ - used_ < bytes) refill();
    const std::byte* const taken = piece_.data() + used_;
    used_ += bytes;
    return taken;
  }

 private:
  void refill() {
    const std::size_t kept = filled_ - used_;
    std::memmove(piece_.data(), piece_.data() + used_, kept);
    const std::size_t more = std::min<std::size_t>(kConvertedBytes - kept, source_.bytes() - position_);
    internals::read_part(source_, position_, {piece_.data() + kept, more});
    position_ += more;
    used_ = 0;
    filled_ = kept + more;
  }

  const internals::MessageSource& source_;
  std::uint64_t position_ = 0;
  std::size_t used_ = 0;
  std::size_t filled_ = 0;
  std::array<std::byte, kConvertedBytes> piece_;
};

/// The other way.
class PackedTarget {
 public:
  explicit PackedTarget(const internals::MessageTarget& target) noexcept : target_(target) {}

  /// Room for the next `bytes`, at most a piece; to be filled before the next call.
  std::byte* give(std::size_t bytes) {
    if (kConvertedBytes - filled_ < bytes) flush();
    filled_ += bytes;
    return piece_.data() + filled_ - bytes;
  }
  void flush() {
    internals::write_part(target_, position_, {piece_.data(), filled_});
    position_ += filled_;
    filled_ = 0;
  }

 private:
  const internals::MessageTarget& target_;
  std::uint64_t position_ = 0;
  std::size_t filled_ = 0;
  std::array<std::byte, kConvertedBytes> piece_;
};

/// Calls visit(form, values), so that each time a piece holds the values.
template <class Visit>
void visit_by_pieces(const ValueForm& form, Count values, const Visit& visit) {
  const Count bytes = form.native_bytes();
  while (values * bytes > static_cast<Count>(kConvertedBytes)) {
    const Count some = static_cast<Count>(kConvertedBytes) / bytes;
    visit(form, some);
    values -= some;
  }
  visit(form, values);
}

/// A part of a datatype, with what would be found anew for each repetition.
struct PartOfRuns {
  const Datatype* datatype;
  Count count;
  ValueForm form;
  Count values = 0;  ///< Of one predefined datatype, if the part consists of no other; else 0.

  explicit PartOfRuns(const DatatypePart& part) : datatype(part.datatype), count(part.count) {
    const Datatype* const leaf = datatype->leaf();
    if (leaf == nullptr) return;
    form = value_form(leaf->form());
    values = count * datatype->leaf_repetitions();
  }
};

/// Calls visit(form, values) for each run of values of one predefined datatype.
template <class Visit>
void for_each_run(const DatatypePart& all, const Visit& visit) {
  if (all.datatype->size() == 0 || all.count == 0) return;
  const PartOfRuns whole(all);
  if (whole.values > 0) return visit_by_pieces(whole.form, whole.values, visit);
  std::vector<PartOfRuns> parts;
  for (std::size_t i = 0; i < all.datatype->parts(); ++i) {
    const DatatypePart part = all.datatype->part(i);
    if (part.count > 0 && part.datatype->size() > 0) parts.emplace_back(part);
  }
  for (Count i = 0; i < all.count; ++i)
    for (const PartOfRuns& part : parts) {
      if (part.values > 0)
        visit_by_pieces(part.form, part.values, visit);
      else
        for_each_run({part.datatype, part.count}, visit);
    }
}

void check_external32(const char* datarep) {
  if (datarep == nullptr || std::strcmp(datarep, "external32") != 0)
    raise(ErrorClass::arg, "datarep is {}: only \"external32\" is packed", datarep == nullptr ? "null" : datarep);
}

}  // namespace

Count external32_bytes(const Datatype& datatype, Count count) {
  check_count(count);
  Count bytes = 0;
  if (__builtin_mul_overflow(datatype.external_bytes(), count, &bytes))
    raise(ErrorClass::count, "{} values of {} bytes are 2^63 bytes or more", count, datatype.external_bytes());
  return bytes;
}

void to_external32(const void* buffer, Count count, const Datatype& datatype, std::byte* external) {
  const internals::MessageSource source = source_of(buffer, count, &datatype);
  PackedSource packed(source);
  for_each_run({&datatype, count}, [&](const ValueForm& form, Count values) {
    to_external(form, values, packed.take(static_cast<std::size_t>(values * form.native_bytes())), external);
    external += values * form.external_bytes();
  });
}

void from_external32(const std::byte* external, void* buffer, Count count, const Datatype& datatype) {
  const internals::MessageTarget target = target_of(buffer, count, &datatype);
  PackedTarget packed(target);
  for_each_run({&datatype, count}, [&](const ValueForm& form, Count values) {
    from_external(form, values, external, packed.give(static_cast<std::size_t>(values * form.native_bytes())));
    external += values * form.external_bytes();
  });
  packed.flush();
}

void pack_external(const char* datarep, const void* inbuf, Count incount, Datatype* datatype, void* outbuf,
                   Count outsize, Count& position) {
  check_external32(datarep);
  const Count bytes = external32_bytes(checked(datatype), incount);
  to_external32(inbuf, incount, *datatype, piece_at<std::byte>(outbuf, outsize, position, bytes, "outbuf").data());
  position += bytes;
}

void unpack_external(const char* datarep, const void* inbuf, Count insize, Count& position, void* outbuf,
                     Count outcount, Datatype* datatype) {
  check_external32(datarep);
  const Count bytes = external32_bytes(checked(datatype), outcount);
  from_external32(piece_at<const std::byte>(inbuf, insize, position, bytes, "inbuf").data(), outbuf, outcount,
                  *datatype);
  position += bytes;
}

void pack_external_size(const char* datarep, Count incount, Datatype* datatype, Count& size) {
  check_external32(datarep);
  size = external32_bytes(existing(datatype), incount);
}

}  // namespace coracle::mpi
