// MappedSegment: ordinary loads and stores by several threads, through windows much smaller than the segment.
#include "storage/mapped_segment.hpp"

#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/thread_sanitizer.hpp"
#include "storage/fault_streams.hpp"
#include "storage/paged_segment.hpp"
#include "tests/allocations.hpp"
#include "tests/lone_rank.hpp"
#include "tests/sanitized.hpp"
#include "tests/storage/temporary_folder.hpp"

using namespace coracle;
using coracle::test::LoneRank;
using coracle::test::TemporaryFolder;

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kWords = kPage / 8;
using Words = std::vector<std::uint64_t>;

/// A job of one rank with room for a cache.
struct Job {
  Job() { connect_transports(self); }
  static JobShape shape() {
    JobShape shape = LoneRank::shape();
    shape.segment_bytes = 16 << 20;
    return shape;
  }
  /// As a program's end: what serves peers ends, too.
  static Task<> whole(Rank& self, Task<> body) {
    const std::exception_ptr error = co_await as_exception(std::move(body));
    self.service().cancel();
    co_await join_quietly(self.service());
    if (error) std::rethrow_exception(error);
  }
  static Task<std::exception_ptr> as_exception(Task<> body) {
    std::exception_ptr error;
    try {
      co_await body;
    } catch (...) {
      error = std::current_exception();
    }
    co_return error;
  }
  void run(Task<> body) { loop.run(whole(self, std::move(body))); }

  const JobRegion region = JobRegion::create(shape(), JobRegion::Backing::anonymous);
  EventLoop loop;
  Rank self{region, 0, loop};
};

bool available() {
#ifdef CORACLE_THREAD_SANITIZER
  MESSAGE("SKIPPED: ThreadSanitizer can't see that write protection orders a thread's stores before the loop's reads");
  return false;
#endif
  const IoSupport support = storage::probe_userfaultfd();
  if (!support.available) MESSAGE("SKIPPED: " << support.reason);
  return support.available;
}

constexpr std::size_t kMiddlePage = 64 << 10;
constexpr std::size_t kHugePage = 2 << 20;

PagedOptions options_of(const TemporaryFolder& folder, std::uint64_t bytes, std::size_t page_bytes = kPage) {
  PagedOptions options;
  options.path = folder.file("mapped");
  options.bytes = bytes;
  options.page_bytes = page_bytes;
  options.cache_bytes = (page_bytes == kHugePage ? 4 : 16) * page_bytes;
  options.replace = true;
  return options;
}

MappedOptions window_of(std::size_t pages, bool whole_pages = false, std::size_t page_bytes = kPage) {
  MappedOptions options;
  options.window_bytes = pages * page_bytes;
  options.whole_pages = whole_pages;
  return options;
}

std::span<std::byte> bytes_of(Words& words) {
  return std::as_writable_bytes(std::span(words));
}

/// Runs `body(rank, segment, window)` on a new segment of so many words.
template <class Body>
Task<> with_window(Rank& self, std::uint64_t words, MappedOptions mapped, Body body, std::size_t page_bytes) {
  const TemporaryFolder folder;
  PagedSegment segment = co_await PagedSegment::create(self.world(), options_of(folder, words * 8, page_bytes));
  MappedSegment window = co_await MappedSegment::map(self, segment, mapped);
  co_await body(self, segment, window);
  co_await window.unmap();
  co_await segment.close();
}

template <class Body>
void run_with_window(std::uint64_t words, MappedOptions mapped, Body body, std::size_t page_bytes = kPage) {
  if (!available()) return;
  Job job;
  job.run(with_window(job.self, words, mapped, body, page_bytes));
}

Task<Words> content_of(PagedSegment& segment) {
  Words words(segment.bytes() / 8);
  const auto target = bytes_of(words);
  co_await segment.get(0, target);
  co_return words;
}

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
  const std::size_t steps = ::test::kSanitized ? 300 : 1000;
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

