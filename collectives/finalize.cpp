// The end of a job: the last barrier, and what takes its place when ranks have been lost.
#include <cstdint>
#include <vector>

#include "collectives/collectives.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {
namespace {

/// Who has said goodbye to this rank, which waits for all whom it has not lost.
class Goodbyes final : private LossObserver {
 public:
  explicit Goodbyes(Rank& rank) : rank_(rank), said_(rank.size()) { said_[rank.id()] = true; }

  static void on_goodbye(Rank& rank, const Message& message) {
    auto& self = rank.local<Goodbyes>();
    self.said_[message.source()] = true;
    self.changed_.set();
  }

  /// From here on those who have not said it are asked after, all at once.
  void expect_all() { rank_.core().peers().observers().add(*this); }

  Task<> all_said() {
    while (missing()) {
      changed_.reset();
      co_await uninterrupted(changed_);
    }
    leave();
  }

 private:
  bool missing() const noexcept {
    for (std::uint32_t peer = 0; peer < said_.size(); ++peer)
      if (concerns(peer) && !rank_.lost(peer)) return true;
    return false;
  }
  bool concerns(std::uint32_t peer) const noexcept override { return !said_[peer]; }
  void lost(const Loss&) noexcept override { changed_.set(); }

  Rank& rank_;
  std::vector<bool> said_;
  Event changed_;
};

/// Without a whole team there is no barrier: everyone tells everyone.
Task<> say_goodbye_to_each(Rank& rank) {
  auto& goodbyes = rank.local<Goodbyes>();
  goodbyes.expect_all();
  for (std::uint32_t peer = 0; peer < rank.size(); ++peer) {
    if (peer == rank.id()) continue;
    try {
      co_await rank.request(peer, Goodbyes::on_goodbye, {});
    } catch (const Error& error) {
      if (error.code() != Errc::peer_lost) throw;  // it needs no goodbye
    }
  }
  co_await goodbyes.all_said();
}

}  // namespace

Task<> finalize_job(Rank& rank) {
  bool broken = rank.world().broken();
  try {
    if (!broken) co_await rank.world().finalize(std::source_location());
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost && error.code() != Errc::given_up) throw;
    broken = true;
  }
  if (broken) co_await say_goodbye_to_each(rank);
}

}  // namespace coracle::internals
