// What can be run and what is refused, with a message that says what, where and how to mend it; and the parser under
// fire.
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "pvas_fixture.hpp"
#include "runtime/pvas/elf_file.hpp"
#include "tests/seeds.hpp"

namespace pvas_program_test {

using coracle::internals::Error;
using coracle::internals::pvas::AddressSpace;
using coracle::internals::test::command;
using coracle::internals::test::error_of;
using coracle::internals::test::helper;

namespace {

/// A file in the test's working folder that goes with the object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text, bool executable)
      : path_(std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()))) {
    std::ofstream(path_) << text;
    if (executable) std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string refusal(AddressSpace& space, const std::string& program) {
  return error_of([&] { space.spawn(command({program})); });
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("pvas: programs that can't be tasks are refused with the remedy") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  CHECK(mentions(refusal(space, helper("pvas-fixed")), "build it with -fPIE -pie"));
  CHECK(mentions(refusal(space, "/nowhere/at-all"), "/nowhere/at-all"));
  CHECK(mentions(refusal(space, "no-such-program-anywhere"), "no such program in PATH"));
  CHECK(mentions(refusal(space, "/tmp"), "is a folder"));
  const TemporaryFile text("coracle-text", "just text, long enough to be read as a header; just text, long enough",
                           true);
  CHECK(mentions(refusal(space, text.path()), "neither an ELF program nor a script"));
  const TemporaryFile plain("coracle-plain", "#!/bin/sh\n", false);
  CHECK(mentions(refusal(space, plain.path()), "chmod +x"));
  const TemporaryFile empty("coracle-empty", "", true);
  CHECK(mentions(refusal(space, empty.path()), "neither an ELF program nor a script"));
  const TemporaryFile foreign("coracle-foreign",
                              std::string("\x7f"
                                          "ELF\1\1\1",
                                          7) +
                                  std::string(100, '\0'),
                              true);
  CHECK(mentions(refusal(space, foreign.path()), "another machine"));
  CHECK(space.task_count() == 0);
  CHECK(space.wait(space.spawn(command({"/bin/true"}))).ok());  // None of these cost a partition.
}

TEST_CASE("pvas: a script runs through its interpreter, with its argument and its own") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  const TemporaryFile script("coracle-script", "#! /bin/sh -e\ntest \"$1\" = one && test \"$#\" = 2 && exit 6\n", true);
  CHECK(space.wait(space.spawn(command({script.path(), "one", "two words"}))).code == 6);
  const TemporaryFile lost("coracle-lost", "#!/no/such/interpreter\n", true);
  CHECK(mentions(refusal(space, lost.path()), "/no/such/interpreter"));
}

TEST_CASE("pvas: a static-pie program runs") {
  CORACLE_NEEDS_PVAS();
  if (!std::filesystem::exists(helper("pvas-static"))) {
    MESSAGE("skipped: this compiler can't link -static-pie");
    return;
  }
  for (const bool rlimit : {false, true}) {
    AddressSpace space = AddressSpace::create({.force_rlimit_mode = rlimit});
    CHECK(space.wait(space.spawn(command({helper("pvas-static"), "exit", "8"}))).code == 8);
  }
}

TEST_CASE("pvas: a program linked with musl runs, with detached threads that unmap their own stacks") {
  CORACLE_NEEDS_PVAS();
  if (!std::filesystem::exists(helper("pvas-musl"))) {
    MESSAGE("skipped: musl-gcc is not installed");
    return;
  }
  for (const bool rlimit : {false, true}) {
    AddressSpace space = AddressSpace::create({.force_rlimit_mode = rlimit});
    for (int i = 0; i < 5; ++i)
      CHECK(space.wait(space.spawn(command({helper("pvas-musl")}))).text() == "exit status 0");
  }
}

TEST_CASE("pvas: arguments that do not fit a stack are refused") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  const std::string message = error_of([&] { space.spawn(command({"/bin/true", std::string(70 << 20, 'x')})); });
  CHECK(mentions(message, "arguments"));
}

TEST_CASE("pvas: damaged ELF files never crash the root") {
  std::ifstream file(helper("pvas-small"), std::ios::binary);
  const std::string sound((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  REQUIRE(sound.size() > sizeof(Elf64_Ehdr));
  Elf64_Ehdr header;
  std::memcpy(&header, sound.data(), sizeof(header));
  const std::size_t headers_end = header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr);
  const int fd = ::memfd_create("damaged", MFD_CLOEXEC);
  REQUIRE(fd >= 0);
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  const coracle::internals::test::Seeds seeds("CORACLE_ELF_SEEDS", 6000);
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    std::mt19937_64 random(seed);
    std::string damaged = sound;
    if (seed % 3 == 0) damaged.resize(random() % (seed % 2 == 0 ? headers_end + 100 : sound.size()));
    const std::uint64_t extremes[] = {0, 1, 0xff, 0x7fffffff, 0xffffffff, ~0ULL, 1ULL << 63, random()};
    for (std::uint64_t i = random() % 4 + (seed % 3 == 0 ? 0 : 1); i > 0 && damaged.size() > headers_end; --i) {
      const std::size_t width = std::size_t{1} << random() % 4;
      const std::uint64_t value = extremes[random() % std::size(extremes)];
      std::memcpy(damaged.data() + random() % (headers_end - 8), &value, width);
    }
    REQUIRE(::ftruncate(fd, 0) == 0);
    REQUIRE(::pwrite(fd, damaged.data(), damaged.size(), 0) == static_cast<ssize_t>(damaged.size()));
    try {
      const coracle::internals::pvas::ElfFile elf = coracle::internals::pvas::read_elf(fd, "damaged");
      for (const auto& segment : elf.segments) {
        REQUIRE(segment.file_offset + segment.file_bytes <= damaged.size());
        REQUIRE(segment.vaddr + segment.memory_bytes <= elf.span_end());
      }
      ++accepted;
    } catch (const Error& error) {
      REQUIRE(mentions(error.what(), "damaged"));
      ++refused;
    }
  }
  ::close(fd);
  if (!seeds.are_many()) return;
  CHECK(accepted > seeds.size() / 60);  // Much of a header is of no consequence.
  CHECK(refused > seeds.size() / 6);
}

}  // namespace pvas_program_test
