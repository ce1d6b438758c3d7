// A process that writes, flushes and checkpoints is killed at a random moment; what it had been told to be durable is
// there. CORACLE_STORE_KILLS: how often, 20 unless it says otherwise.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/scope.hpp"
#include "storage/store/aligned_buffer.hpp"
#include "storage/store/page_store.hpp"
#include "tests/runtime/io_fixture.hpp"
#include "tests/storage/temporary_folder.hpp"

namespace store_kill_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::storage;

namespace {

constexpr std::uint64_t kPages = 48;
constexpr std::uint64_t kWriters = 3;

/// What the child says before and after each step, in the order in which it happens.
struct Word {
  enum Kind : std::uint64_t { writing, written, flushing, flushed, checkpointing, checkpointed };
  Kind kind;
  std::uint64_t what;    // page, flush or epoch
  std::uint64_t number;  // of the page's content
};

void fill(std::span<std::byte> bytes, std::uint64_t number) {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = number + i * 0x9e3779b97f4a7c15;
    std::memcpy(bytes.data() + i, &word, 8);
  }
}

// --- the child

struct Child {
  Io& io;
  int out;
  std::mt19937_64 random;
  std::unique_ptr<PageStore> store;
  std::uint64_t next_number;
  std::uint64_t flushes = 0;

  void say(Word::Kind kind, std::uint64_t what, std::uint64_t number = 0) const {
    const Word word{kind, what, number};
    if (::write(out, &word, sizeof word) != sizeof word) ::_exit(3);
  }
};

Task<> write_pages(Child& child, std::uint64_t first) {
  AlignedBuffer buffer(child.store->shape().page_bytes);
  for (std::uint64_t i = child.random() % 40; i > 0; --i) {
    const std::uint64_t page = first + child.random() % (kPages / kWriters) * kWriters;
    const std::uint64_t number = child.next_number++;
    fill(buffer.span(), number);
    child.say(Word::writing, page, number);
    co_await child.store->write(page, buffer.span());
    child.say(Word::written, page, number);
  }
}
Task<> flush_at_times(Child& child) {
  for (std::uint64_t i = child.random() % 4; i > 0; --i) {
    for (std::uint64_t turns = child.random() % 30; turns > 0; --turns) co_await turn();
    const std::uint64_t flush = child.flushes++;
    child.say(Word::flushing, flush);
    co_await child.store->flush();
    child.say(Word::flushed, flush);
  }
}
Task<> phase(Scope& scope, Child& child) {
  for (std::uint64_t i = 0; i < kWriters; ++i) scope.spawn(write_pages(child, i));
  scope.spawn(flush_at_times(child));
  scope.spawn(flush_at_times(child));
  co_return;
}
Task<> work_until_killed(Child& child, std::string path, std::uint64_t epoch) {
  child.store = co_await PageStore::open(child.io, path);
  for (;;) {
    co_await with_scope(phase, std::ref(child));
    if (child.random() % 3 != 0) continue;
    child.say(Word::checkpointing, ++epoch);
    co_await child.store->checkpoint("kept", epoch);
    child.say(Word::checkpointed, epoch);
    if (child.random() % 2 == 0) child.store->confirm(epoch);
  }
}

// --- the parent

struct Model {
  using Numbers = std::vector<std::uint64_t>;
  std::vector<Numbers> attempted = std::vector<Numbers>(kPages, Numbers{0});
  std::vector<std::size_t> floor = std::vector<std::size_t>(kPages, 0);
  std::vector<std::size_t> written = std::vector<std::size_t>(kPages, 0);
  std::map<std::uint64_t, std::vector<std::size_t>> flushes;
  std::map<std::uint64_t, Numbers> checkpoints;
  std::uint64_t completed = 0;
  std::uint64_t last_epoch = 0;
  std::uint64_t next_number = 1;

  void hear(const Word& word) {
    switch (word.kind) {
      case Word::writing:
        attempted[word.what].push_back(word.number);
        next_number = std::max(next_number, word.number + 1);
        break;
      case Word::written:
        written[word.what] = attempted[word.what].size() - 1;
        break;
      case Word::flushing:
        flushes[word.what] = written;
        break;
      case Word::flushed:
        raise(flushes[word.what]);
        break;
      case Word::checkpointing:
        last_epoch = word.what;
        for (std::uint64_t page = 0; page < kPages; ++page)
          checkpoints[word.what].push_back(attempted[page][written[page]]);
        break;
      case Word::checkpointed:
        completed = word.what;
        raise(written);
        break;
    }
  }
  void raise(const std::vector<std::size_t>& to) {
    for (std::uint64_t page = 0; page < kPages; ++page) floor[page] = std::max(floor[page], to[page]);
  }
};

