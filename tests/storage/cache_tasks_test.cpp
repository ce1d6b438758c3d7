// CacheTasks: what its tasks keep alive, and for how long.
#include "storage/pages/cache_tasks.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "tests/lone_rank.hpp"

namespace cache_tasks_test {

using coracle::Task;
using coracle::internals::Rank;
using coracle::internals::yield;
using coracle::internals::storage::CacheTasks;

namespace {

struct Cache {
  Cache(Rank& rank, bool& is_alive) : tasks(rank), alive(is_alive) { alive = true; }
  ~Cache() { alive = false; }
  CacheTasks tasks;
  bool& alive;
};

/// As a page's buffer, which goes back to its cache.
struct Buffer {
  Buffer(const bool& is_alive, bool& too_late) : alive(&is_alive), outlives(&too_late) {}
  Buffer(Buffer&& other) noexcept : alive(std::exchange(other.alive, nullptr)), outlives(other.outlives) {}
  ~Buffer() {
    if (alive != nullptr && !*alive) *outlives = true;
  }
  const bool* alive;
  bool* outlives;
};

Task<> send([[maybe_unused]] Buffer page) {
  co_await yield();
}

}  // namespace

TEST_CASE("cache tasks: what a task holds is gone before the cache that it keeps alive") {
  coracle::internals::test::LoneRank job;
  bool alive = false;
  bool outlives = false;
  job.loop.run([](Rank& self, bool& is_alive, bool& too_late) -> Task<> {
    auto cache = std::make_shared<Cache>(self, is_alive);
    cache->tasks.begin(cache);
    cache->tasks.spawn(send(Buffer(is_alive, too_late)));
    cache.reset();
    CHECK(is_alive);
    while (is_alive) co_await yield();
  }(job.self, alive, outlives));
  CHECK_FALSE(alive);
  CHECK_FALSE(outlives);
}

}  // namespace cache_tasks_test
