// Functions of files of code: of this program, of a file made here, and of files that are damaged or none.
#include "runtime/job/elf_symbols.hpp"

#include <doctest/doctest.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "runtime/core/own_module.hpp"
#include "tests/seeds.hpp"

namespace elf_symbols_test {

extern "C" [[gnu::noinline, gnu::used]] int coracle_test_named_function(int value) {
  return value + 1;
}

namespace {

using coracle::internals::ElfSymbols;

/// A file that goes with its object.
class File {
 public:
  explicit File(const std::string& bytes) { write(bytes); }
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }
  const std::string& path() const noexcept { return path_; }

 private:
  const std::string path_ = std::filesystem::temp_directory_path() / ("elf-symbols-" + std::to_string(::getpid()));
};

template <class T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Two functions, [0x100, 0x140) and [0x200, 0x210), a variable, and one that is elsewhere.
std::string small_file() {
  const std::string names("\0first\0second\0data", 18);
  std::array<ElfW(Sym), 5> symbols{};
  const auto set = [&](std::size_t at, unsigned name, unsigned type, unsigned section, unsigned value, unsigned size) {
    symbols[at].st_name = name;
    symbols[at].st_info = static_cast<unsigned char>(type);
    symbols[at].st_shndx = static_cast<ElfW(Half)>(section);
    symbols[at].st_value = value;
    symbols[at].st_size = size;
  };
  set(1, 7, STT_FUNC, 1, 0x200, 0x10);
  set(2, 1, STT_FUNC, 1, 0x100, 0x40);
  set(3, 14, STT_OBJECT, 1, 0x300, 0x40);
  set(4, 1, STT_FUNC, SHN_UNDEF, 0x400, 0x40);
  std::array<ElfW(Shdr), 3> sections{};
  ElfW(Ehdr) header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(ElfW(Shdr));
  header.e_shnum = sections.size();
  sections[1].sh_type = SHT_SYMTAB;
  sections[1].sh_link = 2;
  sections[1].sh_offset = sizeof header + sizeof sections;
  sections[1].sh_size = sizeof symbols;
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = sections[1].sh_offset + sizeof symbols;
  sections[2].sh_size = names.size();
  std::string file;
  append(file, header);
  append(file, sections);
  append(file, symbols);
  return file + names;
}

}  // namespace

TEST_CASE("elf symbols: a function of this program is found by an address in it") {
  const auto address = reinterpret_cast<std::uintptr_t>(&coracle_test_named_function);
  const std::uintptr_t base = reinterpret_cast<std::uintptr_t>(coracle::internals::kOwnModule.start);
  CHECK(ElfSymbols("/proc/self/exe").function_at(address - base + 1) == "coracle_test_named_function");
}

TEST_CASE("elf symbols: an address between functions, or in a variable, is in none") {
  const File file(small_file());
  const ElfSymbols symbols(file.path());
  CHECK(symbols.function_at(0xff).empty());
  CHECK(symbols.function_at(0x100) == "first");
  CHECK(symbols.function_at(0x13f) == "first");
  CHECK(symbols.function_at(0x140).empty());
  CHECK(symbols.function_at(0x20f) == "second");
  CHECK(symbols.function_at(0x210).empty());
  CHECK(symbols.function_at(0x310).empty());
  CHECK(symbols.function_at(0x410).empty());
}

TEST_CASE("elf symbols: what is no file of code has none") {
  CHECK(ElfSymbols("/no/such/file").function_at(0x100).empty());
  CHECK(ElfSymbols("/proc").function_at(0x100).empty());
  const File file("#!/bin/sh\n");
  CHECK(ElfSymbols(file.path()).function_at(0x100).empty());
}

TEST_CASE("elf symbols: a file that is damaged is read within its bounds") {
  const std::string whole = small_file();
  File file(whole);
  for (const std::uint64_t seed : coracle::internals::test::Seeds("CORACLE_ELF_SEEDS", 2000)) {
    std::mt19937_64 random(seed);
    std::string damaged = whole.substr(0, random() % 4 == 0 ? random() % whole.size() : whole.size());
    for (std::size_t i = random() % 4; i > 0 && !damaged.empty(); --i)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 2 == 0 ? random() : ~std::uint64_t{0});
    file.write(damaged);
    CHECK(damaged.find(ElfSymbols(file.path()).function_at(0x120)) != std::string::npos);
  }
}

}  // namespace elf_symbols_test
