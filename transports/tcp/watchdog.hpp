// Watchdog: finds out whether a peer from whom nothing comes, although something is expected, is busy or dead. TCP
// notices a lost machine, but not a process that is stopped: the peer's launcher is asked about that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/core/task.hpp"
#include "runtime/rank/health.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::tcp {

/// What is known of one silent peer: the looks at which it was, and what has been asked and answered since.
class Doubt {
 public:
  /// It is silent at this look. After a look at which it was not, all begins anew.
  void silent_at(std::uint64_t look) noexcept {
    if (last_ + 1 != look) {
      since_ = look;
      unanswered_ = 0;
    }
    last_ = look;
  }
  /// Its launcher has been asked at the look that silent_at() told last.
  void asked() noexcept { ++unanswered_; }
  /// An answer to the question of that look has come before the questions of `now`. However late it is, the launcher
  /// lived when it was asked: only later questions are unanswered. False if nothing was asked then in this silence.
  bool answered(std::uint64_t asked_at, std::uint64_t now) noexcept {
    if (asked_at < since_ || asked_at > last_) return false;
    unanswered_ = std::min(unanswered_, now - 1 - asked_at);
    return true;
  }
  /// Questions since the last that was answered.
  std::uint64_t unanswered() const noexcept { return unanswered_; }

 private:
  std::uint64_t since_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t unanswered_ = 0;
};

class Watchdog {
 public:
  /// Who has the connections.
  class Watched {
   public:
    /// Peers from whom nothing has come since the last call, although something is expected of them.
    virtual std::vector<std::uint32_t> silent_peers() = 0;
    virtual void lose(std::uint32_t peer, const std::string& why) noexcept = 0;

   protected:
    ~Watched() = default;
  };

  /// Starts to watch, as a task of rank.service().
  Watchdog(Watched& watched, Rank& rank);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  /// The silence limit has so many looks: what this rank sleeps through itself counts as one.
  static constexpr std::uint32_t kLooksPerLimit = 8;

  static Task<> run(Watchdog& watchdog);
  void look() noexcept;
  void take_answers() noexcept;
  void judge(const HealthAnswer& answer) noexcept;
  /// False when this process has no descriptor, port or memory left to ask with, so that no answer can come.
  bool ask(std::uint32_t peer) noexcept;
  /// -1 with errno when there is none.
  int socket_of(NodeAddress::Family family) noexcept;

  Watched& watched_;
  Rank& rank_;
  std::uint64_t limit_ns_;
  std::uint64_t looks_ = 0;
  std::unordered_map<std::uint32_t, Doubt> doubts_;
  int socket_ipv4_ = -1;
  int socket_ipv6_ = -1;
};

}  // namespace coracle::internals::tcp
