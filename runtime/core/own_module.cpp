// What the linker knows of the file that it made, and the loader of the main program.
#include "runtime/core/own_module.hpp"

#include <errno.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <functional>
#include <string_view>

// Laid down by the linker in each file that it makes. Hidden: not another's.
extern "C" {
// NOLINTBEGIN(clang-diagnostic-reserved-identifier): the linker's own names
[[gnu::visibility("hidden")]] extern const char __ehdr_start;
[[gnu::visibility("hidden")]] extern const char etext;
[[gnu::visibility("hidden")]] extern const char edata;
// NOLINTEND(clang-diagnostic-reserved-identifier)
}

namespace coracle::internals {
namespace {

constexpr ProgramModule kNoProgram{};

/// The loader's first object is the main program.
int note_first(dl_phdr_info* object, std::size_t, void* place) noexcept {
  auto& found = *static_cast<ProgramModule*>(place);
  std::uintptr_t start = UINTPTR_MAX;
  std::uintptr_t code_end = 0;
  std::uintptr_t data_end = 0;
  for (const ElfW(Phdr)* part = object->dlpi_phdr; part != object->dlpi_phdr + object->dlpi_phnum; ++part) {
    if (part->p_type != PT_LOAD) continue;
    const std::uintptr_t begin = object->dlpi_addr + part->p_vaddr;
    const std::uintptr_t end = begin + part->p_filesz;
    start = std::min(start, begin);
    if ((part->p_flags & PF_X) != 0) code_end = std::max(code_end, end);
    data_end = std::max(data_end, end);
  }
  const std::string_view parts(reinterpret_cast<const char*>(object->dlpi_phdr),
                               object->dlpi_phnum * sizeof(ElfW(Phdr)));
  found.start = reinterpret_cast<const char*>(start);
  found.code_end = reinterpret_cast<const char*>(code_end);
  found.data_end = reinterpret_cast<const char*>(data_end);
  found.base = object->dlpi_addr;
  found.digest = static_cast<std::uint16_t>(std::hash<std::string_view>()(parts));
  return 1;
}

ProgramModule find_program() noexcept {
  ProgramModule found = kNoProgram;
  ::dl_iterate_phdr(note_first, &found);
  return found.start == kOwnModule.start ? kNoProgram : found;
}

}  // namespace

const Module kOwnModule{&__ehdr_start, &etext, &edata};

const ProgramModule& program_module() noexcept {
  static const ProgramModule found = find_program();
  return found;
}

std::string program_path() {
  const auto* started_as = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return started_as != nullptr ? started_as : program_invocation_name;
}

}  // namespace coracle::internals
