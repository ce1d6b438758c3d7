// Peers: which ranks this rank has lost, and the waits that must end when one more is lost. A peer that is lost stays
// lost for the rest of the job: every operation in flight to it and every later one fails with Errc::peer_lost, and
// nothing more of it is taken in. Whoever finds out (a transport, the launcher) says so by Rank::peer_lost.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace coracle::internals {

/// A peer that is lost, and why.
struct Loss {
  enum class Kind : std::uint8_t {
    fault,    ///< It died, hangs, can't be reached, or was left by its program with an error.
    ended,    ///< Its program has ended as it should, after the job's finalize: no team is broken by that.
    gave_up,  ///< It lives, but has ended a collective early, which breaks that team and nothing else.
  };
  std::uint32_t peer;
  std::string reason;  ///< Such as "its connection was reset" or "silent for 10 s".
  Kind kind = Kind::fault;
};

/// A wait that depends on peers while no operation of this rank is in flight to them: for the answer to a call, for the
/// other members of a team. It lives in the waiting coroutine's frame. Loop's thread only.
class LossObserver {
 public:
  LossObserver(const LossObserver&) = delete;
  LossObserver& operator=(const LossObserver&) = delete;

  /// Whether the wait would end with the loss of `peer`. Transports ask after such a peer's health, as they do where
  /// operations are in flight.
  virtual bool concerns(std::uint32_t peer) const noexcept = 0;
  /// A peer is lost, whether it concerns this or not. May be called from inside a transport: it must not start
  /// operations.
  virtual void lost(const Loss& loss) noexcept = 0;

 protected:
  LossObserver() = default;
  /// Only before it is in a list, so that functions can return what is to be awaited.
  LossObserver(LossObserver&& other) noexcept;
  ~LossObserver() { leave(); }
  void leave() noexcept;

 private:
  friend class LossObservers;
  class LossObservers* list_ = nullptr;
  std::size_t place_ = 0;
};

/// The waits of a rank, or of a team, that end with the loss of a peer.
class LossObservers {
 public:
  LossObservers() noexcept;
  ~LossObservers();
  LossObservers(const LossObservers&) = delete;
  LossObservers& operator=(const LossObservers&) = delete;

  bool empty() const noexcept { return list_.empty(); }
  bool concerned(std::uint32_t peer) const noexcept;
  void add(LossObserver& observer);
  /// Each may leave the list meanwhile, but not enter it.
  void tell(const Loss& loss) noexcept;

 private:
  friend class LossObserver;
  std::vector<LossObserver*> list_;
};

class Peers {
 public:
  /// Of rank `id`.
  explicit Peers(std::uint32_t id) noexcept;
  ~Peers();

  bool any_lost() const noexcept { return !losses_.empty(); }
  bool lost(std::uint32_t peer) const noexcept { return find(peer) != nullptr; }
  /// Null while the peer is not lost.
  const Loss* find(std::uint32_t peer) const noexcept;
  /// In the order in which they were lost.
  std::span<const Loss> losses() const noexcept;
  /// False when it is known already.
  bool note(Loss loss);

  /// For messages: a rank (this one, perhaps) that is not lost has given up a collective. `reason`: when its members
  /// have called it wrongly; else "".
  void note_gave_up(std::uint32_t peer, std::string reason);
  /// The latest reason; null when it has given up none.
  const std::string* gave_up(std::uint32_t peer) const noexcept;

  /// What a transport lacks for a connection to `peer`, for messages: operations end with `error` (an errno) by that.
  void note_shortage(std::uint32_t peer, int error, std::string text);
  /// The latest of these, if it was that error; else what is to be said of the error.
  std::string shortage(std::uint32_t peer, int error) const;

  /// `what`: which wait has ended, since `peer` is lost, here or in the eyes of another member of a team.
  [[noreturn]] void throw_lost(const char* what, std::uint32_t peer) const;

  LossObservers& observers() noexcept { return observers_; }
  /// Whether some wait would end with the loss of `peer`.
  bool awaited(std::uint32_t peer) const noexcept { return observers_.concerned(peer); }

 private:
  std::uint32_t id_;
  std::vector<Loss> losses_;
  struct GaveUp {
    std::uint32_t peer;
    std::string reason;
  };
  std::vector<GaveUp> gave_up_;
  struct Shortage {
    int error;
    std::string text;
  };
  std::unordered_map<std::uint32_t, Shortage> shortages_;  // the latest, by peer
  LossObservers observers_;
};

}  // namespace coracle::internals
