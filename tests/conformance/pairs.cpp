// Two members: collectives in a random order, and messages, of which some go one way and some both, several of them
// under way at once. What one gives the other lies in rooms that go to and fro between them (HandedRooms,
// MessageRooms).
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "runtime/team/node_area.hpp"
#include "tests/collectives/scattered_trial.hpp"
#include "tests/collectives/trial.hpp"
#include "tests/conformance/suite.hpp"

namespace coracle::internals::conformance {

namespace {

/// Else, as between nodes, it would be what other parts of the suite try.
bool has_rooms(Team& team) {
  return team.node_area().handed_bytes_max() > 0;
}

/// Elements of 8 bytes: around what goes in a contribution, in a room, and beyond that, piece by piece.
std::vector<std::size_t> sizes_for(Team& team) {
  const std::size_t room = team.node_area().handed_bytes_max() / 8;
  return {0, 1, 8, 9, 64, 512, 513, 1024, 1025, 2048, room / 2, room - 1, room, room + 1, 3 * room + 5};
}

/// Some of the blocks are scattered at one member, and lie in a row at the other.
Task<> scattered_of_two(Team& team) {
  std::uint64_t seed = 1000;
  for (const std::uint64_t bytes : {4'096U, 9'000U, 40'000U, 70'000U, 300'000U, 900'000U}) {
    for (const bool differ : {false, true}) {
      seed += 1;
      co_await test::attempt(team, {seed, bytes, differ});
    }
  }
}

/// The same at both members, since `random` is.
Task<> some_of_two(Team& team, std::mt19937_64 random, std::uint64_t steps) {
  const std::vector<std::size_t> sizes = sizes_for(team);
  std::uint64_t round = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    // For a while only from one to the other, so that one has all rooms.
    const bool one_way = step / 8 % 3 == 2;
    const auto trial = [&] {
      constexpr std::array kOneWay{test::Kind::reduce, test::Kind::gather, test::Kind::scatter_v, test::Kind::gather_v};
      const auto kind = one_way ? kOneWay[random() % kOneWay.size()] : test::Kind(random() % test::kKinds);
      const std::size_t elements = sizes[random() % sizes.size()];
      const auto root = static_cast<std::uint32_t>(one_way ? 1 : random() % 2);
      return test::Trial{kind, elements, root, ++round, random() % 2 == 0};
    };
    if (random() % 4 != 0) {
      co_await test::attempt(team, trial());
      continue;
    }
    constexpr int kTogether = 3;
    std::vector<Task<>> together;
    together.reserve(kTogether);
    for (int i = 0; i < kTogether; ++i) together.push_back(test::attempt(team, trial()));
    co_await when_all(std::move(together));
  }
}

/// Each message holds what only its sender and its number make.
class Stream {
 public:
  Stream(Team& team, std::size_t bytes) : team_(team), out_(bytes), in_(bytes) {}

  Task<> send() {
    write_pattern(out_, team_.index(), ++sent_);
    co_await team_.send(out_, 1 - team_.index(), kTag);
    std::fill(out_.begin(), out_.end(), std::byte{0});  // ours again
  }
  /// Every third message comes scattered: each byte has a gap behind it.
  Task<> receive() {
    if (received_ % 3 == 2) {
      std::vector<std::byte> wide(2 * in_.size());
      const Layout layout = Layout::bytes(1).vector(static_cast<std::int64_t>(in_.size()), 1, 2);
      co_await team_.recv(ScatteredTarget{wide.data(), layout}, 1 - team_.index(), kTag);
      for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = wide[2 * i];
    } else {
      co_await team_.recv(in_, 1 - team_.index(), kTag);
    }
    Rank& self = team_.rank();
    CHECK_HERE(holds_pattern(in_, 1 - team_.index(), ++received_));
  }

