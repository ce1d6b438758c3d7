// Random layouts: every constructor beside the plainest way to say the same.
#include "tests/layout/random_layout.hpp"

#include <cstdlib>
#include <iterator>
#include <string>

namespace coracle::internals::test {
namespace {

constexpr std::size_t kBytesMax = 2000;
constexpr std::int64_t kReachMax = 20'000;

Described contiguous(Dice& dice, const Described& element) {
  const std::int64_t count = dice.between(0, 6);
  return {element.layout.contiguous(count), element.map.repeated(count)};
}

Described vector(Dice& dice, const Described& element) {
  const std::int64_t count = dice.between(0, 6);
  const std::int64_t block_length = dice.between(0, 4);
  const std::int64_t stride = dice.between(-6, 9);
  const bool in_bytes = dice.one_in(2);
  const std::int64_t step = in_bytes ? stride * dice.between(1, 9) : stride * element.map.extent();
  Typemap map;
  for (std::int64_t i = 0; i < count; ++i) map.append(element.map.repeated(block_length), i * step);
  return {
      in_bytes ? element.layout.hvector(count, block_length, step) : element.layout.vector(count, block_length, stride),
      map};
}

std::vector<std::int64_t> some_places(Dice& dice, std::size_t count) {
  std::vector<std::int64_t> places(count);
  const std::int64_t step = dice.between(-3, 5);
  const bool regular = dice.one_in(3);
  for (std::size_t i = 0; i < count; ++i)
    places[i] = regular ? step * static_cast<std::int64_t>(i) : dice.between(-20, 40);
  return places;
}

Described indexed(Dice& dice, const Described& element) {
  const std::vector<std::int64_t> places = some_places(dice, static_cast<std::size_t>(dice.between(0, 12)));
  const bool in_bytes = dice.one_in(2);
  const bool equal = dice.one_in(2);
  const std::int64_t length = dice.between(0, 3);
  const std::int64_t unit = in_bytes ? 1 : element.map.extent();
  std::vector<std::int64_t> lengths(places.size(), length);
  if (!equal)
    for (std::int64_t& one : lengths) one = dice.between(0, 4);
  Typemap map;
  for (std::size_t i = 0; i < places.size(); ++i) map.append(element.map.repeated(lengths[i]), places[i] * unit);
  const Layout& layout = element.layout;
  if (equal) return {in_bytes ? layout.hindexed_block(length, places) : layout.indexed_block(length, places), map};
  return {in_bytes ? layout.hindexed(lengths, places) : layout.indexed(lengths, places), map};
}

Described subarray(Dice& dice, const Described& element) {
  const auto dimensions = static_cast<std::size_t>(dice.between(1, 3));
  std::vector<std::int64_t> sizes(dimensions);
  std::vector<std::int64_t> subsizes(dimensions);
  std::vector<std::int64_t> starts(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) {
    sizes[i] = dice.between(1, 5);
    subsizes[i] = dice.between(dice.one_in(8) ? 0 : 1, sizes[i]);
    starts[i] = dice.between(0, sizes[i] - subsizes[i]);
  }
  const Order order = dice.one_in(2) ? Order::c : Order::fortran;
  // Every index of the subarray, in the order of memory.
  Typemap map;
  std::int64_t elements = 1;
  std::int64_t whole = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    elements *= subsizes[i];
    whole *= sizes[i];
  }
  for (std::int64_t number = 0; number < elements; ++number) {
    std::int64_t rest = number;
    std::int64_t place = 0;
    std::int64_t step = 1;
    for (std::size_t i = 0; i < dimensions; ++i) {
      const std::size_t dimension = order == Order::c ? dimensions - 1 - i : i;
      place += (starts[dimension] + rest % subsizes[dimension]) * step;
      rest /= subsizes[dimension];
      step *= sizes[dimension];
    }
    map.append(element.map, place * element.map.extent());
  }
  map.lower_markers = {0};
  map.upper_markers = {whole * element.map.extent()};
  return {element.layout.subarray(sizes, subsizes, starts, order), map};
}

Described structure(Dice& dice, const Described& element, int levels) {
  std::vector<LayoutField> fields;
  Typemap map;
  const std::int64_t count = dice.between(0, 4);
  for (std::int64_t i = 0; i < count; ++i) {
    const Described other = dice.one_in(3) ? element : random_layout(dice, levels - 1);
    const std::int64_t length = dice.between(0, 3);
    const std::int64_t displacement = dice.one_in(4) ? map.true_upper_bound() : dice.between(-300, 300);
    fields.push_back({length, displacement, other.layout});
    map.append(other.map.repeated(length), displacement);
  }
  return {Layout::structure(fields), map};
}

Described resized(Dice& dice, const Described& element) {
  const std::int64_t lower = dice.between(-40, 40);
  const std::int64_t extent = dice.one_in(8) ? dice.between(-60, 0) : dice.between(1, 120);
  Typemap map = element.map;
  map.lower_markers = {lower};
  map.upper_markers = {lower + extent};
  return {element.layout.resized(lower, extent), map};
}

Described around(Dice& dice, const Described& element, int levels) {
  switch (dice.between(0, 8)) {
    case 0:
      return contiguous(dice, element);
    case 1:
    case 2:
      return vector(dice, element);
    case 3:
    case 4:
      return indexed(dice, element);
    case 5:
      return subarray(dice, element);
    case 6:
    case 7:
      return structure(dice, element, levels);
    default:
      return resized(dice, element);
  }
}

bool is_small(const Typemap& map) {
  return map.bytes.size() <= kBytesMax && map.true_upper_bound() < kReachMax && map.true_lower_bound() > -kReachMax &&
         map.extent() < kReachMax && map.extent() > -kReachMax;
}

}  // namespace

std::uint64_t chosen_seed() {
  const char* chosen = std::getenv("CORACLE_TEST_SEED");
  return chosen != nullptr ? std::stoull(chosen) : std::random_device{}();
}

Described random_layout(Dice& dice, int levels) {
  constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 6, 8, 12, 13, 16, 24, 32, 40, 48, 100, 130, 200, 0};
  const std::int64_t bytes = kSizes[dice.between(0, std::ssize(kSizes) - 1)];
  Described described{Layout::bytes(bytes), plain_bytes(bytes)};
  const std::int64_t wanted = dice.between(0, levels);
  for (std::int64_t level = 0; level < wanted; ++level) {
    Described next = around(dice, described, levels);
    if (is_small(next.map) && (!next.map.bytes.empty() || dice.one_in(10))) described = std::move(next);
  }
  return described;
}

}  // namespace coracle::internals::test
