// Reading and checking ELF headers by pread: no mapping, so a file that shrinks meanwhile can't raise SIGBUS.
#include "runtime/pvas/elf_file.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/core/error.hpp"

namespace coracle::internals::pvas {
namespace {

constexpr std::uint64_t kAddressLimit = 1ULL << 32;  // No program image is larger than 4 GiB.
constexpr std::size_t kHeadersMax = 256;
constexpr std::size_t kInterpreterMax = 4096;

[[noreturn]] void reject(Errc code, const std::string& path, const std::string& why) {
  throw Error(make_error_code(code), fmt::format("cannot run {}: {}", path, why));
}

void read_exactly(int fd, void* target, std::size_t size, std::uint64_t offset, const std::string& path) {
  auto* bytes = static_cast<char*>(target);
  while (size > 0) {
    const ssize_t got = ::pread(fd, bytes, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(errno, fmt::format("cannot read {}", path));
    if (got == 0) reject(Errc::bad_input, path, fmt::format("the file is cut off at byte {}", offset));
    bytes += got;
    size -= static_cast<std::size_t>(got);
    offset += static_cast<std::uint64_t>(got);
  }
}

void check_identity(const Elf64_Ehdr& header, const std::string& path) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    reject(Errc::bad_input, path, "it is neither an ELF program nor a script that begins with #!");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64) {
    reject(Errc::unsupported, path, "it is built for another machine; tasks must be 64-bit x86-64 programs");
  }
  if (header.e_type == ET_EXEC) {
    reject(Errc::unsupported, path,
           "it is not position-independent, so two tasks would need the same addresses; build it with -fPIE -pie, or "
           "run it with --place process");
  }
  if (header.e_type != ET_DYN) {
    reject(Errc::bad_input, path, fmt::format("it is no program (ELF type {})", header.e_type));
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > kHeadersMax) {
    reject(Errc::bad_input, path,
           fmt::format("damaged ELF header ({} program headers of {} bytes)", header.e_phnum, header.e_phentsize));
  }
}

int protection_of(std::uint32_t flags) noexcept {
  return ((flags & PF_R) != 0 ? PROT_READ : 0) | ((flags & PF_W) != 0 ? PROT_WRITE : 0) |
         ((flags & PF_X) != 0 ? PROT_EXEC : 0);
}

void add_segment(ElfFile& elf, const Elf64_Phdr& header, std::uint64_t file_bytes, const std::string& path) {
  if (header.p_memsz == 0) return;
  const std::uint64_t after = elf.segments.empty() ? 0 : elf.span_end();
  const bool sizes_fit = header.p_filesz <= header.p_memsz && header.p_offset <= file_bytes &&
                         header.p_filesz <= file_bytes - header.p_offset;
  const bool addresses_fit =
      header.p_vaddr < kAddressLimit && header.p_memsz < kAddressLimit && header.p_vaddr / 4096 * 4096 >= after;
  if (!sizes_fit || !addresses_fit || (header.p_vaddr - header.p_offset) % 4096 != 0) {
    reject(Errc::bad_input, path,
           fmt::format("damaged segment at {:#x} ({} bytes in the file at {}, {} in memory; the file has {})",
                       header.p_vaddr, header.p_filesz, header.p_offset, header.p_memsz, file_bytes));
  }
  if (header.p_memsz > header.p_filesz && (header.p_flags & PF_W) == 0) {
    reject(Errc::bad_input, path, fmt::format("segment at {:#x} has zeroes to fill but is read-only", header.p_vaddr));
  }
  if ((header.p_align & (header.p_align - 1)) != 0 || header.p_align > (1ULL << 30)) {
    reject(Errc::bad_input, path, fmt::format("segment at {:#x} has alignment {}", header.p_vaddr, header.p_align));
  }
  if (header.p_align > elf.alignment) elf.alignment = header.p_align;
  elf.segments.push_back(
      {header.p_vaddr, header.p_offset, header.p_filesz, header.p_memsz, protection_of(header.p_flags)});
}

std::string read_interpreter(int fd, const Elf64_Phdr& header, const std::string& path) {
  if (header.p_filesz < 2 || header.p_filesz > kInterpreterMax) {
    reject(Errc::bad_input, path, fmt::format("its interpreter's name has {} bytes", header.p_filesz));
  }
  std::string name(header.p_filesz, '\0');
  read_exactly(fd, name.data(), name.size(), header.p_offset, path);
  name.resize(std::strlen(name.c_str()));
  return name;
}

void check_whole(ElfFile& elf, const Elf64_Ehdr& header, const std::string& path) {
  if (elf.segments.empty()) reject(Errc::bad_input, path, "it has nothing to load");
  bool entry_found = false;
  bool headers_found = false;
  const std::uint64_t headers_bytes = std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  for (const ElfSegment& segment : elf.segments) {
    if ((segment.protection & PROT_EXEC) != 0 && header.e_entry >= segment.vaddr &&
        header.e_entry - segment.vaddr < segment.file_bytes) {
      entry_found = true;
    }
    if (header.e_phoff >= segment.file_offset && headers_bytes <= segment.file_bytes &&
        header.e_phoff - segment.file_offset <= segment.file_bytes - headers_bytes) {
      headers_found = true;
      elf.headers_vaddr = segment.vaddr + (header.e_phoff - segment.file_offset);
    }
  }
  if (!entry_found) {
    reject(Errc::bad_input, path,
           fmt::format("its entry point {:#x} lies in no code; is it a library?", header.e_entry));
  }
  if (!headers_found) reject(Errc::bad_input, path, "its program headers are not loaded into memory");
  elf.entry = header.e_entry;
  elf.header_count = header.e_phnum;
}

}  // namespace

ElfFile read_elf(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw_errno(errno, fmt::format("cannot read {}", path));
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  Elf64_Ehdr header;
  if (file_bytes < sizeof(header)) {
    reject(Errc::bad_input, path, "it is neither an ELF program nor a script that begins with #!");
  }
  read_exactly(fd, &header, sizeof(header), 0, path);
  check_identity(header, path);
  std::vector<Elf64_Phdr> headers(header.e_phnum);
  const std::size_t headers_bytes = headers.size() * sizeof(Elf64_Phdr);
  if (header.e_phoff > file_bytes || headers_bytes > file_bytes - header.e_phoff) {
    reject(Errc::bad_input, path, fmt::format("the file is cut off at byte {}", file_bytes));
  }
  read_exactly(fd, headers.data(), headers_bytes, header.e_phoff, path);
  ElfFile elf;
  for (const Elf64_Phdr& entry : headers) {
    if (entry.p_type == PT_LOAD) add_segment(elf, entry, file_bytes, path);
    if (entry.p_type == PT_INTERP) elf.interpreter = read_interpreter(fd, entry, path);
  }
  check_whole(elf, header, path);
  return elf;
}

}  // namespace coracle::internals::pvas