Task<> loads_only(Rank&, PagedSegment& segment, MappedSegment& window) {
  Words words(segment.bytes() / 8);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i * 7 + 1;
  const auto source = bytes_of(words);
  co_await segment.put(0, source);
  const auto view = window.as<const std::uint64_t>();
  for (int pass = 0; pass < 2; ++pass) {
    const bool same = co_await window.run([&] { return std::equal(view.begin(), view.end(), words.begin()); });
    CHECK(same);
  }
  CHECK(window.counts().written_back == 0);
  CHECK(window.counts().read_ahead > segment.pages() / 4);
  CHECK(window.counts().fetched >= 2 * segment.pages() - 8);
}

/// A store, too, may be what comes first to a page that was read ahead.
Task<> every_kind_in_order(Rank&, PagedSegment& segment, MappedSegment& window) {
  Words words(segment.bytes() / 8);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i * 7 + 1;
  const auto source = bytes_of(words);
  co_await segment.put(0, source);
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
  CHECK(window.counts().read_ahead > 0);
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
  const std::size_t rounds = ::test::kSanitized ? 500 : segment.page_bytes() == kPage ? 3000 : 1000;
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

// --- pages that can't be had ---

thread_local sigjmp_buf jump;  // NOLINT: of the test's own signal handler

void leap(int signal) {
  ::siglongjmp(jump, signal);
}

/// The signal that loading this byte gives; 0: none.
int signal_of_load(const std::byte* place) {
  const int signal = sigsetjmp(jump, 1);
  if (signal == 0) {
    const volatile std::byte* watched = place;
    static_cast<void>(*watched);
  }
  return signal;
}
int signal_of_store(std::byte* place) {
  const int signal = sigsetjmp(jump, 1);
  if (signal == 0) *static_cast<volatile std::byte*>(place) = std::byte{9};
  return signal;
}

struct SignalsCaught {
  SignalsCaught() {
    struct sigaction action {};
    action.sa_handler = leap;
    ::sigaction(SIGBUS, &action, &bus_before);
    ::sigaction(SIGSEGV, &action, &segv_before);
  }
  SignalsCaught(const SignalsCaught&) = delete;
  SignalsCaught& operator=(const SignalsCaught&) = delete;
  ~SignalsCaught() {
    ::sigaction(SIGBUS, &bus_before, nullptr);
    ::sigaction(SIGSEGV, &segv_before, nullptr);
  }
  struct sigaction bus_before;
  struct sigaction segv_before;
};

/// Changes a byte of every copy of the page that begins with this word, twice.
bool damage(const std::string& path, std::uint64_t first_word) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  Words page(kWords);
  bool found = false;
  for (std::streamoff at = 0; file.seekg(at) && file.read(reinterpret_cast<char*>(page.data()), kPage); at += kPage) {
    if (page[0] != first_word || page[1] != first_word) continue;
    file.seekp(at + 100);
    file.put('!');
    found = true;
  }
  return found;
}

Task<> page_damaged(Rank& self) {
  const SignalsCaught caught;
  const TemporaryFolder folder;
  const PagedOptions options = options_of(folder, 20 * kPage);
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  Words words(20 * kWords);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = 0x1234567800000000 + i / kWords;
  const auto source = bytes_of(words);
  co_await segment.put(0, source);
  co_await segment.close();
  REQUIRE(damage(options.path + ".0", words[7 * kWords]));

  segment = co_await PagedSegment::open(self.world(), options);
  MappedSegment window = co_await MappedSegment::map(self, segment, window_of(8));
  const std::byte* bad = window.data() + 7 * kPage + 50;
  const int signal = co_await window.run([bad] { return signal_of_load(bad); });
  CHECK((signal == SIGBUS || signal == SIGSEGV));
  CHECK(window.counts().refused == 1);
  const auto view = window.as<const std::uint64_t>();
  const std::uint64_t next = co_await window.run([view] { return view[8 * kWords]; });
  CHECK(next == words[8 * kWords]);
  const std::span<const std::byte> whole(source.data() + 7 * kPage, kPage);
  co_await segment.put(7 * kPage, whole);
  const int still = co_await window.run([bad] { return signal_of_load(bad); });
  CHECK(still == signal);
  co_await window.sync();
  const std::uint64_t mended = co_await window.run([view] { return view[7 * kWords]; });
  CHECK(mended == words[7 * kWords]);
  co_await window.unmap();
  co_await segment.close();
}

