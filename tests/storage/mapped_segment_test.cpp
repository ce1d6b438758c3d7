// MappedSegment: ordinary loads and stores by several threads, through windows much smaller than the segment.
#include "storage/mapped/mapped_segment.hpp"

#include <doctest/doctest.h>

#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "storage/mapped/fault_server.hpp"
#include "storage/segment/paged_segment.hpp"
#include "tests/sanitized.hpp"
#include "tests/storage/mapped_job.hpp"

namespace mapped_segment_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;

namespace {

// --- random traffic ---

struct Traffic {
  std::span<std::uint64_t> window;
  Words& model;
  unsigned seed;
  unsigned threads;
  std::size_t steps;
  std::atomic<std::size_t> wrong{0};
};

/// Each thread stores to the words of its own, which lie between those of the others.
void random_accesses(Traffic& traffic, unsigned thread) {
  std::mt19937_64 random(traffic.seed + thread);
  for (std::size_t i = 0; i < traffic.steps; ++i) {
    std::size_t word = random() % (traffic.window.size() / traffic.threads) * traffic.threads + thread;
    const std::size_t run = random() % 16 == 0 ? 600 : 1;
    for (std::size_t j = 0; j < run && word < traffic.window.size(); ++j, word += traffic.threads) {
      if (traffic.window[word] != traffic.model[word]) ++traffic.wrong;
      if (random() % 2 == 0) traffic.window[word] = traffic.model[word] = random();
    }
  }
}

Task<> access_on_thread(MappedSegment& window, Traffic& traffic, unsigned thread) {
  co_await window.run([&traffic, thread] { random_accesses(traffic, thread); });
}

Task<> access_on_threads(Scope& scope, MappedSegment& window, Traffic& traffic) {
  for (unsigned i = 0; i < traffic.threads; ++i) scope.spawn(access_on_thread(window, traffic, i));
  co_return;
}

/// What else goes on while threads use the window.
Task<> sync_often(Scope& scope, MappedSegment& window, int rounds) {
  for (int i = 0; i < rounds && scope.running() > 1; ++i) {
    co_await sleep_for(std::chrono::milliseconds(1));
    if (i % 2 == 0)
      co_await window.sync();
    else
      co_await window.flush();
  }
}

Task<> access_and_sync(Scope& scope, MappedSegment& window, Traffic& traffic) {
  co_await access_on_threads(scope, window, traffic);
  scope.spawn(sync_often(scope, window, 1000));
}

Task<> random_traffic(Rank& self, PagedSegment& segment, MappedSegment& window) {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  MESSAGE("seed " << seed);
  Words model(segment.bytes() / 8);
  const std::size_t steps = test::kSanitized ? 300 : 1000;
  Traffic traffic{window.as<std::uint64_t>(), model, seed, 4, steps};
  for (int phase = 0; phase < 3; ++phase) {
    traffic.seed += 10;
    if (phase < 2)
      co_await with_scope(access_on_threads, std::ref(window), std::ref(traffic));
    else
      co_await with_scope(access_and_sync, std::ref(window), std::ref(traffic));
    co_await window.sync();
    const Words seen = co_await content_of(segment);
    CHECK(seen == model);
    CHECK(traffic.wrong == 0);
  }
  CHECK(window.counts().evicted > 100);
  CHECK(window.counts().written_back > 100);
  CHECK(self.id() == 0);
}

// --- loads only, stores only ---

/// Loads from the first two pages: the third must come without having been touched.
Task<> has_third_page_read_ahead(PagedSegment& segment, MappedSegment& window) {
  const volatile std::uint64_t* words = window.as<const std::uint64_t>().data();
  const std::size_t page_words = segment.page_bytes() / 8;
  co_await window.run([words, page_words] {
    for (std::size_t page = 0; page < 2; ++page) static_cast<void>(words[page * page_words]);
  });
  for (int i = 0; i < 20'000 && window.counts().read_ahead == 0; ++i) co_await sleep_for(std::chrono::milliseconds(1));
  CHECK(window.counts().read_ahead > 0);
}

Task<> loads_only(Rank&, PagedSegment& segment, MappedSegment& window) {
  Words words(segment.bytes() / 8);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i * 7 + 1;
  const auto source = bytes_of(words);
  co_await segment.put(0, source);
  co_await has_third_page_read_ahead(segment, window);
  const auto view = window.as<const std::uint64_t>();
  for (int pass = 0; pass < 2; ++pass) {
    const bool same = co_await window.run([&] { return std::equal(view.begin(), view.end(), words.begin()); });
    CHECK(same);
  }
  CHECK(window.counts().written_back == 0);
  CHECK(window.counts().fetched >= 2 * segment.pages() - 8);
}

/// A store, too, may be what comes first to a page that was read ahead.
Task<> every_kind_in_order(Rank&, PagedSegment& segment, MappedSegment& window) {
  Words words(segment.bytes() / 8);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i * 7 + 1;
  const auto source = bytes_of(words);
  co_await segment.put(0, source);
  co_await has_third_page_read_ahead(segment, window);
  const auto view = window.as<std::uint64_t>();
  for (std::size_t step : {std::size_t{1}, std::size_t{511}, std::size_t{513}}) {
    const std::size_t wrong = co_await window.run([view, step, &words] {
      std::size_t different = 0;
      for (std::size_t i = 0; i < view.size(); i += step) {
        if (i % 3 == 0) view[i] = ++words[i];
        different += view[i] != words[i] ? 1 : 0;
      }
      return different;
    });
    CHECK(wrong == 0);
  }
  co_await window.sync();
  const Words seen = co_await content_of(segment);
  CHECK(seen == words);
}

Task<> stores_only(Rank&, PagedSegment& segment, MappedSegment& window) {
  const auto view = window.as<std::uint64_t>();
  co_await window.run([view] {
    for (std::size_t i = 0; i < view.size(); ++i) view[i] = i ^ 0x55;
  });
  co_await window.flush();
  const Words seen = co_await content_of(segment);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) wrong += seen[i] != (i ^ 0x55) ? 1 : 0;
  CHECK(wrong == 0);
}

Task<> stores_before_unmapping(Rank& self, MappedOptions mapped) {
  const TemporaryFolder folder;
  PagedOptions options = options_of(folder, 20 * kPage + 24);
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  MappedSegment window = co_await MappedSegment::map(self, segment, mapped);
  const auto view = window.as<std::uint64_t>();
  co_await window.run([view] { std::fill(view.begin(), view.end(), 77); });
  co_await window.unmap();
  co_await segment.close();
  segment = co_await PagedSegment::open(self.world(), options);
  const Words seen = co_await content_of(segment);
  CHECK(seen == Words(20 * kWords + 3, 77));
  co_await segment.close();
}

// --- eviction under stores ---

constexpr std::size_t kCounters = 40;

/// Every page has a counter that all threads raise together, and one of each thread's own.
void raise_counters(std::span<std::uint64_t> words, std::size_t page_words, unsigned thread, std::size_t rounds) {
  std::mt19937 random(thread + 1);
  for (std::size_t i = 0; i < rounds; ++i) {
    const std::size_t page = random() % (words.size() / page_words) * page_words;
    std::atomic_ref(words[page]).fetch_add(1);
    words[page + 64 + thread] += 1;
  }
}

Task<> raise_on_thread(MappedSegment& window, std::size_t page_words, unsigned thread, std::size_t rounds) {
  const auto view = window.as<std::uint64_t>();
  co_await window.run([view, page_words, thread, rounds] { raise_counters(view, page_words, thread, rounds); });
}

Task<> raise_on_threads(Scope& scope, MappedSegment& window, std::size_t page_words, std::size_t rounds) {
  for (unsigned i = 0; i < 4; ++i) scope.spawn(raise_on_thread(window, page_words, i, rounds));
  co_return;
}

Task<> counters_evicted(Rank&, PagedSegment& segment, MappedSegment& window) {
  const std::size_t page_words = segment.page_bytes() / 8;
  const std::size_t rounds = test::kSanitized ? 500 : segment.page_bytes() == kPage ? 3000 : 1000;
  co_await with_scope(raise_on_threads, std::ref(window), page_words, rounds);
  CHECK(window.counts().evicted > rounds / 2);
  co_await window.sync();
  const Words seen = co_await content_of(segment);
  std::uint64_t shared = 0, own = 0;
  for (std::size_t page = 0; page < seen.size(); page += page_words) {
    shared += seen[page];
    for (unsigned thread = 0; thread < 4; ++thread) own += seen[page + 64 + thread];
  }
  CHECK(shared == 4 * rounds);
  CHECK(own == 4 * rounds);
}

/// Stores as soon as the page is there and may be stored to, without asking for either: by system calls, which fail
/// until then. Whether it could before it was told to stop.
bool store_at_once(std::uint64_t& word, std::uint64_t value, const std::atomic<bool>& stop) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return false;
  bool stored = ::write(ends[1], &value, sizeof value) != sizeof value;
  while (!stored && !stop) stored = ::read(ends[0], &word, sizeof word) == sizeof word;
  for (const int end : ends) ::close(end);
  return stored;
}