Task<std::uint64_t> read_number(PageStore& store, std::uint64_t page) {
  AlignedBuffer buffer(store.shape().page_bytes);
  co_await store.read(page, buffer.span());
  std::uint64_t number = 0;
  std::memcpy(&number, buffer.data(), sizeof number);
  AlignedBuffer wanted(buffer.size());
  if (number != 0) fill(wanted.span(), number);
  CHECK(std::memcmp(buffer.data(), wanted.data(), buffer.size()) == 0);
  co_return number;
}

Task<> make(Io& io, std::string path, std::uint32_t page_bytes) {
  StoreShape shape;
  shape.page_bytes = page_bytes;
  shape.pages = kPages;
  auto store = co_await PageStore::create(io, path, shape, true);
  co_await store->close();
}

Task<> compare(Io& io, std::string path, Model& model) {
  const StoreReport report = co_await check_store(io, path);
  for (const StoreFault& fault : report.faults) FAIL_CHECK(fault.page, ": ", fault.what);
  if (model.completed != 0) CHECK(report.checkpoints.back().epoch >= model.completed);
  for (const CheckpointInfo& each : report.checkpoints) {
    auto store = co_await PageStore::open(io, path, each.epoch);
    for (std::uint64_t page = 0; page < kPages; ++page) {
      const std::uint64_t number = co_await read_number(*store, page);
      CHECK(number == model.checkpoints[each.epoch][page]);
    }
    co_await store->close();
  }
  auto store = co_await PageStore::open(io, path);
  for (std::uint64_t page = 0; page < kPages; ++page) {
    CAPTURE(page);
    auto& numbers = model.attempted[page];
    const std::uint64_t number = co_await read_number(*store, page);
    CHECK(std::find(numbers.begin() + static_cast<std::ptrdiff_t>(model.floor[page]), numbers.end(), number) !=
          numbers.end());
    numbers = {number};
    model.floor[page] = model.written[page] = 0;
  }
  co_await store->close();
}

/// Reads what the child says, kills it at a random moment, and reads the rest.
void kill_and_hear(pid_t child, int from, std::mt19937_64& random, Model& model) {
  using Clock = std::chrono::steady_clock;
  const std::uint64_t words = random() % 400;
  const auto latest = Clock::now() + std::chrono::seconds(20);
  std::uint64_t heard = 0;
  bool killed = false;
  for (Word word{};;) {
    if (!killed && (heard >= words || Clock::now() > latest)) {
      ::usleep(static_cast<useconds_t>(random() % 2000));
      ::kill(child, SIGKILL);
      killed = true;
    }
    pollfd ready{from, POLLIN, 0};
    if (::poll(&ready, 1, 1000) == 0) continue;
    const ssize_t count = ::read(from, &word, sizeof word);
    if (count == 0) break;
    REQUIRE(count == sizeof word);
    model.hear(word);
    ++heard;
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
}

void one_round(const std::string& path, std::uint64_t seed, Model& model) {
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  model.flushes.clear();
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::close(ends[0]);
    EventLoop loop;
    Child self{loop.io(), ends[1], std::mt19937_64(seed + 1), nullptr, model.next_number, 0};
    try {
      loop.run(work_until_killed(self, path, model.last_epoch));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "the child that was to be killed: %s\n", error.what());
    }
    ::_exit(4);
  }
  ::close(ends[1]);
  kill_and_hear(child, ends[0], random, model);
  ::close(ends[0]);
  EventLoop loop;
  loop.run(compare(loop.io(), path, model));
}

}  // namespace

TEST_CASE("store: a process killed at any moment loses nothing that was flushed and harms no checkpoint") {
  const char* wanted = std::getenv("CORACLE_STORE_KILLS");
  const std::uint64_t rounds = wanted == nullptr ? 20 : std::strtoull(wanted, nullptr, 10);
  const coracle::internals::test::TemporaryFolder folder;
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  Model model;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (round % 10 == 0) {
      EventLoop loop;
      loop.run(make(loop.io(), folder.file("home.0"), round % 20 == 0 ? 4096 : 65536));
      model = Model();
    }
    one_round(folder.file("home.0"), seed + round, model);
  }
}

}  // namespace store_kill_test
