// The table of all symbols, or, where that has been stripped, of those that the loader needs.
#include "runtime/job/elf_symbols.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string_view>

#include "runtime/job/elf_contents.hpp"

namespace coracle::internals {

ElfSymbols::ElfSymbols(const std::string& path) {
  ElfContents file(path);
  const ElfContents::Section* table = file.section_of_type(SHT_SYMTAB);
  if (table == nullptr) table = file.section_of_type(SHT_DYNSYM);
  const auto [symbols, names] = file.with_texts(table);
  for (std::size_t at = 0; at + sizeof(ElfW(Sym)) <= symbols.size(); at += sizeof(ElfW(Sym))) {
    ElfW(Sym) symbol{};
    std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
    const std::string_view name = elf_text_at(names, symbol.st_name);
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
