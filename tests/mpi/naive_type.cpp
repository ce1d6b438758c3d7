#include "tests/mpi/naive_type.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace coracle::mpi::tests {

namespace {

Count as_count(std::size_t value) {
  return static_cast<Count>(value);
}

/// By the standard's table, but for what has as many bytes there as here.
Count external_bytes_of(Basic basic, const std::string& name) {
  if (basic == Basic::wide_character) return 2;
  const bool is_long = name == "MPI_LONG" || name == "MPI_UNSIGNED_LONG" || name == "MPI_LONG_INT";
  return is_long && bytes_of(basic) == 8 ? 4 : as_count(bytes_of(basic));
}

/// Which copies set a bound: those that mark it, else those with bytes, else any.
enum class Weight { none, other_marker, bytes, marker };

Weight weight_of(const NaiveType& type, bool marks) {
  return marks ? Weight::marker : type.entries.empty() ? Weight::other_marker : Weight::bytes;
}

}  // namespace

Count NaiveType::size() const {
  Count sum = 0;
  for (const Entry& entry : entries) sum += as_count(bytes_of(entry.basic));
  return sum;
}

Count NaiveType::external_bytes() const {
  Count sum = 0;
  for (const Entry& entry : entries) sum += entry.external_bytes;
  return sum;
}

std::vector<Count> NaiveType::bytes() const {
  std::vector<Count> all;
  for (const Entry& entry : entries)
    for (std::size_t i = 0; i < bytes_of(entry.basic); ++i) all.push_back(entry.place + as_count(i));
  return all;
}

Count NaiveType::true_lower() const {
  const std::vector<Count> all = bytes();
  return all.empty() ? 0 : *std::min_element(all.begin(), all.end());
}

Count NaiveType::true_upper() const {
  const std::vector<Count> all = bytes();
  return all.empty() ? 0 : *std::max_element(all.begin(), all.end()) + 1;
}

Count NaiveType::elements_in(Count bytes) const {
  Count elements = 0;
  while (bytes > 0) {
    if (entries.empty()) return kUndefined;
    for (const Entry& entry : entries) {
      if (bytes == 0) break;
      bytes -= as_count(bytes_of(entry.basic));
      if (bytes < 0) return kUndefined;
      ++elements;
    }
  }
  return elements;
}

NaiveType naive_predefined(const Datatype& datatype) {
  NaiveType type;
  const Basic basic = datatype.basic();
  type.marks_lower = datatype.name == "MPI_LB";
  type.marks_upper = datatype.name == "MPI_UB";
  if (basic == Basic::none) return type;
  const BasicParts parts = parts_of(basic);
  type.alignment = as_count(alignment_of(basic));
  const Count values = datatype.name.starts_with("MPI_2") && datatype.name.ends_with("COMPLEX") ? 2 : 1;
  for (Count i = 0; i < values; ++i) {
    type.entries.push_back({parts[0], i * as_count(bytes_of(basic)), external_bytes_of(parts[0], datatype.name)});
    if (parts[1] != Basic::none)
      type.entries.push_back({parts[1], as_count(second_part_of(basic)), external_bytes_of(parts[1], datatype.name)});
  }
  type.upper = (type.true_upper() + type.alignment - 1) / type.alignment * type.alignment;
  return type;
}

NaiveType naive_combined(const std::vector<NaiveCopy>& copies) {
  NaiveType made;
  Weight lower = Weight::none;
  Weight upper = Weight::none;
  for (const auto& [type, place] : copies) {
    if (type->is_void()) continue;
    for (NaiveType::Entry entry : type->entries) {
      entry.place += place;
      made.entries.push_back(entry);
    }
    made.alignment = std::max(made.alignment, type->alignment);
    lower = std::max(lower, weight_of(*type, type->marks_lower));
    upper = std::max(upper, weight_of(*type, type->marks_upper));
  }
  made.marks_lower = lower == Weight::marker;
  made.marks_upper = upper == Weight::marker;
  made.lower = lower == Weight::none ? 0 : std::numeric_limits<Count>::max();
  made.upper = upper == Weight::none ? 0 : std::numeric_limits<Count>::min();
  for (const auto& [type, place] : copies) {
    if (type->is_void()) continue;
    if (weight_of(*type, type->marks_lower) == lower) made.lower = std::min(made.lower, type->lower + place);
    if (weight_of(*type, type->marks_upper) == upper) made.upper = std::max(made.upper, type->upper + place);
  }
  while (!made.entries.empty() && !made.marks_upper && made.extent() % made.alignment != 0) ++made.upper;
  return made;
}

NaiveType naive_bounded(NaiveType type, Count lower, Count upper) {
  type.lower = lower;
  type.upper = upper;
  type.marks_lower = type.marks_upper = true;
  return type;
}

}  // namespace coracle::mpi::tests
