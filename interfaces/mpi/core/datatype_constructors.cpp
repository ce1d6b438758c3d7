// The constructors of datatypes from others, but for arrays (array_datatypes.cpp) and structs (struct_datatypes.cpp).
#include <algorithm>
#include <limits>

#include "interfaces/mpi/core/construction.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {

namespace {

std::size_t as_size(Count count) {
  return static_cast<std::size_t>(count);
}

/// Of `count` numbers that a program hands over. Throws MpiError (arg) for null where there are any.
std::vector<Count> list_of(Numbers numbers, Count count, const char* what) {
  if (count == 0) return {};
  if (numbers.is_null()) raise(ErrorClass::arg, "{} is null: give an array of {} numbers", what, count);
  return numbers.list(as_size(count));
}

std::vector<Count> lengths_of(Numbers numbers, Count count) {
  std::vector<Count> lengths = list_of(numbers, count, "array_of_blocklengths");
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] < 0)
      raise(ErrorClass::arg, "array_of_blocklengths[{}] is {}: a block has 0 or more of the datatype", i, lengths[i]);
  return lengths;
}

void check_block_length(Count length) {
  if (length < 0) raise(ErrorClass::arg, "blocklength is {}: a block has 0 or more of the datatype", length);
}

/// {first, second..., third...}
std::vector<Count> joined(std::vector<Count> first, const std::vector<Count>& second,
                          const std::vector<Count>& third = {}) {
  append(first, second);
  append(first, third);
  return first;
}

}  // namespace

bool fit(const std::vector<Count>& counts) noexcept {
  return std::all_of(counts.begin(), counts.end(), [](Count count) {
    return count >= std::numeric_limits<int>::min() && count <= std::numeric_limits<int>::max();
  });
}

void append(std::vector<int>& integers, const std::vector<Count>& counts) {
  integers.reserve(integers.size() + counts.size());
  for (const Count count : counts) integers.push_back(static_cast<int>(count));
}

void append(std::vector<Count>& all, const std::vector<Count>& counts) {
  all.insert(all.end(), counts.begin(), counts.end());
}

Construction noted(Combiner combiner, std::vector<Count> counts, std::vector<Count> addresses,
                   std::span<Datatype* const> datatypes) {
  Construction made;
  made.combiner = combiner;
  if (fit(counts)) {
    append(made.integers, counts);
    made.addresses = std::move(addresses);
  } else {
    made.counts = std::move(counts);
    append(made.counts, addresses);
  }
  made.datatypes.reserve(datatypes.size());
  for (Datatype* datatype : datatypes) made.datatypes.emplace_back(datatype);
  return made;
}

void type_contiguous(Count count, Datatype* oldtype, Datatype*& newtype) {
  check_count(count);
  const Datatype& old = existing(oldtype);
  newtype = make_datatype(noted(Combiner::contiguous, {count}, {}, {&oldtype, 1}),
                          [&] { return old.layout().contiguous(count); });
}

void type_vector(Count count, Count blocklength, Count stride, Datatype* oldtype, Datatype*& newtype) {
  check_count(count);
  check_block_length(blocklength);
  const Datatype& old = existing(oldtype);
  newtype = make_datatype(noted(Combiner::vector, {count, blocklength, stride}, {}, {&oldtype, 1}),
                          [&] { return old.layout().vector(count, blocklength, stride); });
}

void type_create_hvector(Count count, Count blocklength, Count stride, Datatype* oldtype, Datatype*& newtype) {
  check_count(count);
  check_block_length(blocklength);
  const Datatype& old = existing(oldtype);
  newtype = make_datatype(noted(Combiner::hvector, {count, blocklength}, {stride}, {&oldtype, 1}),
                          [&] { return old.layout().hvector(count, blocklength, stride); });
}

void type_indexed(Count count, Numbers blocklengths, Numbers displacements, Datatype* oldtype, Datatype*& newtype) {
  check_count(count);
  const Datatype& old = existing(oldtype);
  const std::vector<Count> lengths = lengths_of(blocklengths, count);
  std::vector<Count> places = list_of(displacements, count, "array_of_displacements");
  newtype = make_datatype(noted(Combiner::indexed, joined({count}, lengths, places), {}, {&oldtype, 1}),
                          [&] { return old.layout().indexed(lengths, std::move(places)); });
}

void type_create_hindexed(Count count, Numbers blocklengths, Numbers displacements, Datatype* oldtype,
                          Datatype*& newtype) {
  check_count(count);
  const Datatype& old = existing(oldtype);
  const std::vector<Count> lengths = lengths_of(blocklengths, count);
  std::vector<Count> places = list_of(displacements, count, "array_of_displacements");
  newtype = make_datatype(noted(Combiner::hindexed, joined({count}, lengths), places, {&oldtype, 1}),
                          [&] { return old.layout().hindexed(lengths, std::move(places)); });
}

void type_create_indexed_block(Count count, Count blocklength, Numbers displacements, Datatype* oldtype,
                               Datatype*& newtype) {
  check_count(count);
  check_block_length(blocklength);
  const Datatype& old = existing(oldtype);
  std::vector<Count> places = list_of(displacements, count, "array_of_displacements");
  newtype = make_datatype(noted(Combiner::indexed_block, joined({count, blocklength}, places), {}, {&oldtype, 1}),
                          [&] { return old.layout().indexed_block(blocklength, std::move(places)); });
}

void type_create_hindexed_block(Count count, Count blocklength, Numbers displacements, Datatype* oldtype,
                                Datatype*& newtype) {
  check_count(count);
  check_block_length(blocklength);
  const Datatype& old = existing(oldtype);
  std::vector<Count> places = list_of(displacements, count, "array_of_displacements");
  newtype = make_datatype(noted(Combiner::hindexed_block, {count, blocklength}, places, {&oldtype, 1}),
                          [&] { return old.layout().hindexed_block(blocklength, std::move(places)); });
}

void type_create_resized(Datatype* oldtype, Count lb, Count extent, Datatype*& newtype) {
  const Datatype& old = existing(oldtype);
  newtype = make_datatype(noted(Combiner::resized, {}, {lb, extent}, {&oldtype, 1}),
                          [&] { return old.layout().resized(lb, extent); });
}

void type_dup(Datatype* oldtype, Datatype*& newtype) {
  const Datatype& old = existing(oldtype);
  auto made =
      Ref<Datatype>::adopt(make_datatype(noted(Combiner::dup, {}, {}, {&oldtype, 1}), [&] { return old.layout(); }));
  if (old.is_committed()) made->commit();
  try {
    made->attributes.copy_from(*oldtype, old.attributes);
  } catch (...) {
    made->attributes.remove_all(*made);
    throw;
  }
  newtype = made.give();
}

}  // namespace coracle::mpi
