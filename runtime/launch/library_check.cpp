// The notes are numbers of 8 bytes by local rank; 0: not there yet. Each rank writes its own first and then looks at
// those of the others, so that of two at least one sees the other's.
#include "runtime/launch/library_check.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/module_digest.hpp"

namespace coracle::internals {
namespace {

constexpr const char* kVariable = "CORACLE_LIBRARIES";

/// -1: this job needs none.
int notes_from_environment() {
  const char* const variable = std::getenv(kVariable);
  int fd = -1;
  if (variable != nullptr) {
    const std::string_view text(variable);
    std::from_chars(text.data(), text.data() + text.size(), fd);
  }
  return fd;
}

}  // namespace

LibraryNotes::LibraryNotes() : fd_(::memfd_create("coracle-libraries", MFD_CLOEXEC)) {
  if (!fd_) throw_errno(errno, "can't make the file in which ranks note their libraries");
}

std::string LibraryNotes::environment() const {
  return fmt::format("{}={}", kVariable, fd());
}

void refuse_other_library(const JobRegion& region, std::uint32_t rank) {
  const int fd = notes_from_environment();
  if (fd < 0) return;
  const std::uint64_t own = own_module_digest();
  std::vector<std::uint64_t> notes(region.ranks());
  const auto place = static_cast<off_t>((rank - region.first_rank()) * sizeof own);
  const bool is_written = ::pwrite(fd, &own, sizeof own, place) == ssize_t{sizeof own};
  if (!is_written || ::pread(fd, notes.data(), notes.size() * sizeof own, 0) < 0)
    throw_errno(errno, fmt::format("can't compare the program's library with the others' (descriptor {}, by {})", fd,
                                   kVariable));
  for (std::uint32_t i = 0; i < notes.size(); ++i) {
    if (notes[i] == 0 || notes[i] == own) continue;
    throw Error(
        Errc::unsupported,
        fmt::format("its program and that of rank {} hold different builds of Coracle's library, whose functions "
                    "lie at different places: programs of one job take it from one shared library, as those of "
                    "MPI do from libmpi.so.40, or are one file",
                    region.first_rank() + i));
  }
}

}  // namespace coracle::internals
