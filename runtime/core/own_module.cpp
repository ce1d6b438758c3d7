// What the linker knows of the file that it made.
#include "runtime/core/own_module.hpp"

#include <errno.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <span>

// Laid down by the linker in each file that it makes. Hidden: not another's.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's own names
[[gnu::visibility("hidden")]] extern const char __ehdr_start;
[[gnu::visibility("hidden")]] extern const char etext;
[[gnu::visibility("hidden")]] extern const char edata;
// NOLINTEND(bugprone-reserved-identifier)
}

namespace coracle::internals {

const OwnModule kOwnModule{&__ehdr_start, &etext, &edata};

namespace {

/// The main program is the first that is told of.
int note_program(dl_phdr_info* info, std::size_t, void* found) noexcept {
  auto& program = *static_cast<MainProgram*>(found);
  program.base = info->dlpi_addr;
  for (const auto& header : std::span(info->dlpi_phdr, info->dlpi_phnum))
    if (header.p_type == PT_LOAD)
      program.bytes = std::max<std::uintptr_t>(program.bytes, header.p_vaddr + header.p_memsz);
  return 1;
}

}  // namespace

MainProgram MainProgram::find() noexcept {
  MainProgram program{0, 0};
  ::dl_iterate_phdr(&note_program, &program);
  return program;
}

std::string MainProgram::path() {
  const auto* started_as = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return started_as != nullptr ? started_as : program_invocation_name;
}

}  // namespace coracle::internals
