// Read by its sections, which a file that has been stripped has still.
#include "runtime/job/elf_contents.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace coracle::internals {

ElfContents::ElfContents(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;  // a pipe would never end
  file_.open(path, std::ios::binary);
  ElfW(Ehdr) header{};
  if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;
  const bool is_ours = header.e_ident[EI_CLASS] == (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) &&
                       header.e_shentsize == sizeof(Section);
  for (std::size_t i = 0; is_ours && i < header.e_shnum; ++i) {
    Section section{};
    if (!read(header.e_shoff + i * sizeof section, section)) break;
    sections_.push_back(section);
  }
}

const ElfContents::Section* ElfContents::section_of_type(std::uint32_t type) const noexcept {
  const auto found = std::ranges::find(sections_, type, &Section::sh_type);
  return found == sections_.end() ? nullptr : &*found;
}

std::string ElfContents::content(const Section& section) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  if (section.sh_type == SHT_NOBITS || section.sh_size > std::min(kMost, size())) return {};
  std::string bytes(section.sh_size, '\0');
  return read_bytes(section.sh_offset, std::as_writable_bytes(std::span(bytes))) ? bytes : std::string();
}

ElfContents::Named ElfContents::with_texts(const Section* table) {
  const Section* const texts = table == nullptr ? nullptr : section(table->sh_link);
  return texts == nullptr ? Named{} : Named{content(*table), content(*texts)};
}

std::vector<std::string> ElfContents::loader_texts(std::int64_t tag) {
  const auto [entries, texts] = with_texts(section_of_type(SHT_DYNAMIC));
  std::vector<std::string> found;
  for (std::size_t at = 0; at + sizeof(ElfW(Dyn)) <= entries.size(); at += sizeof(ElfW(Dyn))) {
    ElfW(Dyn) entry{};
    std::memcpy(&entry, entries.data() + at, sizeof entry);
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == tag) found.emplace_back(elf_text_at(texts, entry.d_un.d_val));
  }
  return found;
}

std::vector<std::string> ElfContents::imports() {
  const auto [symbols, names] = with_texts(section_of_type(SHT_DYNSYM));
  std::vector<std::string> found;
  for (std::size_t at = 0; at + sizeof(ElfW(Sym)) <= symbols.size(); at += sizeof(ElfW(Sym))) {
    ElfW(Sym) symbol{};
    std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
    if (symbol.st_shndx == SHN_UNDEF && symbol.st_name != 0) found.emplace_back(elf_text_at(names, symbol.st_name));
  }
  return found;
}

std::uint64_t ElfContents::size() {
  file_.clear();
  file_.seekg(0, std::ios::end);
  const auto end = static_cast<std::streamoff>(file_.tellg());
  return end < 0 ? 0 : static_cast<std::uint64_t>(end);
}

bool ElfContents::read_bytes(std::uint64_t at, std::span<std::byte> to) {
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(at));
  file_.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
  return static_cast<std::size_t>(file_.gcount()) == to.size();
}

std::string_view elf_text_at(std::string_view texts, std::size_t offset) noexcept {
  if (offset >= texts.size()) return {};
  texts.remove_prefix(offset);
  return texts.substr(0, texts.find('\0'));
}

}  // namespace coracle::internals
