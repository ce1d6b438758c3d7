// The table of all symbols, or, where that has been stripped, of those that the loader needs. Whatever a file says of
// itself is looked for within it.
#include "runtime/job/elf_symbols.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <system_error>

namespace coracle::internals {
namespace {

using Header = ElfW(Ehdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return;  // a pipe would never end
    file_.open(path, std::ios::binary);
    Header header{};
    if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;
    const bool is_ours = header.e_ident[EI_CLASS] == (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) &&
                         header.e_shentsize == sizeof(Section);
    for (std::size_t i = 0; is_ours && i < header.e_shnum; ++i) {
      Section section{};
      if (!read(header.e_shoff + i * sizeof section, section)) break;
      sections_.push_back(section);
    }
  }

  std::span<const Section> sections() const noexcept { return sections_; }
  const Section* section(std::size_t number) const noexcept {
    return number < sections_.size() ? &sections_[number] : nullptr;
  }
  /// Empty where the file has not so many.
  std::string content(const Section& section) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
    if (section.sh_type == SHT_NOBITS || section.sh_size > std::min(kMost, size())) return {};
    std::string bytes(section.sh_size, '\0');
    return read_bytes(section.sh_offset, std::as_writable_bytes(std::span(bytes))) ? bytes : std::string();
  }

 private:
  std::uint64_t size() {
    file_.clear();
    file_.seekg(0, std::ios::end);
    const auto end = static_cast<std::streamoff>(file_.tellg());
    return end < 0 ? 0 : static_cast<std::uint64_t>(end);
  }
  bool read_bytes(std::uint64_t at, std::span<std::byte> to) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(at));
    file_.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
    return static_cast<std::size_t>(file_.gcount()) == to.size();
  }
  template <class T>
  bool read(std::uint64_t at, T& to) {
    return read_bytes(at, std::as_writable_bytes(std::span(&to, 1)));
  }

  std::ifstream file_;
  std::vector<Section> sections_;
};

std::string_view name_at(std::string_view names, std::size_t offset) noexcept {
  if (offset >= names.size()) return {};
  names.remove_prefix(offset);
  return names.substr(0, names.find('\0'));
}

}  // namespace

ElfSymbols::ElfSymbols(const std::string& path) {
  ElfFile file(path);
  const auto table_of = [&file](std::uint32_t type) {
    const auto found = std::ranges::find(file.sections(), type, &Section::sh_type);
    return found == file.sections().end() ? nullptr : &*found;
  };
  const Section* table = table_of(SHT_SYMTAB);
  if (table == nullptr) table = table_of(SHT_DYNSYM);
  const Section* const strings = table == nullptr ? nullptr : file.section(table->sh_link);
  if (strings == nullptr) return;
  const std::string symbols = file.content(*table);
  const std::string names = file.content(*strings);
  for (std::size_t at = 0; at + sizeof(Symbol) <= symbols.size(); at += sizeof(Symbol)) {
    Symbol symbol{};
    std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
    const std::string_view name = name_at(names, symbol.st_name);
    if (!name.empty()) functions_.push_back({symbol.st_value, symbol.st_value + symbol.st_size, std::string(name)});
  }
  std::ranges::stable_sort(functions_, {}, &Function::begin);
}

std::string ElfSymbols::function_at(std::uint64_t address) const {
  const auto behind = std::ranges::upper_bound(functions_, address, {}, &Function::begin);
  if (behind == functions_.begin()) return {};
  const Function& last = *std::prev(behind);
  return address < last.end ? last.name : std::string();
}

}  // namespace coracle::internals
