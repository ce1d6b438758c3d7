// Paged segments of one rank, on files: what they hold, how they are used, and what is wrong use.
#include "storage/segment/paged_segment.hpp"
#include "runtime/job/job.hpp"
#include "transports/connect.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <coracle/coracle.hpp>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "runtime/launch/boot.hpp"
#include "storage/segment/paged_array.hpp"
#include "tests/apps/temporary_folder.hpp"
#include "tests/storage/store_image.hpp"

namespace paged_segment_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

struct Job {
  Job() { connect_transports(self); }
  static JobShape shape() {
    JobShape shape;
    shape.segment_bytes = 64 << 20;
    shape.inbox_bytes = transport_inbox_bytes(1);
    return shape;
  }
  PagedOptions options(std::uint64_t bytes, std::uint64_t cache_pages = 8) const {
    PagedOptions options;
    options.path = folder.file("pages");
    options.bytes = bytes;
    options.page_bytes = 4096;
    options.cache_bytes = cache_pages * 4096;
    return options;
  }
  template <class Body>
  void run(Body body) {
    loop.run(body(self, *this));
    loop.run(end(self));
  }
  static Task<> end(Rank& self) {
    self.service().cancel();
    CHECK(co_await join_quietly(self.service()) == nullptr);
  }

  apps_test::TemporaryFolder folder;
  const JobRegion region = JobRegion::create(shape(), JobRegion::Backing::anonymous);
  EventLoop loop;
  WholeRank self{region, 0, loop};
};

/// Of this process's memory, in huge pages.
std::uint64_t huge_kib() {
  std::ifstream file("/proc/self/smaps");
  std::uint64_t sum = 0;
  for (std::string word; file >> word;) {
    std::uint64_t kib = 0;
    if (word == "AnonHugePages:" && file >> kib) sum += kib;
  }
  return sum;
}

/// Whether small pages can be made huge ones on demand.
bool can_collapse() {
  constexpr std::size_t kHuge = 2 << 20;
  constexpr int kCollapse = 25;
  void* mapped = ::mmap(nullptr, 2 * kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  auto* begin = static_cast<std::byte*>(mapped);
  begin += (kHuge - reinterpret_cast<std::uintptr_t>(begin) % kHuge) % kHuge;
  const std::uint64_t before_kib = huge_kib();
  std::memset(begin, 1, kHuge);
  // An emulator may take the call for advice, and say yes.
  const bool can = ::madvise(begin, kHuge, kCollapse) == 0 && huge_kib() > before_kib;
  ::munmap(mapped, 2 * kHuge);
  return can;
}

/// Makes segments and gives the words of what went wrong; "" when nothing did.
Task<std::string> words_of(Task<> task) {
  const Result<> result = co_await as_result(std::move(task));
  co_return result.ok() ? std::string() : std::string(result.error().what());
}

Task<> create_only(Rank& self, PagedOptions options) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  co_await segment.close();
}
Task<> open_only(Rank& self, PagedOptions options, std::string checkpoint) {
  PagedSegment segment = co_await PagedSegment::open(self.world(), options, checkpoint);
  co_await segment.close();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::uint32_t> counted(std::size_t count, std::uint32_t first) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

}  // namespace

