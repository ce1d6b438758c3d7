// What travels as values: collectives of single values, strings and vectors, functions that peers are told to run, and
// distributed objects.
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/conformance/suite.hpp"

namespace coracle::internals::conformance {
namespace {

std::string text_of(std::uint32_t member, std::size_t length) {
  std::string text = "member " + std::to_string(member) + " ";
  for (std::size_t i = text.size(); i < length; ++i) text.push_back(static_cast<char>('a' + (i * 7 + member) % 26));
  text.resize(length);
  return text;
}

Task<> single_values(Rank& self, Team& team) {
  const std::uint32_t last = team.size() - 1;
  const double mine = 1.5 * team.index();
  const double shared = co_await team.broadcast(mine, last);
  CHECK_HERE(shared == 1.5 * last);
  const std::uint64_t sum = co_await team.reduce(std::uint64_t{team.index()}, std::plus<>(), last);
  CHECK_HERE(sum == (team.index() == last ? std::uint64_t{team.size()} * last / 2 : team.index()));
  const std::uint64_t before = co_await team.exclusive_scan(std::uint64_t{team.index()}, std::plus<>(), 10);
  CHECK_HERE(before == 10 + std::uint64_t{team.index()} * (team.index() + 1) / 2 - team.index());
  const std::vector<std::uint32_t> gathered = co_await team.gather(team.index() * 3, last);
  CHECK_HERE(gathered.size() == (team.index() == last ? team.size() : 0));
  for (std::uint32_t i = 0; i < gathered.size(); ++i) CHECK_HERE(gathered[i] == i * 3);
  const std::vector<bool> odd = co_await team.gather_all(team.index() % 2 == 1);
  CHECK_HERE(odd.size() == team.size());
  for (std::uint32_t i = 0; i < odd.size(); ++i) CHECK_HERE(odd[i] == (i % 2 == 1));
}

Task<> texts(Rank& self, Team& team) {
  // Around what goes with the first message, along a tree, and in parts.
  for (const std::size_t length : {0U, 1U, 503U, 504U, 505U, 9'000U, 66'040U, 66'041U, 300'000U}) {
    if (is_brief() && length > 9'000) break;
    const std::uint32_t root = static_cast<std::uint32_t>(length) % team.size();
    const std::size_t own_length = team.index() == root ? length : team.index() * 5;
    const std::string text = co_await team.broadcast(text_of(team.index(), own_length), root);
    CHECK_HERE(text == text_of(root, length));
  }
  for (const std::size_t scale : {0U, 1U, 100U, 3'000U}) {
    const std::vector<std::string> all = co_await team.gather_all(text_of(team.index(), scale * team.index()));
    CHECK_HERE(all.size() == team.size());
    for (std::uint32_t i = 0; i < team.size(); ++i) CHECK_HERE(all[i] == text_of(i, scale * i));
  }
  const std::vector<std::string> at_root = co_await team.gather(text_of(team.index(), 40 + team.index()), 0);
  CHECK_HERE(at_root.size() == (team.index() == 0 ? team.size() : 0));
  for (std::uint32_t i = 0; i < at_root.size(); ++i) CHECK_HERE(at_root[i] == text_of(i, 40 + i));
}

Task<> vectors(Rank& self, Team& team) {
  std::vector<double> series(team.index() * 100);
  std::iota(series.begin(), series.end(), team.index());
  const std::vector<std::vector<double>> all = co_await team.gather_all(series);
  for (std::uint32_t i = 0; i < team.size(); ++i)
    CHECK_HERE(all[i].size() == i * 100 && (i == 0 || all[i].back() == 101.0 * i - 1));
  std::vector<std::pair<std::string, std::optional<int>>> table;
  if (team.index() == 0) {
    table.emplace_back("one", 1);
    table.emplace_back("none", std::nullopt);
  }
  table = co_await team.broadcast(std::move(table), 0);
  CHECK_HERE(table.size() == 2 && table[0].second == 1 && table[1].first == "none" && !table[1].second);
}

/// A range with a name is written in place, whatever kind it is; a const one is a value.
Task<> named_ranges(Rank& self, Team& team) {
  const std::uint32_t root = team.size() - 1;
  std::vector<double> numbers(3, team.index());
  std::array<double, 3> three{1.0 * team.index(), 2, 3};
  double plain[2] = {2.0 * team.index(), 5};
  std::string text(4, static_cast<char>('a' + team.index()));
  co_await team.broadcast(numbers, root);
  co_await team.broadcast(three, root);
  co_await team.broadcast(plain, root);
  co_await team.broadcast(text, root);
  CHECK_HERE(numbers == std::vector<double>(3, root));
  CHECK_HERE(three[0] == root && three[2] == 3 && plain[0] == 2.0 * root && plain[1] == 5);
  CHECK_HERE(text == std::string(4, static_cast<char>('a' + root)));
  plain[0] = team.index();
  co_await team.broadcast(std::span(plain), root);  // its extent is part of its type
  CHECK_HERE(plain[0] == root);
  const std::string name = text_of(team.index(), 20 + team.index());
  const std::vector<std::uint32_t> list(team.index() + 1, team.index());
  const std::string shared_name = co_await team.broadcast(name, root);
  const std::vector<std::uint32_t> shared_list = co_await team.broadcast(list, root);
  CHECK_HERE(shared_name == text_of(root, 20 + root) && name == text_of(team.index(), 20 + team.index()));
  CHECK_HERE(shared_list == std::vector<std::uint32_t>(root + 1, root) && list.size() == team.index() + 1);
  const std::vector<std::string> names = co_await team.gather_all(name);
  const std::vector<std::vector<std::uint32_t>> lists = co_await team.gather(list, root);
  for (std::uint32_t i = 0; i < names.size(); ++i) CHECK_HERE(names[i] == text_of(i, 20 + i));
  for (std::uint32_t i = 0; i < lists.size(); ++i) CHECK_HERE(lists[i] == std::vector<std::uint32_t>(i + 1, i));
}

/// Element by element: as one value, an array would be the largest in the order of dictionaries.
Task<> reduced_ranges(Rank& self, Team& team) {
  const std::int64_t me = team.index();
  const std::int64_t last = team.size() - 1;
  std::array<std::int64_t, 2> most{me, -me};
  co_await team.all_reduce(most, max_of);
  CHECK_HERE(most[0] == last && most[1] == 0);
  std::int64_t plain[2] = {me, -me};
  co_await team.all_reduce(plain, min_of);
  CHECK_HERE(plain[0] == 0 && plain[1] == -last);
  std::vector<std::int64_t> sums{1, me};
  co_await team.reduce(sums, std::plus<>(), 0);
  CHECK_HERE(sums[0] == (me == 0 ? last + 1 : 1) && sums[1] == (me == 0 ? last * (last + 1) / 2 : me));
  std::array<std::int64_t, 2> upto{1, me};
  co_await team.scan(upto, std::plus<>());
  CHECK_HERE(upto[0] == me + 1 && upto[1] == me * (me + 1) / 2);
  std::array<std::int64_t, 2> before{1, me};
  co_await team.exclusive_scan(std::span(before), std::plus<>(), 10);
  CHECK_HERE(before[0] == 10 + me && before[1] == 10 + me * (me - 1) / 2);
}

/// Trivially copyable, and made of nothing but its number.
struct Ticket {
  explicit Ticket(std::uint32_t of) : number(of) {}
  std::uint32_t number;
};
Task<> tickets(Rank& self, Team& team) {
  const Ticket mine(team.index() + 7);
  const std::vector<Ticket> all = co_await team.gather_all(mine);
  CHECK_HERE(all.size() == team.size());
  for (std::uint32_t i = 0; i < team.size(); ++i) CHECK_HERE(all[i].number == i + 7);
  const Ticket first = co_await team.broadcast(mine, 0);
  CHECK_HERE(first.number == 7);
}

/// Several at once, of values whose size only their owner knows and of others: each must find its own.
Task<> overlapping(Rank& self, Team& team) {
  std::vector<Started<std::string>> names;
  std::vector<Started<std::vector<std::string>>> lists;
  std::vector<Started<>> barriers;
  std::vector<Started<std::uint32_t>> sums;
  for (std::uint32_t i = 0; i < 6; ++i) {
    const std::uint32_t root = i % team.size();
    names.push_back(start(self, team.broadcast(text_of(team.index(), 300 * (i + team.index())), root)));
    barriers.push_back(start(self, team.barrier()));
    lists.push_back(start(self, team.gather_all(text_of(team.index(), 200 * i))));
    sums.push_back(start(self, team.all_reduce(std::uint32_t{i}, std::plus<>())));
  }
  for (std::uint32_t i = 6; i-- > 0;) {
    const std::uint32_t root = i % team.size();
    const std::uint32_t sum = co_await sums[i].done();
    const std::string name = co_await names[i].done();
    const std::vector<std::string> list = co_await lists[i].done();
    co_await barriers[i].done();
    CHECK_HERE(sum == i * team.size());
    CHECK_HERE(name == text_of(root, 300 * (i + root)));
    for (std::uint32_t member = 0; member < team.size(); ++member) CHECK_HERE(list[member] == text_of(member, 200 * i));
  }
}

/// What a rank has been told.
struct Told {
  explicit Told(Rank&) {}
  std::map<std::uint32_t, std::vector<std::string>> by;
  std::uint64_t later = 0;
};
void note(Rank& rank, std::uint32_t by, std::string text) {
  rank.local<Told>().by[by].push_back(std::move(text));
}
Task<> note_later(Rank& rank, std::vector<std::uint64_t> numbers) {
  co_await yield();
  rank.local<Told>().later += std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
}
std::uint64_t count_from(Rank& rank, std::uint32_t by) {
  return rank.local<Told>().by[by].size();
}

/// As rank 0 of several has them, and others with parts of their own.
struct Phonebook {
  std::map<std::string, int> numbers{};
  std::uint32_t owner = 0;
};
Task<> write_down(Rank&, Phonebook& book, std::string name, int number) {
  co_await yield();
  book.numbers[name] = number;
}
int look_up(Rank&, const Phonebook& book, std::string name) {
  const auto entry = book.numbers.find(name);
  if (entry == book.numbers.end()) throw std::runtime_error("no number of " + name);
  return entry->second;
}
Task<std::string> ask_onward(Rank& rank, Phonebook& book, std::string name) {
  const std::uint32_t next = (book.owner + 1) % rank.size();
  const int number = co_await call_object<Phonebook>(rank, next, "phonebook", look_up, name);
  co_return name + " has " + std::to_string(number);
}

Task<> use_phonebooks(Rank& self, Distributed<Phonebook>& book) {
  const std::uint32_t peer = (self.id() + 1) % self.size();
  co_await book.call(peer, write_down, "Ada", 100 + static_cast<int>(self.id()));
  co_await book.call(peer, write_down, "Grace", 5);
  const int ada = co_await book.call(peer, look_up, "Ada");
  CHECK_HERE(ada == 100 + static_cast<int>(self.id()));
  const std::uint32_t owner = co_await book.call(peer, [](Rank&, const Phonebook& theirs) { return theirs.owner; });
  CHECK_HERE(owner == peer);
  const auto nobody = co_await as_result(book.call(peer, look_up, "Nobody"));
  CHECK_HERE(!nobody.ok() && std::string(nobody.error().what()).find("no number of Nobody") != std::string::npos);
  const auto wrong = co_await as_result(fetch_object<std::string>(self, peer, "phonebook"));
  CHECK_HERE(!wrong.ok() && wrong.code() == Errc::bad_input);
  CHECK_HERE(std::string(wrong.error().what()).find("Phonebook") != std::string::npos);
  co_await self.world().barrier();  // all have been written down
  const std::string onward = co_await book.call(peer, ask_onward, "Grace");
  CHECK_HERE(onward == "Grace has 5");
}

/// Asked for before it is made, of the rank itself, and after it is gone and made anew.
Task<> fetch_early(Rank& self) {
  const std::uint32_t peer = (self.id() + 1) % self.size();
  Started<std::string> early = start(self, fetch_object<std::string>(self, peer, "name"));
  for (std::uint32_t i = 0; i < 20 + self.id(); ++i) co_await yield();
  {
    Distributed<std::string> name(self, "name", "rank " + std::to_string(self.id()));
    const std::string theirs = co_await early.done();
    CHECK_HERE(theirs == "rank " + std::to_string(peer));
    const std::string own = co_await name.fetch(self.id());
    CHECK_HERE(own == *name);
    co_await self.world().barrier();
  }
  co_await self.world().barrier();
  Started<std::string> later = start(self, fetch_object<std::string>(self, peer, "name"));
  co_await yield();
  const Distributed<std::string> name(self, "name", "again " + std::to_string(self.id()));
  const std::string theirs = co_await later.done();
  CHECK_HERE(theirs == "again " + std::to_string(peer));
  co_await self.world().barrier();
}

}  // namespace

Task<> values(Rank& self) {
  auto part = co_await self.world().split(self.id() % 2, self.size() - self.id());
  for (Team* team : {&self.world(), part.get()}) {
    co_await single_values(self, *team);
    co_await texts(self, *team);
    co_await vectors(self, *team);
    co_await named_ranges(self, *team);
    co_await reduced_ranges(self, *team);
    co_await tickets(self, *team);
    co_await overlapping(self, *team);
  }
}

Task<> tells(Rank& self) {
  constexpr std::uint64_t kCount = 50;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    for (std::uint32_t peer = 0; peer < self.size(); ++peer) {
      const std::vector<std::uint64_t> numbers(i, 1);
      co_await self.tell(peer, note, self.id(), std::string(i * i, 'x'));
      co_await self.tell(peer, note_later, numbers);
    }
  }
  // Messages from one rank to another keep their order, calls among them.
  for (std::uint32_t peer = 0; peer < self.size(); ++peer) {
    const std::uint64_t heard = co_await self.call(peer, count_from, self.id());
    CHECK_HERE(heard == kCount);
  }
  co_await self.world().barrier();
  Told& told = self.local<Told>();
  for (std::uint32_t peer = 0; peer < self.size(); ++peer)
    for (std::uint64_t i = 0; i < kCount; ++i) CHECK_HERE(told.by[peer][i].size() == i * i);
  while (told.later < self.size() * kCount * (kCount - 1) / 2) co_await yield();
  CHECK_HERE(told.later == self.size() * kCount * (kCount - 1) / 2);
}

Task<> distributed_objects(Rank& self) {
  {
    Distributed<Phonebook> book(self, "phonebook", Phonebook{.owner = self.id()});
    bool refused = false;
    try {
      const Distributed<int> twice(self, "phonebook", 1);
    } catch (const Error& error) {
      refused = error.code() == Errc::bad_input;
    }
    CHECK_HERE(refused);
    co_await use_phonebooks(self, book);
    co_await self.world().barrier();
  }
  co_await fetch_early(self);
}

}  // namespace coracle::internals::conformance
