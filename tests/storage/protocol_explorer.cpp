// The protocol of a page, explored: every order in which messages, data, requests, deaths and the SSD can happen, for
// three caches. And the same with one rule broken, which must be noticed.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/sanitized.hpp"
#include "tests/storage/protocol_model.hpp"

namespace coracle::internals::storage {
namespace {

/// Hashes of the states met: 64 bits each, so that among ten million two are the same by chance once in 200,000 runs.
class Seen {
 public:
  Seen() : table_(1 << 16) {}
  std::size_t size() const { return size_; }
  /// False when it was there.
  bool add(std::uint64_t hash) {
    if (hash == 0) hash = 1;
    if (2 * size_ >= table_.size()) grow();
    std::uint64_t& place = find(hash);
    if (place == hash) return false;
    place = hash;
    ++size_;
    return true;
  }

 private:
  std::uint64_t& find(std::uint64_t hash) {
    std::size_t place = hash & (table_.size() - 1);
    while (table_[place] != 0 && table_[place] != hash) place = (place + 1) & (table_.size() - 1);
    return table_[place];
  }
  void grow() {
    std::vector<std::uint64_t> old(table_.size() * 2);
    old.swap(table_);
    for (const std::uint64_t hash : old)
      if (hash != 0) find(hash) = hash;
  }

  std::vector<std::uint64_t> table_;
  std::size_t size_ = 0;
};

/// By state, message and state after it.
struct Reached {
  bool at[kPageStates][kVerbs][kPageStates] = {};
};

void note(const World& before, const World& after, const Step& step, Reached& reached) {
  if (!step.at_cache) return;
  const auto from = static_cast<std::size_t>(before.state(step.node));
  const auto to = static_cast<std::size_t>(after.state(step.node));
  reached.at[from][static_cast<std::size_t>(step.verb)][to] = true;
}

struct Outcome {
  std::size_t states = 0;
  bool complete = false;
  std::string fault;  ///< With the steps to it.
  Reached reached;
};

/// Depth first, so that only the siblings of the present path are kept.
Outcome explore(const Bounds& bounds, std::size_t most_states) {
  struct Open {
    World world;
    std::size_t depth;
    Step step;
  };
  Seen seen;
  std::vector<Open> open = {{World(bounds), 0, {}}};
  std::vector<Step> path;
  Outcome outcome;
  while (!open.empty()) {
    const Open now = std::move(open.back());
    open.pop_back();
    path.resize(now.depth);
    if (now.depth > 0) path.back() = now.step;
    if (!now.world.fault().empty()) {
      std::string story = now.world.fault() + " after";
      for (const Step& step : path) story += "\n  " + to_string(step);
      outcome.fault = story;
      break;
    }
    if (!seen.add(now.world.fingerprint())) continue;
    if (seen.size() >= most_states) break;
    now.world.successors([&](const World& next, const Step& step) {
      note(now.world, next, step, outcome.reached);
      open.push_back({next, now.depth + 1, step});
    });
  }
  outcome.states = seen.size();
  outcome.complete = open.empty() && outcome.fault.empty();
  return outcome;
}

constexpr std::size_t kMostStates = test::kSanitized ? 20'000 : 20'000'000;

struct Run {
  const char* name;
  Bounds bounds;
};

void check_all(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    CAPTURE(run.name);
    const Outcome outcome = explore(run.bounds, kMostStates);
    INFO(outcome.fault);
    CHECK(outcome.fault.empty());
    CHECK((outcome.complete || test::kSanitized));
    MESSAGE(fmt::format("{}: {} states", run.name, outcome.states));
  }
}

}  // namespace

TEST_CASE("protocol: all orders of events keep one writer or many readers and lose no write") {
  check_all({{"any number of requests", {.requests = kWithoutEnd}},
             {"not cooperative", {.requests = kWithoutEnd, .cooperative = false}},
             {"an SSD that fails once", {.requests = kWithoutEnd, .ssd_failures = 1}}});
}

TEST_CASE("protocol: the same when a cache dies at any moment") {
  check_all({{"a death", {.requests = kWithoutEnd, .deaths = 1}},
             {"a death, not cooperative", {.requests = kWithoutEnd, .deaths = 1, .cooperative = false}},
             {"a death and an SSD that fails once", {.requests = kWithoutEnd, .deaths = 1, .ssd_failures = 1}},
             {"two deaths", {.requests = kWithoutEnd, .deaths = 2}}});
}

TEST_CASE("protocol: breaking a rule is noticed") {
  struct Planted {
    Broken rule;
    const char* name;
    Bounds bounds;
  };
  const std::vector<Planted> planted = {
      {Broken::wait_instead_of_nack, "wait instead of nack", {.requests = 2, .warm = true}},
      {Broken::drop_before_put_ack, "drop before put-ack", {.requests = 2}},
      {Broken::take_stale_put, "take a stale put", {.requests = 2}},
      {Broken::next_before_done, "next transaction before done", {.requests = 2}},
      {Broken::grant_before_acks, "grant before acks", {.requests = 2}},
      {Broken::trust_sharers, "trust the list of sharers", {.requests = 2, .warm = true}},
      {Broken::hide_lost_source, "hide a lost source", {.requests = 1, .deaths = 1, .warm = true}},
      {Broken::take_late_data, "take late data", {.requests = 2, .deaths = 1, .warm = true}},
      {Broken::forget_dead_exclusive, "forget a dead requester's source", {.requests = 2, .deaths = 1}},
      {Broken::forget_dead_owner, "forget a dead owner", {.requests = 2, .deaths = 1, .warm = true}},
      {Broken::forget_dead_writer, "forget a dead writer", {.requests = 2, .deaths = 1}},
      {Broken::forget_popped_sharer, "forget who forwarded", {.requests = 2, .warm = true}},
      {Broken::acknowledge_failed_put, "acknowledge a failed put", {.requests = 2, .ssd_failures = 1, .warm = true}},
  };
  for (const Planted& one : planted) {
    CAPTURE(one.name);
    Bounds bounds = one.bounds;
    bounds.broken = one.rule;
    const Outcome outcome = explore(bounds, 20'000'000);
    CHECK_FALSE(outcome.fault.empty());
    MESSAGE(fmt::format("{}: after {} states: {}", one.name, outcome.states,
                        outcome.fault.substr(0, outcome.fault.find('\n'))));
  }
}

// storage-tests -ns -tc="protocol: the table*"
TEST_CASE("protocol: the table for the documentation" * doctest::skip()) {
  const Outcome outcome = explore({.requests = kWithoutEnd, .deaths = 1, .ssd_failures = 1}, kMostStates);
  for (std::size_t from = 0; from < kPageStates; ++from)
    for (std::size_t verb = 0; verb < kVerbs; ++verb)
      for (std::size_t to = 0; to < kPageStates; ++to)
        if (outcome.reached.at[from][verb][to])
          fmt::print("{} {} {}\n", to_string(static_cast<PageState>(from)), to_string(static_cast<Verb>(verb)),
                     to_string(static_cast<PageState>(to)));
}

}  // namespace coracle::internals::storage
