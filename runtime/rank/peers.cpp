// The list of losses and of who waits for one.
#include "runtime/rank/peers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/core/assert.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals {

LossObserver::LossObserver(LossObserver&& other) noexcept {
  CORACLE_ASSERT(other.list_ == nullptr, "a wait for a peer was moved while a coroutine awaits it");
}

void LossObserver::leave() noexcept {
  if (list_ == nullptr) return;
  LossObserver* last = list_->list_.back();
  list_->list_[place_] = last;
  last->place_ = place_;
  list_->list_.pop_back();
  list_ = nullptr;
}

LossObservers::LossObservers() noexcept = default;

LossObservers::~LossObservers() {
  CORACLE_ASSERT(list_.empty(), "{} waits for peers outlive their rank or team", list_.size());
}

bool LossObservers::concerned(std::uint32_t peer) const noexcept {
  return std::any_of(list_.begin(), list_.end(),
                     [peer](const LossObserver* observer) { return observer->concerns(peer); });
}

void LossObservers::add(LossObserver& observer) {
  CORACLE_ASSERT(observer.list_ == nullptr, "a wait for a peer was started twice");
  observer.list_ = this;
  observer.place_ = list_.size();
  list_.push_back(&observer);
}

void LossObservers::tell(const Loss& loss) noexcept {
  // Backwards: one that leaves is replaced by the last, which has been told already.
  for (std::size_t i = list_.size(); i-- > 0;) list_[i]->lost(loss);
}

const Loss* Peers::find(std::uint32_t peer) const noexcept {
  if (losses_.empty()) [[likely]]
    return nullptr;
  const auto found =
      std::find_if(losses_.begin(), losses_.end(), [peer](const Loss& loss) { return loss.peer == peer; });
  return found == losses_.end() ? nullptr : &*found;
}

const std::string* Peers::gave_up(std::uint32_t peer) const noexcept {
  const auto found =
      std::find_if(gave_up_.rbegin(), gave_up_.rend(), [peer](const GaveUp& entry) { return entry.peer == peer; });
  return found == gave_up_.rend() ? nullptr : &found->reason;
}

bool Peers::note(Loss loss) {
  if (lost(loss.peer)) return false;
  losses_.push_back(std::move(loss));
  return true;
}

void Peers::note_shortage(std::uint32_t peer, int error, std::string text) {
  shortages_.insert_or_assign(peer, Shortage{error, std::move(text)});
}

std::string Peers::shortage(std::uint32_t peer, int error) const {
  const auto found = shortages_.find(peer);
  return found != shortages_.end() && found->second.error == error ? found->second.text : shortage_remedy(error);
}

void Peers::throw_lost(const char* what, std::uint32_t peer) const {
  const Loss* loss = find(peer);
  const std::string* wrong_calls = loss == nullptr ? gave_up(peer) : nullptr;
  if (wrong_calls != nullptr && !wrong_calls->empty()) throw Error(Errc::bad_input, *wrong_calls);
  if (wrong_calls != nullptr) {
    throw Error::of_operation(
        Errc::given_up, what, static_cast<int>(id_), static_cast<int>(peer),
        fmt::format("rank {} has ended a collective of this team early; its own error tells why", peer));
  }
  throw Error::of_operation(Errc::peer_lost, what, static_cast<int>(id_), static_cast<int>(peer),
                            loss != nullptr ? loss->reason : "another member of the team has lost it");
}

Peers::Peers(std::uint32_t id) noexcept : id_(id) {}

Peers::~Peers() = default;

std::span<const Loss> Peers::losses() const noexcept {
  return losses_;
}

void Peers::note_gave_up(std::uint32_t peer, std::string reason) {
  gave_up_.push_back({peer, std::move(reason)});
}

}  // namespace coracle::internals
