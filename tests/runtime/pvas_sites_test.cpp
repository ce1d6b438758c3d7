// The hook's parts on their own: which bytes are taken for a request for memory, and the books of places without locks.
#include <sys/syscall.h>

#include <map>
#include <random>

#include "pvas_fixture.hpp"
#include "runtime/pvas/range_table.hpp"
#include "runtime/pvas/sites.hpp"
#include "runtime/pvas/zone.hpp"

namespace pvas_sites_test {

using coracle::internals::pvas::find_sites;
using coracle::internals::pvas::RangeTable;
using coracle::internals::pvas::SiteList;
using coracle::internals::pvas::Zone;

namespace {

using Bytes = std::vector<unsigned char>;

constexpr unsigned char kMmap = SYS_mmap;
constexpr unsigned char kMunmap = SYS_munmap;

SiteList sites_in(const Bytes& text) {
  SiteList list;
  find_sites(text.data(), text.size(), list);
  return list;
}

}  // namespace

TEST_CASE("pvas: requests for memory are found in the forms that glibc and musl use") {
  const SiteList plain = sites_in({0x90, 0xb8, kMmap, 0, 0, 0, 0x0f, 0x05, 0xc3});
  REQUIRE(plain.count == 1);
  CHECK(plain.sites[0].offset == 1);
  CHECK(plain.sites[0].number == SYS_mmap);
  CHECK(plain.sites[0].between == 0);
  // mov %rbx, %rdi and mov %rbp, %rsi in between, as in musl's munmap.
  const SiteList two = sites_in({0xb8, kMunmap, 0, 0, 0, 0x48, 0x89, 0xdf, 0x48, 0x89, 0xee, 0x0f, 0x05});
  REQUIRE(two.count == 1);
  CHECK(two.sites[0].between == 6);
  const Bytes odd = {0x0f, 0x0f, 0x05, 0xb8, SYS_brk, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05};  // xor %edi, %edi in between
  REQUIRE(sites_in(odd).count == 1);
  CHECK(sites_in(odd).sites[0].offset == 3);
}

TEST_CASE("pvas: other system calls, and code that must not be moved, are left alone") {
  CHECK(sites_in({0xb8, SYS_read, 0, 0, 0, 0x0f, 0x05}).count == 0);
  CHECK(sites_in({0xb8, kMmap, 0, 0, 1, 0x0f, 0x05}).count == 0);
  CHECK(sites_in({0xb8, kMmap, 0, 0, 0, 0x48, 0x89, 0xc7, 0x0f, 0x05}).count == 0);  // reads rax
  CHECK(sites_in({0xb8, kMmap, 0, 0, 0, 0x48, 0x89, 0xe7, 0x0f, 0x05}).count == 0);  // reads rsp
  CHECK(sites_in({0xb8, kMmap, 0, 0, 0, 0x48, 0x8b, 0x3f, 0x0f, 0x05}).count == 0);  // reads memory
  CHECK(sites_in({0xb8, kMmap, 0, 0, 0, 0x0f}).count == 0);
  CHECK(sites_in({0x0f, 0x05}).count == 0);
  // munmap of the own stack, then exit: there is no stack on which the hook could return.
  CHECK(sites_in({0xb8, kMunmap, 0, 0, 0, 0x0f, 0x05, 0x48, 0x31, 0xff, 0xb8, SYS_exit, 0, 0, 0, 0x0f, 0x05}).count ==
        0);
}

TEST_CASE("pvas: the search reads nothing outside its text") {
  std::mt19937 random(3);
  const unsigned char likely[] = {0xb8, 0x0f, 0x05, kMmap, 0, 0, 0x48, 0x89, 0xdf};
  for (int round = 0; round < 20000; ++round) {
    Bytes text(random() % 24);  // On the heap without room to spare, so that the sanitizers see a stray read.
    for (unsigned char& byte : text) byte = likely[random() % sizeof(likely)];
    const SiteList list = sites_in(text);
    for (unsigned i = 0; i < list.count; ++i) {
      const auto& site = list.sites[i];
      REQUIRE(site.offset + 5u + site.between + 2u <= text.size());
      REQUIRE(text[site.offset + 5u + site.between] == 0x0f);
    }
  }
}

TEST_CASE("pvas: a zone gives out each granule once, aligned and unfenced, and takes it back") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::uint64_t count = 100 + random() % 700;
    std::vector<std::uint64_t> words((count + 63) / 64);
    Zone zone{0x1000000, 4096, count, words.data()};
    std::vector<bool> taken(count);
    std::map<std::uint64_t, std::uint64_t> runs;
    for (int round = 0; round < 500; ++round) {
      const std::uint64_t run = 1 + random() % (round % 7 == 0 ? 150 : 9);
      const std::uint64_t alignment = round % 5 == 0 ? 16 : 1;
      const std::uint64_t place = zone.claim(run, alignment, 64);
      if (place == Zone::kNone) {
        if (runs.empty()) break;
        const auto victim = runs.begin();
        zone.clear(victim->first, victim->second);
        for (std::uint64_t i = 0; i < victim->second; ++i) taken[victim->first + i] = false;
        runs.erase(victim);
        continue;
      }
      const std::uint64_t first = zone.index_of(place);
      REQUIRE(first + run <= count);
      REQUIRE(first % alignment == 0);
      if (run < 64) REQUIRE(first / 64 == (first + run - 1) / 64);
      for (std::uint64_t i = 0; i < run; ++i) {
        REQUIRE_FALSE(taken[first + i]);
        taken[first + i] = true;
      }
      runs[first] = run;
      REQUIRE_FALSE(zone.claim_at(first, 1));
    }
    for (const auto& [first, run] : runs) zone.clear(first, run);
    for (const std::uint64_t word : words) REQUIRE(word == 0);
  }
}

TEST_CASE("pvas: the table of ranges keeps just what was added and not removed") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    RangeTable table;
    std::vector<bool> expected(64);
    for (int round = 0; round < 40; ++round) {
      const std::uint64_t begin = random() % 60;
      const std::uint64_t end = begin + 1 + random() % (64 - begin);
      table.remove(begin * 4096, end * 4096);
      for (std::uint64_t i = begin; i < end; ++i) expected[i] = false;
      if (random() % 2 == 0) continue;
      table.add(begin * 4096, end * 4096);
      for (std::uint64_t i = begin; i < end; ++i) expected[i] = true;
    }
    std::vector<bool> found(64);
    for (unsigned i = 0; i < RangeTable::kEntries; ++i) {
      for (std::uint64_t at = table.at(i).begin; at < table.at(i).end; at += 4096) {
        REQUIRE_FALSE(found[at / 4096]);
        found[at / 4096] = true;
      }
    }
    REQUIRE(found == expected);
  }
}

}  // namespace pvas_sites_test
