// Putting a rank's waits into words for its launcher.
#include "runtime/launch/wait_witness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <source_location>
#include <string_view>

#include "runtime/core/program_place.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/core/signal_text.hpp"
#include "runtime/job/diagnostics.hpp"
#include "runtime/messages/messages.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team_core.hpp"

namespace coracle::internals {
namespace {

constexpr std::size_t kWaitsMax = 256;
constexpr std::size_t kCallersMax = 8;
constexpr std::size_t kMembersMax = 256;
constexpr std::size_t kUnreceivedMax = 32;

std::string text_of(const std::source_location& where) {
  return fmt::format("{}:{}", file_name_of(where.file_name()), where.line());
}

/// The program's places, from the innermost on.
std::vector<std::string> program_places(const Waiter& waiter) {
  std::vector<std::string> places;
  const auto note = [&places](const std::source_location& where) {
    if (!is_of_library(where) && places.size() < kCallersMax) places.push_back(text_of(where));
  };
  note(waiter.where());
  for (const PromiseBase* at = waiter.coroutine(); at != nullptr && at->parent() != nullptr; at = at->parent())
    note(at->awaited_at());
  return places;
}

/// All waits below a scope. What visits them may not throw: so the room is taken first.
class Waiters final : public WaiterVisitor {
 public:
  explicit Waiters(const Scope& scope) {
    scope.visit(*this);
    all_.reserve(count_);
    is_reserved_ = true;
    scope.visit(*this);
  }
  void visit(const Waiter& waiter, int) noexcept override {
    if (is_reserved_)
      all_.push_back(&waiter);
    else
      ++count_;
  }
  const std::vector<const Waiter*>& all() const noexcept { return all_; }

 private:
  std::size_t count_ = 0;
  bool is_reserved_ = false;
  std::vector<const Waiter*> all_;
};

class Collector {
 public:
  explicit Collector(Rank& rank) : rank_(rank), now_ns_(rank.loop().exact_now_ns()) {}

  void collect(insight::RankWaits& to) {
    const Waiters services(rank_.service());
    services_ = {services.all().begin(), services.all().end()};
    const Waiters waiters(rank_.loop().root_scope());
    for (const Waiter* const waiter : waiters.all()) add(*waiter, to);
  }

 private:
  void add(const Waiter& waiter, insight::RankWaits& to) {
    std::vector<std::string> places = program_places(waiter);
    const bool of_library = places.empty() && services_.contains(&waiter);
    const WaitDetail detail = waiter.detail();
    // What services do now and then is no progress of the program.
    const bool is_standing =
        detail.kind == WaitKind::timer || detail.kind == WaitKind::readiness || detail.kind == WaitKind::loss;
    if (!of_library || !is_standing) to.digest += mixed(reinterpret_cast<std::uintptr_t>(&waiter) ^ waiter.since_ns());
    if (to.waits.size() == kWaitsMax) {
      ++to.left_out;
      return;
    }
    insight::Wait& wait = to.waits.emplace_back();
    wait.kind = detail.kind;
    wait.of_library = of_library;
    wait.peer = waiter.peer();
    wait.team = detail.team;
    wait.tag = detail.tag;
    wait.waited_ms = (now_ns_ - std::min(waiter.since_ns(), now_ns_)) / 1'000'000;
    wait.what = waiter.what();
    if (places.empty()) return;
    wait.place = std::move(places.front());
    wait.callers.assign(places.begin() + 1, places.end());
  }

  /// What is added up of them is the same in any order: waits are told in that of lists that change.
  static std::uint64_t mixed(std::uint64_t value) noexcept {
    value *= 0x9e3779b97f4a7c15ULL;
    return value ^ value >> 29;
  }

  Rank& rank_;
  const std::uint64_t now_ns_;
  std::set<const Waiter*> services_;
};

insight::TeamProgress progress_of(const TeamCore& team, std::uint32_t job_size) {
  insight::TeamProgress progress;
  progress.team = team.identity();
  progress.size = team.size();
  progress.number = team.last_sequence();
  progress.under_way = team.log().any_under_way();
  progress.finalizes = team.finalizes();
  for (const CallWords& call : team.log().calls()) {
    if (call.number != progress.number) continue;
    progress.call = call.call_text();
    progress.place = call.place_text();
  }
  if (team.size() != job_size && team.size() <= kMembersMax)
    for (std::uint32_t index = 0; index < team.size(); ++index) progress.members.push_back(team.member(index));
  return progress;
}

void add_unreceived(Messages* messages, insight::RankWaits& to) {
  if (messages == nullptr) return;
  for (const auto* each = messages->matcher().first(); each != nullptr; each = each->after) {
    if (each->envelope.team % 2 != 0) continue;  // of an interface's own
    if (to.unreceived.size() == kUnreceivedMax) return;
    const auto& message = static_cast<const UnexpectedMessage&>(*each);
    to.unreceived.push_back({message.envelope.team, message.rank(), message.envelope.tag, message.bytes()});
  }
}

}  // namespace

insight::RankWaits waits_of(Rank& rank, const RankReporter* reporter) {
  insight::RankWaits waits;
  Collector(rank).collect(waits);
  for (const auto& [identity, team] : rank.local<Teams>().all())
    if (team->size() > 1) waits.teams.push_back(progress_of(*team, rank.size()));
  add_unreceived(rank.core().messages(), waits);
  if (reporter != nullptr) {
    std::array<char, 4096> room;
    SignalText text(room.data(), room.size());
    reporter->add_call(text);
    waits.call = text.view();
  }
  return waits;
}

WaitWitness::WaitWitness(Rank& rank, RankBlock& block, const RankReporter* reporter) noexcept
    : rank_(rank), waits_(block.waits), reporter_(reporter) {
  rank_.loop().set_idle_observer(this);
}

WaitWitness::~WaitWitness() {
  rank_.loop().set_idle_observer(nullptr);
}

void WaitWitness::falls_asleep() noexcept {
  waits_.sleeps.store(++sleeps_, std::memory_order_relaxed);  // only compared with itself
  // seq_cst: the launcher stores `asked` before it looks whether this rank has announced its sleep, which it has before
  // this look (Doorbell).
  if (waits_.asked.load(std::memory_order_seq_cst) != waits_.answered.load(std::memory_order_relaxed)) [[unlikely]]
    answer();
}

void WaitWitness::answer() noexcept {
  const std::uint32_t asked = waits_.asked.load(std::memory_order_relaxed);
  std::vector<std::byte> bytes;
  try {
    bytes = insight::encode(waits_of(rank_, reporter_), waits_.answer.size());
  } catch (...) {  // without memory there is no answer, and who asks goes on without
  }
  if (bytes.size() > waits_.answer.size()) bytes.clear();
  if (!bytes.empty()) std::memcpy(waits_.answer.data(), bytes.data(), bytes.size());
  waits_.bytes = static_cast<std::uint32_t>(bytes.size());
  waits_.answered.store(asked, std::memory_order_release);  // the launcher reads it (acquire) before the bytes
}

}  // namespace coracle::internals