 private:
  static constexpr std::uint64_t kTag = 77;
  Team& team_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

/// A send or a receive as a task, so that one list has both.
template <class Operation>
Task<> ended(Operation operation) {
  co_await std::move(operation);
}

/// Many messages at once from one to the other.
Task<> window_of_two(Team& team, std::size_t bytes) {
  constexpr std::uint64_t kTag = 79;
  const std::uint64_t messages = bytes == 1'000'001 ? 70 : 10;
  std::vector<std::vector<std::byte>> buffers(messages, std::vector<std::byte>(bytes));
  std::vector<Task<>> window;
  for (std::uint64_t number = 0; number < messages; ++number) {
    if (team.index() == 1) write_pattern(buffers[number], 1, number);
    window.push_back(team.index() == 1 ? ended(team.send(buffers[number], 0, kTag))
                                       : ended(team.recv(buffers[number], 1, kTag)));
  }
  co_await when_all(std::move(window));
  Rank& self = team.rank();
  for (std::uint64_t number = 0; number < messages; ++number) CHECK_HERE(holds_pattern(buffers[number], 1, number));
}

/// To and fro, so often that a receiver sees that buffers are written to; both at once; in a row one way; many at once.
Task<> messages_of_two(Team& team, std::size_t bytes, int repetitions) {
  Stream stream(team, bytes);
  const bool first = team.index() == 0;
  for (int i = 0; i < repetitions; ++i) {
    if (first) co_await stream.send();
    co_await stream.receive();
    if (!first) co_await stream.send();
  }
  for (int i = 0; i < repetitions; ++i) co_await when_all(stream.send(), stream.receive());
  for (int i = 0; i < repetitions; ++i) {
    if (first)
      co_await stream.send();
    else
      co_await stream.receive();
  }
  co_await window_of_two(team, bytes);
}

/// Of 24 bytes, of which no piece holds a whole number, and an operation in which the order counts: all bits are the
/// same at both.
Task<> odd_elements(Team& team) {
  struct Odd {
    double sum;
    std::uint64_t count;
    std::uint64_t last;
    bool operator==(const Odd&) const = default;
  };
  const auto join = [](const Odd& left, const Odd& right) {
    return Odd{left.sum + right.sum, left.count + right.count, right.last};
  };
  Rank& self = team.rank();
  for (const std::size_t elements : {10'000U, 40'000U, 100'001U}) {
    std::vector<Odd> values(elements);
    for (std::size_t i = 0; i < elements; ++i)
      values[i] = {0.1 * static_cast<double>(i + team.index()), i + team.index(), 2 * i + team.index()};
    co_await team.all_reduce(std::span(values), join);
    for (std::size_t i = 0; i < elements; ++i) {
      const auto own = static_cast<double>(i);
      CHECK_HERE((values[i] == Odd{0.1 * own + 0.1 * (own + 1), 2 * i + 1, 2 * i + 1}));
    }
  }
}

/// Parts of which a small arena may take the shorter one at once.
Task<> parts_in_small_arenas(Team& team) {
  Rank& self = team.rank();
  std::vector<std::unique_ptr<Team>> teams;  // the more there are, the smaller is the next one's arena
  for (int i = 0; i < 40; ++i) {
    teams.push_back(co_await team.split(0, team.index()));
    if (i % 8 != 7) continue;
    Team& last = *teams.back();
    const std::uint32_t other = 1 - last.index();
    for (const auto& [less, more] : {std::pair<std::size_t, std::size_t>{20'000, 300'000},
                                     {40'000, 50'000},
                                     {50'000, 100'000},
                                     {65'536, 65'537},
                                     {70'000, 400'000},
                                     {300'000, 1'000'000}}) {
      for (const bool swapped : {false, true}) {
        const bool gives_less = (last.index() == 0) != swapped;
        std::vector<std::byte> given(gives_less ? less : more);
        std::vector<std::byte> taken(gives_less ? more : less);
        write_pattern(given, last.index(), less);
        const Layout byte = Layout::bytes(1);
        std::vector<ScatteredSource> sources(2, ScatteredSource{given.data(), byte, 0});
        std::vector<ScatteredTarget> targets(2, ScatteredTarget{taken.data(), byte, 0});
        sources[other].count = given.size();
        targets[other].count = taken.size();
        co_await last.all_to_all_w(sources, targets);
        CHECK_HERE(holds_pattern(taken, other, less));
      }
    }
  }
}

/// A root goes on while the other member has not come: it leaves in its arena what has room there.
Task<> late_member(Team& team) {
  Rank& self = team.rank();
  constexpr std::uint64_t kTag = 78;
  for (const std::size_t bytes : {100'000U, 600'000U, 2'000'000U}) {
    for (std::uint32_t root = 0; root < 2; ++root) {
      std::vector<std::byte> data(bytes);
      co_await team.barrier();  // so that there is room
      std::byte word{};
      if (team.index() == root)
        write_pattern(data, root, bytes);
      else
        co_await team.recv(std::span(&word, 1), root, kTag);
      co_await team.broadcast(std::span(data), root);
      CHECK_HERE(holds_pattern(data, root, bytes));
      std::fill(data.begin(), data.end(), std::byte{0});  // ours again
      if (team.index() == root) co_await team.send(std::span(&word, 1), 1 - root, kTag);
    }
  }
  // Too much to be left there.
  std::vector<std::byte> much(20'000'000);
  if (team.index() == 0) write_pattern(much, 0, 1);
  if (team.index() == 1) co_await sleep_for(std::chrono::milliseconds(5));
  co_await team.broadcast(std::span(much), 0);
  CHECK_HERE(holds_pattern(much, 0, 1));
}

}  // namespace

Task<> pairs(Rank& self) {
  const std::uint64_t steps = is_brief() ? 30 : 120;
  if (self.size() == 2 && has_rooms(self.world())) {
    co_await some_of_two(self.world(), std::mt19937_64(1), steps);
    co_await scattered_of_two(self.world());
    co_await late_member(self.world());
    co_await odd_elements(self.world());
    co_await parts_in_small_arenas(self.world());
  }
  auto two = co_await self.world().split(self.id() / 2, self.id());
  if (two->size() != 2 || !has_rooms(*two)) co_return;
  co_await some_of_two(*two, std::mt19937_64(self.id() / 2 + 2), steps);
  for (const std::size_t bytes : {8'193U, 16'384U, 65'536U, 262'144U, 262'145U, 1'000'001U, 3'000'001U})
    co_await messages_of_two(*two, bytes, is_brief() ? 6 : 40);
}

}  // namespace coracle::internals::conformance