/// The stores of a page that can't be written back wait in the window until it can.
Task<> not_written_back(Rank& self) {
  const TemporaryFolder folder;
  const PagedOptions options = options_of(folder, 80 * kPage);
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  Words words(80 * kWords);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = 0x1234567800000000 + i / kWords;
  const auto source = bytes_of(words);
  co_await segment.put(0, source);
  co_await segment.close();
  segment = co_await PagedSegment::open(self.world(), options);
  MappedSegment window = co_await MappedSegment::map(self, segment, window_of(4));
  const auto view = window.as<std::uint64_t>();
  co_await window.run([view] { view[7 * kWords + 300] = 99; });
  REQUIRE(damage(options.path + ".0", words[7 * kWords]));
  for (int pass = 0; pass < 3; ++pass)  // page 7 leaves the cache
    co_await segment.get(20 * kPage, bytes_of(words).subspan(20 * kPage));

  const Result<> synced = co_await as_result(window.sync());
  CHECK(synced.code() == make_error_code(Errc::page_damaged));
  const std::uint64_t sum = co_await window.run([view] {  // through the whole window, which evicts others instead
    std::uint64_t all = 0;
    for (std::size_t page = 20; page < 80; ++page) all += view[page * kWords] & 0xffff;
    return all;
  });
  CHECK(sum == 60 * (20 + 79) / 2);
  const std::uint64_t kept = co_await window.run([view] { return view[7 * kWords + 300]; });
  CHECK(kept == 99);
  const std::span<const std::byte> whole(source.data() + 7 * kPage, kPage);
  co_await segment.put(7 * kPage, whole);
  co_await window.unmap();
  std::uint64_t seen = 0;
  co_await segment.get((7 * kWords + 300) * 8, std::as_writable_bytes(std::span(&seen, 1)));
  CHECK(seen == 99);
  co_await segment.close();
}

/// And afterwards the page is as it was, for the others.
Task<> loop_touches(Rank&, PagedSegment& segment, MappedSegment& window) {
  const SignalsCaught caught;
  const auto view = window.as<std::uint64_t>();
  CHECK(signal_of_load(window.data() + 3 * kPage) == SIGBUS);
  std::uint64_t loaded = co_await window.run([view] { return view[3 * kWords] + view[4 * kWords]; });
  CHECK(loaded == 0);
  CHECK(signal_of_store(window.data() + 4 * kPage) == SIGBUS);
  co_await window.run([view] { view[3 * kWords] = view[4 * kWords] = 5; });
  co_await window.sync();
  CHECK(signal_of_store(window.data() + 4 * kPage) == SIGBUS);
  loaded = co_await window.run([view] { return view[3 * kWords] + view[4 * kWords]; });
  CHECK(loaded == 10);
  const Words seen = co_await content_of(segment);
  CHECK(seen[4 * kWords] == 5);
}

/// The copy that is made of a page before its first store finds no memory.
Task<> no_memory_for_stores(Rank&, PagedSegment&, MappedSegment& window) {
  const SignalsCaught caught;
  const auto view = window.as<std::uint64_t>();
  constexpr std::size_t kPageWords = kMiddlePage / 8;
  std::byte* present = window.data() + 2 * kMiddlePage;
  std::byte* missing = window.data() + 3 * kMiddlePage;
  co_await window.run([view] { return view[2 * kPageWords]; });
  {
    const coracle::test::AllocationsFail fail(kMiddlePage);
    for (std::byte* place : {present, missing}) {
      const int signal = co_await window.run([place] { return signal_of_store(place); });
      CHECK((signal == SIGBUS || signal == SIGSEGV));
    }
    const std::uint64_t other = co_await window.run([view] { return view[5 * kPageWords]; });
    CHECK(other == 0);
  }
  CHECK(window.counts().refused == 2);
  co_await window.sync();
  for (std::byte* place : {present, missing}) {
    const int signal = co_await window.run([place] { return signal_of_store(place); });
    CHECK(signal == 0);
  }
}

