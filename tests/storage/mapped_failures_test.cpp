// MappedSegment: pages that can't be had, and everything else that its users must not wait for.
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
#include <cerrno>
#include <coracle/mapped.hpp>
#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "storage/segment/paged_segment.hpp"
#include "tests/allocations.hpp"
#include "tests/storage/mapped_job.hpp"

namespace mapped_failures_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;

namespace {

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

/// Pages full of one word each, unlike what else a file holds.
Words numbered_pages(std::size_t count) {
  Words words(count * kWords);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = 0x1234567800000000 + i / kWords;
  return words;
}

/// A new segment that holds these bytes, and is closed again.
Task<> write_segment(Rank& self, const PagedOptions& options, std::span<const std::byte> bytes) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  co_await segment.put(0, bytes);
  co_await segment.close();
}

Task<> page_damaged(Rank& self) {
  const SignalsCaught caught;
  const TemporaryFolder folder;
  const PagedOptions options = options_of(folder, 20 * kPage);
  Words words = numbered_pages(20);
  const auto source = bytes_of(words);
  co_await write_segment(self, options, source);
  REQUIRE(damage(options.path + ".0", words[7 * kWords]));

  PagedSegment segment = co_await PagedSegment::open(self.world(), options);
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
  Words words = numbered_pages(80);
  const auto source = bytes_of(words);
  co_await write_segment(self, options, source);
  PagedSegment segment = co_await PagedSegment::open(self.world(), options);
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
    const coracle::internals::test::AllocationsFail fail(kMiddlePage);
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
  if (!coracle::internals::test::allocations_are_counted()) {
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
  bool is_forbidden = false;
  std::thread([&] {  // the filter ends with the thread
    is_forbidden = forbid(SYS_userfaultfd, SYS_userfaultfd, EPERM);
    support = storage::probe_userfaultfd();
    if (!is_forbidden && support.available) return;
    Job job;
    job.run(refused(job.self, code, text));
  })
      .join();
  if (!is_forbidden && support.available) {
    MESSAGE("SKIPPED: the kernel takes no filter of system calls (seccomp)");
    return;
  }
  CHECK(!support.available);
  CHECK(code == make_error_code(Errc::unsupported));
  CHECK(!support.remedy.empty());
  CHECK(text.find(support.reason) != std::string::npos);
  CHECK(text.find(support.remedy) != std::string::npos);
}

}  // namespace mapped_failures_test
