// The plan of a run follows from its seed, so that every member knows what each of the others sends.
#include "tests/messages/traffic.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "transports/sim/schedule.hpp"

namespace coracle::internals::test {
namespace {

using sim::Random;

constexpr std::uint64_t kTags = 3;

struct Planned {
  std::uint64_t tag;
  std::size_t bytes;
};

/// What one member sends to another, in this order.
std::vector<Planned> plan(const TrafficOptions& options, std::uint32_t from, std::uint32_t to) {
  constexpr std::size_t kSizes[] = {0, 1, 8, 100, 513, 4000, 8192, 8193, 30'000};
  Random random(Random::mix(options.seed) ^ Random::mix((std::uint64_t{from} << 32 | to) + 1));
  std::vector<Planned> messages(options.messages);
  for (Planned& message : messages) message = {random.below(kTags), kSizes[random.below(std::size(kSizes))]};
  return messages;
}

std::byte pattern(std::uint32_t from, std::uint32_t to, std::size_t number, std::size_t place) {
  return static_cast<std::byte>(from * 89 + to * 31 + number * 7 + place * 3 + place / 251);
}

Task<> send_all(Team& team, TrafficOptions options, std::uint32_t to) {
  Random random(options.seed * 77 + team.index() * 1000 + to);
  const std::vector<Planned> messages = plan(options, team.index(), to);
  std::vector<std::vector<std::byte>> buffers(messages.size());
  std::vector<Started<>> sends;
  sends.reserve(messages.size());
  for (std::size_t number = 0; number < messages.size(); ++number) {
    buffers[number].resize(messages[number].bytes);
    for (std::size_t i = 0; i < messages[number].bytes; ++i) buffers[number][i] = pattern(team.index(), to, number, i);
    if (options.sleeps && random.below(4) == 0) co_await sleep_for(std::chrono::nanoseconds(random.below(20'000)));
    sends.push_back(start(team.rank(), team.send(buffers[number], to, messages[number].tag)));
  }
  for (Started<>& send : sends) co_await send.done();
}

/// A receive, and in the end what it got.
struct Receive {
  std::uint32_t from;
  std::uint64_t tag;
  std::vector<std::byte> buffer;
  Received received{};
  std::size_t number = 0;  ///< Of the message among those of its sender.
};

/// For all that will come: first those of one source and tag, then those that leave something open. A receive that
/// leaves more open than one before it can take nothing from that: so all of them end.
std::deque<Receive> receives(const Team& team, const TrafficOptions& options) {
  Random random(options.seed * 31 + team.index());
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> left;
  for (std::uint32_t from = 0; from < team.size(); ++from)
    for (const Planned& message : plan(options, from, team.index())) ++left[{from, message.tag}];
  std::deque<Receive> exact;
  std::deque<Receive> open;
  std::size_t rest = 0;
  const bool open_tags = random.below(2) == 0;
  std::map<std::uint64_t, std::size_t> of_group;  // by source, or by tag
  for (const auto& [key, count] : left) {
    for (std::size_t i = 0; i < count; ++i) {
      if (random.below(2) == 0)
        exact.push_back({key.first, key.second, {}});
      else
        ++of_group[open_tags ? key.first : key.second];
    }
  }
  for (const auto& [group, count] : of_group) {
    for (std::size_t i = 0; i < count; ++i) {
      if (random.below(3) == 0)
        ++rest;
      else if (open_tags)
        open.push_back({static_cast<std::uint32_t>(group), kAnyTag, {}});
      else
        open.push_back({kAnySource, group, {}});
    }
  }
  const auto shuffle = [&random](std::deque<Receive>& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.below(i)]);
  };
  shuffle(exact);
  shuffle(open);
  for (Receive& receive : open) exact.push_back(std::move(receive));
  for (std::size_t i = 0; i < rest; ++i) exact.push_back({kAnySource, kAnyTag, {}});
  return exact;
}

void require(bool condition, const Team& team, const TrafficOptions& options, const std::string& what) {
  if (condition) return;
  throw std::runtime_error("traffic of seed " + std::to_string(options.seed) + ", member " +
                           std::to_string(team.index()) + ": " + what);
}

/// Which message it is, by its bytes: messages of one sender differ in tag, size or contents.
void recognise(Team& team, const TrafficOptions& options, std::deque<Receive>& all) {
  std::vector<std::vector<Planned>> plans;
  std::vector<std::vector<bool>> seen;
  for (std::uint32_t from = 0; from < team.size(); ++from) {
    plans.push_back(plan(options, from, team.index()));
    seen.emplace_back(plans.back().size());
  }
  for (Receive& receive : all) {
    const std::uint32_t from = receive.received.source;
    require(from < team.size(), team, options, "a message of nobody");
    require(receive.from == kAnySource || receive.from == from, team, options, "a message of the wrong source");
    require(receive.tag == kAnyTag || receive.tag == receive.received.tag, team, options, "a message of the wrong tag");
    bool found = false;
    for (std::size_t number = 0; number < plans[from].size() && !found; ++number) {
      const Planned& planned = plans[from][number];
      found = !seen[from][number] && planned.tag == receive.received.tag && planned.bytes == receive.received.bytes;
      for (std::size_t i = 0; found && i < planned.bytes; ++i)
        found = receive.buffer[i] == pattern(from, team.index(), number, i);
      if (!found) continue;
      seen[from][number] = true;
      receive.number = number;
    }
    require(found, team, options, "a message that nobody sent, or that came twice");
  }
}

/// Of two messages of one sender, a receive that accepts both never gets the later one while the earlier one goes to a
/// receive that was posted after it.
void check_order(const Team& team, const TrafficOptions& options, const std::deque<Receive>& all) {
  for (std::size_t first = 0; first < all.size(); ++first) {
    for (std::size_t second = first + 1; second < all.size(); ++second) {
      const Receive& receive = all[first];
      const Received& later = all[second].received;
      if (later.source != receive.received.source || (receive.tag != kAnyTag && receive.tag != later.tag)) continue;
      // Empty messages of the same tag can't be told apart.
      if (later.bytes == 0 && receive.received.bytes == 0) continue;
      require(receive.number < all[second].number, team, options,
              "receive " + std::to_string(first) + " got message " + std::to_string(receive.number) + " of member " +
                  std::to_string(later.source) + ", though message " + std::to_string(all[second].number) +
                  " was left for receive " + std::to_string(second));
    }
  }
}

Task<> receive_all(Team& team, TrafficOptions options) {
  Random random(options.seed * 13 + team.index());
  std::deque<Receive> all = receives(team, options);
  std::vector<Started<Received>> started;
  started.reserve(all.size());
  if (options.sleeps && random.below(2) == 0) co_await sleep_for(std::chrono::nanoseconds(random.below(50'000)));
  for (Receive& receive : all) {
    receive.buffer.resize(30'000);
    if (options.sleeps && random.below(8) == 0) co_await sleep_for(std::chrono::nanoseconds(random.below(20'000)));
    started.push_back(start(team.rank(), team.recv(receive.buffer, receive.from, receive.tag)));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Received received = co_await started[i].done();
    all[i].received = received;
  }
  recognise(team, options, all);
  check_order(team, options, all);
}

}  // namespace

Task<> run_traffic(Team& team, TrafficOptions options) {
  std::vector<Task<>> parts;
  parts.push_back(receive_all(team, options));
  for (std::uint32_t to = 0; to < team.size(); ++to) parts.push_back(send_all(team, options, to));
  co_await when_all(std::move(parts));
}

}  // namespace coracle::internals::test