TEST_CASE("a paged segment larger than its cache holds what is put, and reads zero where nothing was") {
  Job job;
  job.run([](Rank& self, Job& in) -> Task<> {
    PagedSegment segment = co_await PagedSegment::create(self.world(), in.options(100 * 4096 + 77));
    std::vector<std::byte> model(segment.bytes());
    std::mt19937_64 random(7);
    for (int step = 0; step < 3000; ++step) {
      const std::uint64_t offset = random() % model.size();
      const std::uint64_t bytes =
          std::min<std::uint64_t>(1 + random() % (step % 50 == 0 ? 50'000 : 300), model.size() - offset);
      std::vector<std::byte> data(bytes);
      if (random() % 2 == 0) {
        for (std::byte& each : data) each = static_cast<std::byte>(random());
        co_await segment.put(offset, data);
        std::copy(data.begin(), data.end(), model.begin() + static_cast<std::ptrdiff_t>(offset));
      } else {
        co_await segment.get(offset, data);
        REQUIRE(std::equal(data.begin(), data.end(), model.begin() + static_cast<std::ptrdiff_t>(offset)));
      }
    }
    CHECK(segment.counts().evictions > 100);
    co_await segment.close();
    PagedSegment again = co_await PagedSegment::open(self.world(), in.options(0));
    std::vector<std::byte> all(again.bytes());
    co_await again.get(0, all);
    CHECK(all == model);
    co_await again.close();
  });
}

TEST_CASE("scattered bytes go between pages and layouts") {
  Job job;
  job.run([](Rank& self, Job& in) -> Task<> {
    PagedSegment segment = co_await PagedSegment::create(self.world(), in.options(64 * 4096));
    const std::vector<std::uint32_t> here = counted(1000, 5);
    const Layout column = Layout::of<std::uint32_t>().vector(1000, 1, 37);  // crosses pages
    const Layout row = Layout::of<std::uint32_t>().contiguous(1000);
    co_await segment.put({here.data(), row}, 4, column);
    std::vector<std::uint32_t> back(1000);
    co_await segment.get(4, column, 1, {back.data(), row});
    CHECK(back == here);
    std::uint32_t one = 0;
    co_await segment.get(4 + 37 * 4 * 999, std::as_writable_bytes(std::span(&one, 1)));
    CHECK(one == 1004);
    std::vector<std::uint32_t> spread(3000);
    const Layout third = Layout::of<std::uint32_t>().vector(1000, 1, 3);
    co_await segment.get(4, column, 1, {spread.data(), third});
    CHECK(spread[3 * 999] == 1004);
    const Layout listed = Layout::of<std::uint32_t>().indexed_block(1, {0, 40, 7, 3000});
    const Layout four = Layout::of<std::uint32_t>().contiguous(4);
    co_await segment.put({here.data(), four}, 0, listed);
    co_await segment.get(3000 * 4, std::as_writable_bytes(std::span(&one, 1)));
    CHECK(one == here[3]);
    co_await segment.get(0, listed, 1, {back.data(), four});
    CHECK(std::equal(back.begin(), back.begin() + 4, here.begin()));
    const Layout half = Layout::of<std::uint32_t>().contiguous(500);
    CHECK(has(co_await words_of(segment.get(4, column, 1, {back.data(), half})), "4000 bytes there and 2000 here"));
    CHECK(has(co_await words_of(segment.get(64 * 4096 - 8, column, 1, {back.data(), row})), "outside"));
    co_await segment.close();
  });
}

TEST_CASE("transfers with handles and without, and pins") {
  Job job;
  job.run([](Rank& self, Job& in) -> Task<> {
    PagedSegment segment = co_await PagedSegment::create(self.world(), in.options(64 * 4096));
    const std::vector<std::uint32_t> values = counted(16 * 1024, 1);
    for (std::uint64_t i = 0; i < 16; ++i)
      segment.put_nbi(i * 4096, std::as_bytes(std::span(values).subspan(i * 1024, 1024)));
    co_await segment.nbi_done();
    std::vector<std::uint32_t> back(values.size());
    PagedSegment::Handle first = segment.get_nb(0, std::as_writable_bytes(std::span(back).first(8192)));
    PagedSegment::Handle second = segment.get_nb(32768, std::as_writable_bytes(std::span(back).subspan(8192)));
    co_await first.wait();
    co_await second.wait();
    CHECK(second.done());
    CHECK(back == values);
    segment.get_nbi(64 * 4096 - 4, std::as_writable_bytes(std::span(back)));
    CHECK(has(co_await words_of(segment.nbi_done()), "outside the paged segment"));
    co_await segment.nbi_done();
    {
      const PinnedPage page = co_await segment.pin(3, true);
      page.writable()[5] = std::byte{42};
    }
    std::byte one{};
    co_await segment.get(3 * 4096 + 5, std::span(&one, 1));
    CHECK(one == std::byte{42});
    co_await segment.close();
  });
}

TEST_CASE("pages that were prefetched are not missed by the get that comes to them") {
  Job job;
  job.run([](Rank& self, Job& in) -> Task<> {
    PagedOptions options = in.options(64 * 4096);
    options.read_ahead_pages = 0;  // else what was read before may lead to misses, sooner or later
    PagedSegment segment = co_await PagedSegment::create(self.world(), options);
    segment.prefetch(40 * 4096, 2 * 4096);
    // They are asked for by tasks of the cache, one after the other; how soon is the machine's matter.
    for (int i = 0; i < 60'000 && segment.counts().misses < 2; ++i) co_await sleep_for(std::chrono::milliseconds(1));
    std::byte two[2] = {std::byte{1}, std::byte{1}};
    co_await segment.get(41 * 4096 - 1, two);
    CHECK(two[0] == std::byte{0});
    CHECK(two[1] == std::byte{0});
    const PagedCounts counts = segment.counts();
    CHECK(counts.misses == 2);
    CHECK(counts.read_ahead == 2);
    co_await segment.close();
  });
}

TEST_CASE("an array of elements goes through blocks in order") {
  Job job;
  job.run([](Rank& self, Job& in) -> Task<> {
    struct Odd {
      char coherence_messages[12];
    };
    auto array = co_await PagedArray<Odd>::create(self.world(), in.options(0), 3000);
    CHECK(array.size() == 3000);
    for (std::uint64_t i = 0; i < array.size(); i += 100) {
      Odd odd{};
      odd.coherence_messages[0] = static_cast<char>(i / 100);
      co_await array.put(i, odd);
    }
    std::uint64_t expected = 0;
    co_await array.for_each_block(0, array.size(), [&](std::uint64_t index, std::span<const Odd> block) {
      REQUIRE(index == expected);
      for (const Odd& odd : block) {
        if (expected % 100 == 0) REQUIRE(odd.coherence_messages[0] == static_cast<char>(expected / 100));
        ++expected;
      }
    });
    CHECK(expected == 3000);
    co_await array.close();
  });
}

TEST_CASE("checkpoints are found by name and later puts are not in them") {
  Job job;
  job.run([](Rank& self, Job& in) -> Task<> {
    {
      PagedSegment segment = co_await PagedSegment::create(self.world(), in.options(20 * 4096));
      const std::vector<std::uint32_t> first = counted(20 * 1024, 1);
      co_await segment.put(0, std::as_bytes(std::span(first)));
      co_await segment.checkpoint("one");
      const std::vector<std::uint32_t> second = counted(20 * 1024, 1000);
      co_await segment.put(0, std::as_bytes(std::span(second)));
      co_await segment.flush();
      co_await segment.put(4, std::as_bytes(std::span(first)).first(4));
    }  // not closed: what was not flushed is gone
    std::uint32_t two[2];
    PagedSegment latest = co_await PagedSegment::open(self.world(), in.options(0));
    co_await latest.get(0, std::as_writable_bytes(std::span(two)));
    CHECK(two[0] == 1000);
    CHECK(two[1] == 1001);
    co_await latest.close();
    PagedSegment named = co_await PagedSegment::open(self.world(), in.options(0), "one");
    co_await named.get(0, std::as_writable_bytes(std::span(two)));
    CHECK(two[0] == 1);
    co_await named.close();
    CHECK(has(co_await words_of(open_only(self, in.options(0), "three")), "has no checkpoint 'three'; it has: one"));
  });
}

TEST_CASE("a page that can't be read tells what its home's file says") {
  Job job;
  job.run([](Rank& self, Job& in) -> Task<> {
    const PagedOptions options = in.options(4096);
    {
      PagedSegment segment = co_await PagedSegment::create(self.world(), options);
      const std::vector<std::uint32_t> values = counted(1024, 1);
      co_await segment.put(0, std::as_bytes(std::span(values)));
      co_await segment.close();
    }
    const std::string path = options.path + ".0";
    coracle::internals::test::StoreImage image(path);
    image.flip(image.plan.slot_at(image.latest_slot(0)));
    image.save();
    PagedSegment segment = co_await PagedSegment::open(self.world(), in.options(0));
    std::uint32_t value = 0;
    const std::string words = co_await words_of(as_task(segment.get(0, std::as_writable_bytes(std::span(&value, 1)))));
    CHECK(has(words, "(page 0 of " + path + " does not match its checksum, read twice"));
    co_await segment.close();
  });
}

TEST_CASE("frames are huge pages also where memory was small pages before, and are not given back") {
  Job job;
  job.run([](Rank& self, Job& here) -> Task<> {
    constexpr std::size_t kBytes = 16 << 20;
    std::byte* touched = nullptr;
    {
      const Slab<std::byte> before = self.allocate<std::byte>(kBytes);
      touched = before.data();
      std::memset(touched, 1, kBytes);
    }
    const std::uint64_t before_kib = huge_kib();
    PagedSegment segment = co_await PagedSegment::create(self.world(), here.options(kBytes, kBytes / 4096 / 2));
    const PinnedPage page = co_await segment.pin(0);
    const auto* frames = page.bytes().data();
    REQUIRE((frames >= touched && frames < touched + kBytes / 2));
    // As a NIC would find them that has the segment pinned: the same memory as before.
    CHECK(frames[kBytes / 4] == std::byte{1});
    if (can_collapse())
      CHECK(huge_kib() > before_kib);
    else
      MESSAGE("SKIPPED: no huge pages here, or a kernel before 6.1");
    co_await segment.close();
  });
}

TEST_CASE("wrong use of paged segments is told in words") {
  Job job;
  job.run([](Rank& self, Job& in) -> Task<> {
    PagedOptions options = in.options(4096 * 10);
    options.page_bytes = 5000;
    CHECK(has(co_await words_of(create_only(self, options)), "power of two from 4 KiB to 4 MiB"));
    options = in.options(4096 * 10, 2);
    CHECK(has(co_await words_of(create_only(self, options)), "must hold at least 4"));
    CHECK(has(co_await words_of(create_only(self, in.options(0))), "needs a size"));
    options = in.options(4096 * 10);
    options.chances = 16;
    CHECK(has(co_await words_of(create_only(self, options)), "at most 15 times (PagedOptions::chances)"));
    options = in.options(1ULL << 30, 100'000);
    CHECK(has(co_await words_of(create_only(self, options)), "--segment"));
    options = in.options(4096 * 10);
    options.path = "/nowhere/at/all";
    CHECK(has(co_await words_of(create_only(self, options)), "/nowhere/at/all.0"));
    options.path.clear();
    CHECK(has(co_await words_of(create_only(self, options)), "needs a path"));
    CHECK(has(co_await words_of(open_only(self, in.options(0), "")), "pages.0"));
    options = in.options(4096 * 10);
    CHECK(co_await words_of(create_only(self, options)) == "");
    CHECK(has(co_await words_of(create_only(self, options)), "pages.0"));  // exists
    options.replace = true;
    CHECK(co_await words_of(create_only(self, options)) == "");
    CHECK(has(co_await words_of(open_only(self, in.options(77), "")), "has 40960 bytes, not 77"));
    PagedSegment segment = co_await PagedSegment::open(self.world(), in.options(0));
    std::byte bytes[16];
    CHECK(
        has(co_await words_of(as_task(segment.get(40960 - 8, bytes))), "lie outside the paged segment of 40960 bytes"));
    CHECK(has(co_await words_of(as_task(segment.put(~std::uint64_t{0} - 3, bytes))), "outside"));
    co_await segment.get(40960, std::span(bytes).first(0));
    const auto pinned = co_await as_result(segment.pin(10));
    CHECK(!pinned.ok());
    co_await segment.close();
  });
}

}  // namespace paged_segment_test