/// A huge page that is moved in is not protected at first.
Task<> stores_between(Rank&, PagedSegment& segment, MappedSegment& window) {
  const std::size_t page_words = segment.page_bytes() / 8;
  const auto view = window.as<std::uint64_t>();
  std::size_t hits = 0, lost = 0;
  for (std::uint64_t round = 1; round <= 200; ++round) {
    const std::size_t page = round % segment.pages() * page_words;
    std::atomic<bool> stop = false;
    bool stored = false;
    std::thread storer([&] { stored = store_at_once(view[page + 9], round, stop); });
    co_await sleep_for(std::chrono::milliseconds(2));  // it tries now
    co_await window.run([view, page] { return view[page]; });
    stop = true;
    storer.join();
    co_await window.sync();
    std::uint64_t seen = 0;
    co_await segment.get((page + 9) * 8, std::as_writable_bytes(std::span(&seen, 1)));
    hits += stored ? 1 : 0;
    lost += stored && seen != round ? 1 : 0;
  }
  MESSAGE(hits << " of 200 stores came between");
  CHECK(lost == 0);
}

// --- coherence ---

Task<> synchronised(Rank&, PagedSegment& segment, MappedSegment& window) {
  const auto view = window.as<std::uint64_t>();
  co_await window.run([view] { view[3] = 33; });
  Words other{44};
  const auto source = bytes_of(other);
  co_await segment.put(4 * 8, source);  // as another rank would, into the same page
  const std::uint64_t before = co_await window.run([view] { return view[4]; });
  CHECK(before == 0);
  co_await window.sync();
  const std::uint64_t after = co_await window.run([view] { return view[4]; });
  CHECK(after == 44);
  const Words seen = co_await content_of(segment);
  CHECK(seen[3] == 33);
  CHECK(seen[4] == 44);
}

