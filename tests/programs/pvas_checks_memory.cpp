// How memory behaves inside a task.
#include <linux/io_uring.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "pvas_checks.hpp"

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHuge = std::size_t{2} << 20;

char* map(std::size_t bytes) {
  void* const place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE_THAT(place != MAP_FAILED);
  return static_cast<char*>(place);
}

struct Block {
  std::size_t bytes;
  char mark;
};

void fill(char* place, const Block& block) {
  for (std::size_t at = 0; at < block.bytes; at += kPage) place[at] = block.mark;
}

void verify(const char* place, const Block& block, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kPage) REQUIRE_THAT(place[at] == block.mark);
}

struct Mapping {
  unsigned long begin = 0;
  unsigned long end = 0;
  std::string flags;

  bool operator==(const Mapping&) const = default;
};

Mapping mapping_of(const void* place) {
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  std::ifstream file("/proc/self/smaps");
  Mapping mapping;
  for (std::string line; std::getline(file, line);) {
    std::sscanf(line.c_str(), "%lx-%lx ", &mapping.begin, &mapping.end);
    const bool inside = mapping.begin <= address && address < mapping.end;
    if (!inside || !line.starts_with("VmFlags:")) continue;
    mapping.flags = line;
    return mapping;
  }
  REQUIRE_THAT(mapping.begin == address);  // It is in none.
  return mapping;
}

/// The flag `hg` that /proc/self/smaps shows of the mapping at `place`.
bool is_advised_huge(const void* place) {
  return mapping_of(place).flags.find(" hg") != std::string::npos;
}

}  // namespace

void check_mappings() {
  std::mt19937_64 random(7);
  std::map<char*, Block> blocks;
  for (int round = 0; round < 1500; ++round) {
    const std::size_t bytes = (1 + random() % (round % 20 == 0 ? 700 : 20)) * kPage;
    if (blocks.size() < 20 || random() % 3 == 0) {
      char* const place = map(bytes);
      const auto [entry, fresh] = blocks.emplace(place, Block{bytes, static_cast<char>(round)});
      REQUIRE_THAT(fresh);
      for (std::size_t at = 0; at < bytes; at += kPage) REQUIRE_THAT(place[at] == 0);
      fill(place, entry->second);
      continue;
    }
    auto victim = blocks.lower_bound(reinterpret_cast<char*>(random() % (1ULL << 46)));
    if (victim == blocks.end()) victim = blocks.begin();
    auto [place, block] = *victim;
    blocks.erase(victim);
    verify(place, block, block.bytes);
    if (random() % 2 == 0) {
      REQUIRE_THAT(::munmap(place, block.bytes) == 0);
      continue;
    }
    void* const moved = ::mremap(place, block.bytes, bytes, MREMAP_MAYMOVE);
    REQUIRE_THAT(moved != MAP_FAILED);
    verify(static_cast<char*>(moved), block, bytes < block.bytes ? bytes : block.bytes);
    block.bytes = bytes;
    fill(static_cast<char*>(moved), block);
    REQUIRE_THAT(blocks.emplace(static_cast<char*>(moved), block).second);
  }
  for (const auto& [place, block] : blocks) verify(place, block, block.bytes);
}

void check_large_mappings() {
  for (const std::size_t bytes : {kHuge, 3 * kHuge + kPage, std::size_t{64} << 20}) {
    char* const place = map(bytes);
    REQUIRE_THAT(reinterpret_cast<std::uintptr_t>(place) % kHuge == 0);
    // What malloc does for an arena: cut both ends off, and return the middle later.
    REQUIRE_THAT(::munmap(place, kPage) == 0);
    REQUIRE_THAT(::munmap(place + bytes - kPage, kPage) == 0);
    if (bytes > 2 * kPage) REQUIRE_THAT(::munmap(place + kPage, bytes - 2 * kPage) == 0);
    char* const again = map(bytes);
    REQUIRE_THAT(again == place);  // All of its room came back.
    REQUIRE_THAT(::munmap(again, bytes) == 0);
  }
  // More than a partition holds: outside, and still usable.
  const std::size_t vast = std::size_t{40} << 30;
  void* const place = ::mmap(nullptr, vast, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE_THAT(place != MAP_FAILED);
  static_cast<char*>(place)[vast - 1] = 1;
  // The middle is cut out and not unmapped at the end: taking the task back must not touch it twice.
  REQUIRE_THAT(::munmap(static_cast<char*>(place) + vast / 4, vast / 2) == 0);
}

void check_huge_pages(bool wanted) {
  const bool kernel_has_them = ::access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) == 0;
  const auto mapped = [](std::size_t bytes, int protection, int flags) {
    void* const place = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    REQUIRE_THAT(place != MAP_FAILED);
    return place;
  };
  constexpr int kReadWrite = PROT_READ | PROT_WRITE;
  const bool expected = wanted && kernel_has_them;
  REQUIRE_THAT(is_advised_huge(mapped(4 * kHuge, kReadWrite, 0)) == expected);
  REQUIRE_THAT(is_advised_huge(mapped(4 * kHuge - 1, kReadWrite, 0)) == expected);  // Its last page is part of it.
  REQUIRE_THAT(!is_advised_huge(mapped(4 * kHuge - kPage, kReadWrite, 0)));
  REQUIRE_THAT(!is_advised_huge(mapped(4 * kHuge, kReadWrite, MAP_NORESERVE)));
  REQUIRE_THAT(!is_advised_huge(mapped(4 * kHuge, kReadWrite, MAP_STACK)));
  REQUIRE_THAT(!is_advised_huge(mapped(4 * kHuge, PROT_NONE, 0)));
  char* const before = static_cast<char*>(::sbrk(4 * kHuge));
  REQUIRE_THAT(is_advised_huge(before + 2 * kHuge) == expected);
  // All of the heap alike, so that it stays one mapping.
  char* const behind = static_cast<char*>(::sbrk(100000));
  REQUIRE_THAT(is_advised_huge(behind) == expected);
  REQUIRE_THAT(mapping_of(behind) == mapping_of(before + 2 * kHuge));
  // What grows is advised, or stays so.
  for (const std::size_t bytes : {kPage, 2 * kHuge, 4 * kHuge}) {
    void* const moved = ::mremap(mapped(bytes, kReadWrite, 0), bytes, 8 * kHuge, MREMAP_MAYMOVE);
    REQUIRE_THAT(moved != MAP_FAILED);
    REQUIRE_THAT(is_advised_huge(moved) == expected);
    void* const larger = ::mremap(moved, 8 * kHuge, 9 * kHuge, MREMAP_MAYMOVE);
    REQUIRE_THAT(larger != MAP_FAILED);
    REQUIRE_THAT(is_advised_huge(static_cast<char*>(larger) + 8 * kHuge) == expected);
  }
}

