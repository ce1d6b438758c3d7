#include "storage/segment/agreement.hpp"

#include <array>
#include <bit>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/rank/peer_event.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals::storage {
namespace {

using All = std::vector<std::vector<std::byte>>;

/// A member that waits for the answer; in its frame.
struct Waiting {
  Waiting(RankCore& core, std::uint32_t first, LossObservers& observers)
      : come(core, "paged segment", first, observers) {}
  PeerEvent come;
  std::vector<std::byte> answer;
};

/// At the first member: who has come to which exchange.
struct Exchanges {
  explicit Exchanges(Rank&) {}
  struct Arrivals {
    std::map<std::uint32_t, std::pair<std::uint64_t, std::vector<std::byte>>> of;  // place in the team → cookie, bytes
    PeerEvent* more = nullptr;                                                     // the first member waits
    std::size_t wanted = 0;
  };
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // identity of the team, number of its collective
  std::map<Key, Arrivals> exchanges;
};

void take_arrival(Rank& rank, const Message& message) {
  auto& arrivals = rank.local<Exchanges>().exchanges[{message.argument(0), message.argument(1)}];
  const auto payload = message.payload();
  arrivals.of[static_cast<std::uint32_t>(message.argument(2))] = {message.argument(3),
                                                                  std::vector(payload.begin(), payload.end())};
  if (arrivals.more != nullptr && arrivals.of.size() == arrivals.wanted) arrivals.more->set();
}

/// By the numbers that travel: a wait may have ended by a loss when its answer comes.
struct Waitings {
  explicit Waitings(Rank&) {}
  std::map<std::uint64_t, Waiting*> of;
  std::uint64_t next = 0;
};

void take_answer(Rank& rank, const Message& message) {
  auto& waitings = rank.local<Waitings>().of;
  const auto found = waitings.find(message.argument(0));
  if (found == waitings.end()) return;
  found->second->answer.assign(message.payload().begin(), message.payload().end());
  found->second->come.set();
}

Task<> wait_for(PeerEvent& event) {
  co_await event;
}

std::vector<std::byte> pack_all(const All& all) {
  std::vector<std::byte> packed;
  for (const auto& each : all) {
    const std::uint64_t bytes = each.size();
    const auto* length = reinterpret_cast<const std::byte*>(&bytes);
    packed.insert(packed.end(), length, length + sizeof(bytes));
    packed.insert(packed.end(), each.begin(), each.end());
  }
  return packed;
}

All unpack_all(const std::vector<std::byte>& packed, std::size_t members) {
  All all(members);
  std::size_t at = 0;
  for (auto& each : all) {
    std::uint64_t bytes = 0;
    CORACLE_ASSERT(at + sizeof(bytes) <= packed.size(), "a exchange's answer is cut at {}", at);
    std::memcpy(&bytes, packed.data() + at, sizeof(bytes));
    at += sizeof(bytes);
    CORACLE_ASSERT(bytes <= packed.size() - at, "a exchange's answer is cut at {}", at);
    each.assign(packed.begin() + static_cast<std::ptrdiff_t>(at),
                packed.begin() + static_cast<std::ptrdiff_t>(at + bytes));
    at += bytes;
  }
  return all;
}

Task<> send_answer(Rank& rank, std::uint32_t to, std::uint64_t cookie, const std::vector<std::byte>& packed) {
  co_await rank.request(to, take_answer, packed, cookie);
}

Task<> ask_and_wait(Team& team, std::uint32_t first, const std::vector<std::byte>& mine, Exchanges::Key key,
                    std::uint32_t index, std::uint64_t number, Waiting& waiting) {
  co_await team.rank().request(first, take_arrival, mine, key.first, key.second, index, number);
  team.core().check_whole("paged segment");  // it may have broken meanwhile
  co_await waiting.come;
}

Task<All> receive_all(Team& team, Exchanges::Key key, std::vector<std::byte> mine) {
  Rank& rank = team.rank();
  auto& exchanges = rank.local<Exchanges>().exchanges;
  PeerEvent all_here(rank.core(), "paged segment", rank.id(), team.core().observers());
  auto& arrivals = exchanges[key];
  arrivals.wanted = team.size() - 1;
  if (arrivals.of.size() == arrivals.wanted) {
    all_here.set();
  } else {
    arrivals.more = &all_here;
  }
  const Result<> come = co_await as_result(wait_for(all_here));
  Exchanges::Arrivals ended = std::move(exchanges[key]);
  exchanges.erase(key);
  come.value();
  All all(team.size());
  all[team.index()] = std::move(mine);
  for (auto& [index, arrival] : ended.of) all[index] = std::move(arrival.second);
  const std::vector<std::byte> packed = pack_all(all);
  PromiseBase& self = co_await this_coroutine();
  Scope scope(self.loop(), &self.scope());
  for (const auto& [index, arrival] : ended.of)
    scope.spawn(send_answer(rank, team.member(index), arrival.first, packed));
  co_await scope.join();
  co_return all;
}

}  // namespace

Task<All> exchange(Team& team, std::vector<std::byte> mine) {
  team.core().check_whole("paged segment");
  Rank& rank = team.rank();
  const Participation participation(team);
  const Exchanges::Key key{team.core().identity(), participation.sequence()};
  if (team.index() == 0) co_return co_await receive_all(team, key, std::move(mine));
  const std::uint32_t first = team.member(0);
  Waiting waiting(rank.core(), first, team.core().observers());
  auto& waitings = rank.local<Waitings>();
  const std::uint64_t number = waitings.next++;
  waitings.of[number] = &waiting;
  const Result<> come = co_await as_result(ask_and_wait(team, first, mine, key, team.index(), number, waiting));
  waitings.of.erase(number);
  come.value();
  co_return unpack_all(waiting.answer, team.size());
}

Task<> agree(Team& team, std::optional<Error> failure) {
  // Its own conditions or errno, the value, then the text; nothing where nothing failed.
  std::vector<std::byte> mine;
  if (failure) {
    const bool own = failure->code().category() == coracle_category();
    const int value = failure->code().value();
    mine.push_back(std::byte{own});
    for (const std::byte byte : std::bit_cast<std::array<std::byte, sizeof(value)>>(value)) mine.push_back(byte);
    const std::string_view text = failure->what();
    for (const char coherence_message : text) mine.push_back(static_cast<std::byte>(coherence_message));
  }
  const All all = co_await exchange(team, std::move(mine));
  for (const auto& each : all) {
    if (each.empty()) continue;
    int value = 0;
    std::memcpy(&value, each.data() + 1, sizeof(value));
    const std::string text(reinterpret_cast<const char*>(each.data()) + 1 + sizeof(value),
                           each.size() - 1 - sizeof(value));
    throw Error(each[0] == std::byte{1} ? make_error_code(static_cast<Errc>(value))
                                        : std::error_code(value, std::generic_category()),
                text);
  }
}

}  // namespace coracle::internals::storage