Task<> flushed(Rank&, PagedSegment& segment, MappedSegment& window) {
  const auto view = window.as<std::uint64_t>();
  for (std::uint64_t value = 1; value < 4; ++value) {
    co_await window.run([view, value] { view[5] = value; });
    co_await window.flush();
    const Words seen = co_await content_of(segment);
    CHECK(seen[5] == value);
  }
  CHECK(window.counts().fetched == 1);
  CHECK(window.counts().written_back == 3);
}

/// The cores that this thread may use, and where it is.
struct Cores {
  Cores() : here(::sched_getcpu()) {
    cpu_set_t set;
    ::sched_getaffinity(0, sizeof set, &set);
    count = CPU_COUNT(&set);
  }
  int here;
  int count;
};

Task<> see_cores(MappedSegment& window, std::vector<Cores>& seen) {
  const auto view = window.as<std::uint64_t>();
  Cores cores = co_await window.run([view] {
    for (std::size_t i = 0; i < view.size(); i += kWords) ++view[i];
    return Cores();
  });
  seen.push_back(cores);
}

Task<> see_cores_twice(Scope& scope, MappedSegment& window, std::vector<Cores>& seen) {
  for (int i = 0; i < 2; ++i) scope.spawn(see_cores(window, seen));
  co_return;
}

Task<> on_one_core(Rank&, PagedSegment&, MappedSegment& window) {
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<Cores> seen;
    co_await with_scope(see_cores_twice, std::ref(window), std::ref(seen));
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].count == 1);
    CHECK(seen[1].count == 1);
    CHECK(seen[0].here == seen[1].here);
  }
}

Task<> functions(Rank&, PagedSegment&, MappedSegment& window) {
  const auto here = std::this_thread::get_id();
  const bool elsewhere = co_await window.run([here] { return std::this_thread::get_id() != here; });
  CHECK(elsewhere);
  std::string thrown;
  try {
    co_await window.run([] { throw std::runtime_error("of the function"); });
  } catch (const std::runtime_error& error) {
    thrown = error.what();
  }
  CHECK(thrown == "of the function");
}

}  // namespace

