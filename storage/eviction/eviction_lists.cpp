#include "storage/eviction/eviction_lists.hpp"

#include <bit>
#include <numeric>

#include "runtime/core/assert.hpp"

namespace coracle::internals::storage {

NumberLists::NumberLists(std::uint32_t count, std::uint32_t lists) : count_(count), links_(count + lists) {
  for (std::uint32_t head = count; head < count + lists; ++head) links_[head] = {head, head};
}

void NumberLists::push_front(std::uint32_t list, std::uint32_t number) noexcept {
  const std::uint32_t head = count_ + list;
  const std::uint32_t next = links_[head].next;
  links_[number] = {head, next};
  links_[next].previous = number;
  links_[head].next = number;
}

void NumberLists::unlink(std::uint32_t number) noexcept {
  const Link link = links_[number];
  links_[link.previous].next = link.next;
  links_[link.next].previous = link.previous;
}

// At most half of the table is full.
Ghosts::Ghosts(std::uint32_t most)
    : lists_(most, kLists),
      ghosts_(most),
      free_(most),
      table_(std::bit_ceil(std::size_t{2} * most + 2), NumberLists::kEnd) {
  std::iota(free_.begin(), free_.end(), 0U);
}

std::size_t Ghosts::home_of(std::uint64_t page) const noexcept {
  // Fibonacci hashing: the product's upper bits depend on all of the page's.
  const int shift = 64 - std::countr_zero(table_.size());
  return static_cast<std::size_t>((page * 0x9E3779B97F4A7C15ULL) >> shift);
}

/// The place of `page`, or the empty one where the search for it ends.
std::size_t Ghosts::find(std::uint64_t page) const noexcept {
  std::size_t place = home_of(page);
  while (table_[place] != NumberLists::kEnd && ghosts_[table_[place]].page != page)
    place = (place + 1) & (table_.size() - 1);
  return place;
}

std::uint32_t Ghosts::list_of(std::uint64_t page) const noexcept {
  const std::uint32_t number = table_[find(page)];
  return number == NumberLists::kEnd ? kNone : ghosts_[number].list;
}

void Ghosts::add(std::uint32_t list, std::uint64_t page) noexcept {
  CORACLE_ASSERT(!free_.empty(), "all {} ghosts are in use", ghosts_.size());
  const std::uint32_t number = free_.back();
  free_.pop_back();
  ghosts_[number] = {page, list};
  table_[find(page)] = number;
  lists_.push_front(list, number);
  ++sizes_[list];
}

void Ghosts::remove(std::uint64_t page) noexcept {
  erase(find(page));
}

void Ghosts::remove_oldest(std::uint32_t list) noexcept {
  remove(ghosts_[lists_.back(list)].page);
}

void Ghosts::erase(std::size_t place) noexcept {
  const std::uint32_t number = table_[place];
  lists_.unlink(number);
  --sizes_[ghosts_[number].list];
  free_.push_back(number);
  // Those behind move up, as far as that does not put them before their homes: no search meets a gap.
  const std::size_t mask = table_.size() - 1;
  std::size_t gap = place;
  for (std::size_t next = (gap + 1) & mask; table_[next] != NumberLists::kEnd; next = (next + 1) & mask) {
    const std::size_t home = home_of(ghosts_[table_[next]].page);
    if (((next - home) & mask) < ((next - gap) & mask)) continue;
    table_[gap] = table_[next];
    gap = next;
  }
  table_[gap] = NumberLists::kEnd;
}

}  // namespace coracle::internals::storage
