// Laying out argc, argv, envp and auxv by hand (System V ABI for x86-64, section 3.4).
#include "runtime/pvas/initial_stack.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "runtime/core/error.hpp"

namespace coracle::internals::pvas {
namespace {

void set(std::vector<AuxEntry>& auxiliary, std::uint64_t type, std::uint64_t value) {
  for (AuxEntry& entry : auxiliary) {
    if (entry.first == type) {
      entry.second = value;
      return;
    }
  }
  auxiliary.emplace_back(type, value);
}

}  // namespace

std::vector<AuxEntry> own_auxiliary_vector() {
  const int fd = ::open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw_errno(errno, "cannot read /proc/self/auxv (is /proc mounted?)");
  std::array<std::uint64_t, 256> words{};
  const ssize_t got = ::read(fd, words.data(), sizeof(words));
  ::close(fd);
  std::vector<AuxEntry> entries;
  for (std::size_t i = 0; i + 1 < words.size() && static_cast<ssize_t>(i * 8) < got && words[i] != AT_NULL; i += 2) {
    entries.emplace_back(words[i], words[i + 1]);
  }
  return entries;
}

std::uint64_t StackWriter::take(std::size_t size, std::size_t alignment) {
  if (size > top_ - limit_ || top_ - size < limit_ + alignment) {
    throw Error(std::make_error_code(std::errc::argument_list_too_long),
                "cannot start a task: its arguments and environment fill a quarter of its stack");
  }
  top_ = (top_ - size) / alignment * alignment;
  return top_;
}

std::uint64_t StackWriter::push(const void* bytes, std::size_t size, std::size_t alignment) {
  const std::uint64_t place = take(size, alignment);
  std::memcpy(reinterpret_cast<void*>(place), bytes, size);
  return place;
}

std::uint64_t write_initial_stack(StackWriter& writer, std::span<const std::string> arguments,
                                  std::span<const std::string> environment, std::vector<AuxEntry> auxiliary,
                                  const ImageAddresses& image) {
  std::array<std::uint64_t, 2> random{};
  // Without the kernel's randomness the addresses themselves remain a (weak) source; a task must still start.
  if (::getrandom(random.data(), sizeof(random), GRND_NONBLOCK) < 0) random = {writer.top(), image.entry};
  set(auxiliary, AT_RANDOM, writer.push(random.data(), sizeof(random), 16));
  set(auxiliary, AT_PLATFORM, writer.push(std::string("x86_64")));
  set(auxiliary, AT_EXECFN, writer.push(image.path));
  set(auxiliary, AT_PHDR, image.headers);
  set(auxiliary, AT_PHENT, sizeof(Elf64_Phdr));
  set(auxiliary, AT_PHNUM, image.header_count);
  set(auxiliary, AT_BASE, 0);  // The image is started as a program of its own, as exec would start a dynamic linker.
  set(auxiliary, AT_ENTRY, image.entry);
  set(auxiliary, AT_UID, ::getuid());
  set(auxiliary, AT_EUID, ::geteuid());
  set(auxiliary, AT_GID, ::getgid());
  set(auxiliary, AT_EGID, ::getegid());
  set(auxiliary, AT_SECURE, 0);

  std::vector<std::uint64_t> words{arguments.size()};
  for (const std::string& argument : arguments) words.push_back(writer.push(argument));
  words.push_back(0);
  for (const std::string& variable : environment) words.push_back(writer.push(variable));
  words.push_back(0);
  for (const AuxEntry& entry : auxiliary) {
    words.push_back(entry.first);
    words.push_back(entry.second);
  }
  words.push_back(AT_NULL);
  words.push_back(0);
  return writer.push(words.data(), words.size() * sizeof(std::uint64_t), 16);
}

}  // namespace coracle::internals::pvas