TEST_CASE("window: random loads and stores of four threads are those of a model") {
  run_with_window(50 * kWords + 5, window_of(8), random_traffic);
  run_with_window(50 * kWords + 5, window_of(8, true), random_traffic);
}

TEST_CASE("window: loads see what was put and write nothing back") {
  run_with_window(64 * kWords, window_of(8), loads_only);
}

TEST_CASE("window: stores alone reach the segment") {
  run_with_window(64 * kWords + 1, window_of(8), stores_only);
  run_with_window(64 * kWords + 1, window_of(8, true), stores_only);
}

TEST_CASE("window: unmapping writes what was stored") {
  if (!available()) return;
  for (const std::size_t pages : {std::size_t{4}, std::size_t{8}, std::size_t{100}}) {
    Job job;
    job.run(stores_before_unmapping(job.self, window_of(pages, pages == 8)));
  }
}

TEST_CASE("window: pages of every size read ahead and moved hold what was put and stored") {
  run_with_window(64 * kMiddlePage / 8 + 3, window_of(20, false, kMiddlePage), every_kind_in_order, kMiddlePage);
  run_with_window(16 * kHugePage / 8 + 3, window_of(8, false, kHugePage), every_kind_in_order, kHugePage);
  run_with_window(16 * kHugePage / 8, window_of(8, true, kHugePage), every_kind_in_order, kHugePage);
}

TEST_CASE("window: no store is lost to evictions of huge pages") {
  run_with_window(6 * kHugePage / 8, window_of(4, false, kHugePage), counters_evicted, kHugePage);
  run_with_window(6 * kHugePage / 8, window_of(4, true, kHugePage), counters_evicted, kHugePage);
}

TEST_CASE("window: no store is lost that comes before a moved page is protected") {
  run_with_window(6 * kHugePage / 8, window_of(4, false, kHugePage), stores_between, kHugePage);
  run_with_window(6 * kHugePage / 8, window_of(4, true, kHugePage), stores_between, kHugePage);
}

TEST_CASE("window: no store is lost to thousands of evictions") {
  run_with_window(kCounters * kWords, window_of(4), counters_evicted);
  run_with_window(kCounters * kWords, window_of(4, true), counters_evicted);
}

TEST_CASE("window: a sync gives and takes what was written to other bytes of a page") {
  run_with_window(4 * kWords, window_of(4), synchronised);
}

TEST_CASE("window: a flush writes each time and keeps the pages") {
  run_with_window(kWords, window_of(4), flushed);
}

TEST_CASE("window: functions share a core with the loop if asked and leave it free afterwards") {
  MappedOptions options = window_of(4);
  options.one_core = true;
  cpu_set_t before, after;
  ::sched_getaffinity(0, sizeof before, &before);
  run_with_window(50 * kWords, options, on_one_core);
  ::sched_getaffinity(0, sizeof after, &after);
  CHECK(CPU_EQUAL(&before, &after));
}

TEST_CASE("window: functions run on other threads and their exceptions come back") {
  run_with_window(kWords, window_of(4), functions);
}

TEST_CASE("window: readers in order are told from others and have batches fetched ahead") {
  struct Step {
    std::uint64_t page, first, count;
  };
  // From 102 on marks, which end a batch each; 104 and 9 are none.
  constexpr Step kSteps[] = {{100, 0, 0}, {7, 0, 0},     {101, 102, 1}, {102, 103, 2}, {103, 105, 4}, {104, 0, 0},
                             {9, 0, 0},   {105, 109, 4}, {8, 9, 1},     {109, 113, 4}, {117, 118, 4}, {200, 0, 0}};
  storage::FaultStreams streams(8);
  for (const Step& step : kSteps) {
    CAPTURE(step.page);
    const storage::FaultStreams::Pages pages = streams.fault(step.page);
    CHECK(pages.count == step.count);
    if (step.count > 0) CHECK(pages.first == step.first);
  }
  storage::FaultStreams never(0);
  for (std::uint64_t page = 0; page < 8; ++page) CHECK(never.fault(page).count == 0);
}

}  // namespace mapped_segment_test