void check_brk() {
  char* const before = static_cast<char*>(::sbrk(0));
  REQUIRE_THAT(::sbrk(100000) == before);
  std::memset(before, 1, 100000);
  REQUIRE_THAT(::sbrk(0) == before + 100000);
  REQUIRE_THAT(::sbrk(-100000) != reinterpret_cast<void*>(-1));
  REQUIRE_THAT(::sbrk(0) == before);
  REQUIRE_THAT(::sbrk(100000) == before);
  REQUIRE_THAT(before[50000] == 0);  // Given back means zeroed.
  rlimit limit{};
  REQUIRE_THAT(::getrlimit(RLIMIT_DATA, &limit) == 0);
  REQUIRE_THAT(limit.rlim_cur == RLIM_INFINITY);
}

void check_brk_guard() {
  REQUIRE_THAT(::sbrk(4096) == reinterpret_cast<void*>(-1));
  std::vector<std::vector<char>> blocks;
  for (std::size_t size = 1; size < 2000000; size *= 3) blocks.emplace_back(size, 'x');
  check_allocation();
}

void check_allocation() {
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 6; ++seed) {
    threads.emplace_back([seed] {
      std::mt19937 random(seed);
      std::vector<std::vector<char>> blocks(64);
      for (int round = 0; round < 1000; ++round) {
        std::vector<char>& block = blocks[random() % blocks.size()];
        for (const char byte : block) REQUIRE_THAT(byte == static_cast<char>(block.size()));
        const std::size_t size = random() % (random() % 50 == 0 ? 600000 : 3000);
        block.assign(size, static_cast<char>(size));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void check_system_v() {
  const int id = ::shmget(IPC_PRIVATE, 3 * kHuge, IPC_CREAT | 0600);
  REQUIRE_THAT(id >= 0);
  for (int round = 0; round < 3; ++round) {
    auto* const one = static_cast<char*>(::shmat(id, nullptr, 0));
    auto* const two = static_cast<char*>(::shmat(id, nullptr, 0));
    REQUIRE_THAT(one != reinterpret_cast<char*>(-1));
    REQUIRE_THAT(two != reinterpret_cast<char*>(-1));
    one[5] = static_cast<char>(round + 1);
    REQUIRE_THAT(two[5] == round + 1);
    REQUIRE_THAT(::shmdt(one) == 0);
    REQUIRE_THAT(::shmdt(two) == 0);
  }
  REQUIRE_THAT(::shmat(id, nullptr, 0) != reinterpret_cast<void*>(-1));  // Left attached.
  REQUIRE_THAT(::shmctl(id, IPC_RMID, nullptr) == 0);
}

void check_uring() {
  io_uring_params parameters{};
  const long fd = ::syscall(SYS_io_uring_setup, 8, &parameters);
  if (fd < 0) return;  // Refused here, as in default containers.
  const std::size_t bytes = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned);
  void* const ring = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, static_cast<int>(fd),
                            IORING_OFF_SQ_RING);
  REQUIRE_THAT(ring != MAP_FAILED);
  const auto* const entries = reinterpret_cast<unsigned*>(static_cast<char*>(ring) + parameters.sq_off.ring_entries);
  REQUIRE_THAT(*entries == parameters.sq_entries);
}
