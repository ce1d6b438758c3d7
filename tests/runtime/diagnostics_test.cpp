// Crashes and hangs explain themselves. Each case runs in a child process, whose standard error is read.
#include "runtime/job/diagnostics.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <latch>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/core/task.hpp"

namespace diagnostics_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

struct Ended {
  int status = 0;
  std::string text;
};

/// Runs `body` in a forked child that then exits with 0; returns its wait status and what it wrote to standard error.
Ended in_child(const std::function<void()>& body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::fflush(nullptr);  // or the child may write it once more
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    // doctest and the sanitizers are not to see this child's crash.
    for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS, SIGUSR1}) ::signal(signal, SIG_DFL);
    ::dup2(ends[1], STDERR_FILENO);
    ::alarm(60);
    body();
    ::_exit(0);
  }
  ::close(ends[1]);
  Ended ended;
  char buffer[4096];
  for (ssize_t bytes; (bytes = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    ended.text.append(buffer, static_cast<std::size_t>(bytes));
  ::close(ends[0]);
  ::waitpid(pid, &ended.status, 0);
  return ended;
}

/// A block that parent and child share, as a launcher and its rank do.
class SharedBlock {
 public:
  SharedBlock() {
    void* memory = ::mmap(nullptr, sizeof(RankBlock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    block_ = new (memory) RankBlock;
  }
  ~SharedBlock() { ::munmap(block_, sizeof(RankBlock)); }
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;
  RankBlock* get() const { return block_; }
  std::string crash_text() const {
    return {block_->crash_text.data(), block_->crash_bytes.load(std::memory_order_acquire)};  // pairs with the handler
  }

 private:
  RankBlock* block_;
};

Task<> wait_for(Event& event) {
  co_await event;
}

Task<> ask_and_end(std::function<void()> ask, Event& event) {
  co_await yield();
  ask();
  event.set();
}

Task<> two_deep(Event& event) {
  co_await wait_for(event);
}

/// Two waits; then `ask` is called, and both end.
Task<> hang(std::function<void()> ask) {
  Event event;
  PromiseBase& self = co_await this_coroutine();
  Scope scope(self.loop(), &self.scope());
  scope.spawn(two_deep(event));
  scope.spawn(ask_and_end(ask, event));
  co_await scope.join();
}

Task<> crash(bool damaged) {
  PromiseBase& self = co_await this_coroutine();
  // Of the caller's promise what names its loop, which is the second word.
  if (damaged) reinterpret_cast<volatile std::uintptr_t*>(self.parent())[1] = 8;  // NOLINT: damage is wanted
  std::abort();
}

Task<> crash_below(bool damaged) {
  co_await yield();
  co_await crash(damaged);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("diagnostics: a crash without a launcher is described on standard error") {
  const Ended ended = in_child([] {
    Diagnostics diagnostics;
    EventLoop loop;
    Diagnostics::Registration watch(0, nullptr, loop);
    ::raise(SIGSEGV);
  });
  REQUIRE(WIFSIGNALED(ended.status));
  CHECK(WTERMSIG(ended.status) == SIGSEGV);
  CHECK(contains(ended.text, "coracle: rank 0 (pid "));
  CHECK(contains(ended.text, "crashed: SIGSEGV"));
  CHECK(contains(ended.text, "\n  at "));
}

TEST_CASE("diagnostics: the report of a crash tells who awaits the coroutine, and nothing behind damage") {
  const auto crash_in = [](bool damaged) {
    return in_child([damaged] {
      Diagnostics diagnostics;
      EventLoop loop;
      Diagnostics::Registration watch(0, nullptr, loop);
      loop.run(crash_below(damaged));
    });
  };
  const Ended ended = crash_in(false);
  CHECK(WIFSIGNALED(ended.status));
  CHECK(contains(ended.text, "\nin diagnostics_test.cpp:"));
  CHECK(contains(ended.text, " <- main task\n  at "));
  const Ended damaged = crash_in(true);
  CHECK(WIFSIGNALED(damaged.status));
  CHECK(contains(damaged.text, "crashed: SIGABRT"));
  CHECK(contains(damaged.text, " <- ...\n  at "));
}

TEST_CASE("diagnostics: a launched rank leaves signal, address and backtrace to its launcher") {
  SharedBlock block;
  const Ended ended = in_child([&block] {
    Diagnostics diagnostics;
    EventLoop loop;
    Diagnostics::Registration watch(7, block.get(), loop);
    volatile auto address = std::uintptr_t{16};
    *reinterpret_cast<volatile int*>(address) = 1;  // NOLINT: the crash is wanted
  });
  REQUIRE(WIFSIGNALED(ended.status));
  CHECK(WTERMSIG(ended.status) == SIGSEGV);
  CHECK(contains(block.crash_text(), "SIGSEGV (address 0x10, not mapped)\n"));
  CHECK(count_of(block.crash_text(), "\n  at ") >= 3);
  // Nothing else, but for the word of an emulator.
  CHECK((ended.text.empty() || ended.text.rfind("qemu: uncaught target signal", 0) == 0));
}

namespace {

/// A sanitizer would look at the function before it is called, and crash on its own.
__attribute__((no_sanitize("undefined"))) void call_nowhere() {
  void (*volatile nowhere)() = nullptr;
  nowhere();
}

}  // namespace

TEST_CASE("diagnostics: of a call to nowhere the report names the caller") {
  SharedBlock block;
  const Ended ended = in_child([&block] {
    Diagnostics diagnostics;
    EventLoop loop;
    Diagnostics::Registration watch(7, block.get(), loop);
    call_nowhere();
  });
  REQUIRE(WIFSIGNALED(ended.status));
  CHECK(WTERMSIG(ended.status) == SIGSEGV);
  const std::string text = block.crash_text();
  CHECK_MESSAGE(contains(text, "\n  at ? 0x0 ?\n  at "), text);
  CHECK_MESSAGE(count_of(text, "\n  at ? ") == 1, text);  // in which file the caller is can be told
}

TEST_CASE("diagnostics: an uncaught exception's text is in the report") {
  SharedBlock block;
  const Ended ended = in_child([&block] {
    Diagnostics diagnostics;
    EventLoop loop;
    Diagnostics::Registration watch(2, block.get(), loop);
    std::thread([] { throw std::runtime_error("the sky is falling"); }).join();
  });
  REQUIRE(WIFSIGNALED(ended.status));
  CHECK(WTERMSIG(ended.status) == SIGABRT);
  CHECK(contains(block.crash_text(), "uncaught exception: std::runtime_error: the sky is falling\n"));
}

TEST_CASE("diagnostics: SIGUSR1 tells what each coroutine awaits, and the program goes on") {
  SharedBlock block;
  const Ended ended = in_child([&block] {
    Diagnostics diagnostics;
    EventLoop loop;
    Diagnostics::Registration watch(3, block.get(), loop);
    loop.run(hang([] { ::kill(::getpid(), SIGUSR1); }));
  });
  CHECK(ended.status == 0);
  CHECK(block.get()->reports.load() == 1);
  CHECK(contains(ended.text, "rank 3: 2 waits\n"));
  CHECK(contains(ended.text, "  event, for 0."));
  CHECK(contains(ended.text, "at diagnostics_test.cpp:"));
  CHECK(contains(ended.text, " <- a task spawned in a scope\n"));
  CHECK(contains(ended.text, "  children, for 0."));
  CHECK(contains(ended.text, "    in main task\n"));
}

TEST_CASE("diagnostics: one SIGUSR1 to the process makes every rank's thread report") {
  const Ended ended = in_child([] {
    Diagnostics diagnostics;
    std::latch all_run(4);
    std::latch all_asked(1);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank) {
      threads.emplace_back([rank, &all_run, &all_asked] {
        EventLoop loop;
        Diagnostics::Registration watch(rank, nullptr, loop);
        loop.run(hang([&all_run, &all_asked] {
          all_run.arrive_and_wait();
          all_asked.wait();
        }));
      });
    }
    all_run.arrive_and_wait();
    ::kill(::getpid(), SIGUSR1);
    all_asked.count_down();
    for (std::thread& thread : threads) thread.join();
  });
  CHECK(ended.status == 0);
  for (const char* rank : {"rank 0: 2 waits\n", "rank 1: 2 waits\n", "rank 2: 2 waits\n"})
    CHECK(count_of(ended.text, rank) == 1);
}

TEST_CASE("diagnostics: whoever has not answered what it awaits is asked where it runs, and says nothing aloud") {
  std::array<SharedBlock, 2> blocks;
  constexpr std::size_t kAnswered = 1;
  for (const SharedBlock& block : blocks) block.get()->waits.asked.store(3);
  blocks[kAnswered].get()->waits.answered.store(3);
  const Ended ended = in_child([&blocks] {
    Diagnostics diagnostics;
    std::latch ready(3);
    std::atomic<bool> over{false};
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 2; ++rank)
      ranks.emplace_back([&, rank] {
        EventLoop loop;
        Diagnostics::Registration watch(rank, blocks[static_cast<std::size_t>(rank)].get(), loop);
        ready.arrive_and_wait();
        while (!over.load()) continue;
      });
    ready.arrive_and_wait();
    sigval value{};
    value.sival_int = Diagnostics::kWhereOnly;
    ::sigqueue(::getpid(), SIGUSR1, value);
    while (blocks[0].get()->running_bytes.load() == 0) ::usleep(1000);
    over = true;
    for (std::thread& rank : ranks) rank.join();
  });
  CHECK(ended.status == 0);
  CHECK(ended.text.empty());
  const RankBlock& told = *blocks[0].get();
  CHECK(
      std::string_view(told.crash_text.data(), told.running_bytes.load()).starts_with("rank 0 is running at:\n  at "));
  CHECK(blocks[kAnswered].get()->running_bytes.load() == 0);
}

TEST_CASE("diagnostics: a thread of many ranks groups their waits") {
  const Ended ended = in_child([] {
    constexpr int kRanks = 100;
    Diagnostics diagnostics;
    std::vector<std::unique_ptr<EventLoop>> loops;
    std::vector<std::unique_ptr<Diagnostics::Registration>> watches;
    Event event;
    for (int rank = 0; rank < kRanks; ++rank) {
      loops.push_back(std::make_unique<EventLoop>());
      watches.push_back(std::make_unique<Diagnostics::Registration>(rank, nullptr, *loops.back()));
      loops.back()->root_scope().spawn(two_deep(event));
    }
    ::kill(::getpid(), SIGUSR1);
    event.set();
    for (auto& loop : loops) loop->turn();
  });
  CHECK(ended.status == 0);
  CHECK(count_of(ended.text, ": 1 wait\n") == 32);
  CHECK(contains(ended.text, "all 100 ranks of this thread:\n  100 x event at diagnostics_test.cpp:"));
}

}  // namespace diagnostics_test
