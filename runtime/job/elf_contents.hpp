// ElfContents: what a file of code says of itself, to be asked for piece by piece.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::internals {

/// A program or a library of this machine's kind. Any other file, or none, has no sections. Whatever a file says of
/// itself is looked for within it.
class ElfContents {
 public:
  using Section = ElfW(Shdr);

  explicit ElfContents(const std::string& path);

  /// Null: there are not so many.
  const Section* section(std::size_t number) const noexcept {
    return number < sections_.size() ? &sections_[number] : nullptr;
  }
  /// The first of this type (SHT_...), or null.
  const Section* section_of_type(std::uint32_t type) const noexcept;
  /// Its bytes. Empty where the file has not so many.
  std::string content(const Section& section);
  /// A table, and the texts that its entries name by offsets. Both are empty where `table` is null, or names none.
  struct Named {
    std::string entries;
    std::string texts;
  };
  Named with_texts(const Section* table);
  /// What it tells the loader under `tag`, DT_NEEDED or another that is a text, in its order.
  std::vector<std::string> loader_texts(std::int64_t tag);
  /// The functions and variables that it takes from libraries, in its order.
  std::vector<std::string> imports();

 private:
  std::uint64_t size();
  bool read_bytes(std::uint64_t at, std::span<std::byte> to);
  template <class T>
  bool read(std::uint64_t at, T& to) {
    return read_bytes(at, std::as_writable_bytes(std::span(&to, 1)));
  }

  std::ifstream file_;
  std::vector<Section> sections_;
};

/// The text that begins at `offset` of a section of texts; "": it has not so many.
std::string_view elf_text_at(std::string_view texts, std::size_t offset) noexcept;

}  // namespace coracle::internals
