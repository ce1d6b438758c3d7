// What evictions are made of: doubly linked lists over numbers, and a table of ghosts. All memory is taken once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coracle::internals::storage {

/// Some lists over the numbers 0 to count - 1, each number in one list at most. Every step is O(1).
class NumberLists {
 public:
  static constexpr std::uint32_t kEnd = ~std::uint32_t{0};

  NumberLists(std::uint32_t count, std::uint32_t lists);
  /// `number` is in no list.
  void push_front(std::uint32_t list, std::uint32_t number) noexcept;
  /// `number` is in a list.
  void unlink(std::uint32_t number) noexcept;
  /// kEnd where there is none.
  std::uint32_t front(std::uint32_t list) const noexcept { return or_end(links_[count_ + list].next); }
  std::uint32_t back(std::uint32_t list) const noexcept { return or_end(links_[count_ + list].previous); }
  std::uint32_t before(std::uint32_t number) const noexcept { return or_end(links_[number].previous); }
  std::uint32_t after(std::uint32_t number) const noexcept { return or_end(links_[number].next); }

 private:
  struct Link {
    std::uint32_t previous;
    std::uint32_t next;
  };
  std::uint32_t or_end(std::uint32_t number) const noexcept { return number < count_ ? number : kEnd; }

  std::uint32_t count_;
  std::vector<Link> links_;  // of the numbers, then one ring's head for each list
};

/// Pages that were evicted not long ago, in two lists by age: a table with linear probing finds them by page.
class Ghosts {
 public:
  static constexpr std::uint32_t kLists = 2;
  /// In no list.
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Has room for `most` at once.
  explicit Ghosts(std::uint32_t most);
  std::uint32_t size(std::uint32_t list) const noexcept { return sizes_[list]; }
  /// In which list `page` is.
  std::uint32_t list_of(std::uint64_t page) const noexcept;
  /// `page` is in none.
  void add(std::uint32_t list, std::uint64_t page) noexcept;
  void remove(std::uint64_t page) noexcept;
  /// The list is not empty.
  void remove_oldest(std::uint32_t list) noexcept;

 private:
  struct Ghost {
    std::uint64_t page = 0;
    std::uint32_t list = kNone;
  };
  std::size_t home_of(std::uint64_t page) const noexcept;
  std::size_t find(std::uint64_t page) const noexcept;
  void erase(std::size_t place) noexcept;

  NumberLists lists_;
  std::vector<Ghost> ghosts_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> table_;  // ghosts' numbers; NumberLists::kEnd: empty
  std::uint32_t sizes_[kLists] = {};
};

}  // namespace coracle::internals::storage