/// The descriptor by which the kernel reports faults; -1: none.
int find_userfaultfd() {
  for (int fd = 3; fd < 1024; ++fd) {
    std::array<char, 64> name{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (::readlink(link.c_str(), name.data(), name.size() - 1) > 0 &&
        std::string(name.data()) == "anon_inode:[userfaultfd]")
      return fd;
  }
  return -1;
}

Task<> descriptor_is_lost(Rank&, PagedSegment&, MappedSegment& window) {
  co_await window.run([] {
    const int fd = find_userfaultfd();
    REQUIRE(::dup(fd) >= 0);  // else the kernel would let the window go
    ::close(fd);
  });
  const auto view = window.as<std::uint64_t>();
  co_await window.run([view] { return view[0]; });
}

/// Of this thread and those that it makes.
bool forbid(std::uint32_t call, std::uint32_t or_call, std::uint32_t error) {
  std::array<sock_filter, 5> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, or_call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{filter.size(), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

Task<> refused(Rank& self, std::error_code& code, std::string& text) {
  const TemporaryFolder folder;
  PagedSegment segment = co_await PagedSegment::create(self.world(), options_of(folder, kPage));
  try {
    const MappedSegment window = co_await MappedSegment::map(self, segment);
  } catch (const Error& error) {
    code = error.code();
    text = error.what();
  }
  co_await segment.close();
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

TEST_CASE("window: functions run on other threads and their exceptions come back") {
  run_with_window(kWords, window_of(4), functions);
}

TEST_CASE("window: a damaged page gives a signal to whoever touches it and spares the others") {
  if (!available()) return;
  Job job;
  job.run(page_damaged(job.self));
}

TEST_CASE("window: stores that can't be written back stay and are written later") {
  if (!available()) return;
  Job job;
  job.run(not_written_back(job.self));
}

TEST_CASE("window: a loop that touches its own window gets a signal instead of hanging") {
  run_with_window(8 * kWords, window_of(4), loop_touches);
}

TEST_CASE("window: without memory for a page's copy those who store to it get a signal and others go on") {
  if (!coracle::test::allocations_are_counted()) {
    MESSAGE("SKIPPED: sanitizers have an operator new of their own");
    return;
  }
  run_with_window(8 * kMiddlePage / 8, window_of(6, false, kMiddlePage), no_memory_for_stores, kMiddlePage);
}

TEST_CASE("window: a rank whose faults can't be reported any more ends instead of hanging") {
  if (!available()) return;
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGABRT, SIG_DFL);
    ::alarm(20);
    run_with_window(8 * kWords, window_of(4), descriptor_is_lost);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
}

TEST_CASE("window: where no thread can be had the reason is told") {
  if (!available()) return;
  std::error_code code;
  std::string text;
  std::thread([&] {  // the filter ends with the thread
    Job job;
    if (forbid(SYS_clone, SYS_clone3, EAGAIN)) job.run(refused(job.self, code, text));
  })
      .join();
  CHECK(code == std::errc::resource_unavailable_try_again);
  CHECK(text.find("ulimit -u") != std::string::npos);
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

TEST_CASE("window: pages are refused also where the kernel can't poison them") {
  if (!available()) return;
  const SignalsCaught caught;
  using storage::Userfault;
  for (const auto refusal : {Userfault::Refusal::poison, Userfault::Refusal::inaccessible}) {
    Userfault faults(4 * kPage, refusal);
    const std::vector<std::byte> ones(kPage, std::byte{1});
    CHECK(faults.refuse(kPage, kPage) == 0);
    CHECK(faults.fill(0, ones.data(), kPage, true) == 0);
    CHECK(signal_of_load(faults.data() + kPage) != 0);
    CHECK(signal_of_load(faults.data()) == 0);
    faults.allow(kPage, kPage);
    CHECK(faults.fill(kPage, ones.data(), kPage, false) == 0);
    CHECK(signal_of_load(faults.data() + kPage) == 0);
  }
}

TEST_CASE("window: where the kernel refuses userfaultfd the reason is told") {
  std::error_code code;
  std::string text;
  IoSupport support{"", true, "", ""};
  std::thread([&] {  // the filter ends with the thread
    if (!forbid(SYS_userfaultfd, SYS_userfaultfd, EPERM)) return;
    support = storage::probe_userfaultfd();
    Job job;
    job.run(refused(job.self, code, text));
  })
      .join();
  CHECK(!support.available);
  CHECK(code == make_error_code(Errc::unsupported));
  CHECK(!support.remedy.empty());
  CHECK(text.find(support.reason) != std::string::npos);
  CHECK(text.find(support.remedy) != std::string::npos);
}
