// What the members of a group send each other, by way of the mailbox.
#include <algorithm>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/choice/tuning.hpp"
#include "collectives/messages/mailbox.hpp"
#include "runtime/core/assert.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/team/phase.hpp"

namespace coracle::internals {
namespace {

// Sending no more than this never waits for the receiver's program, so that it need not go on beside the receive.
constexpr std::size_t kSentAtOnceBytes = 512;

}  // namespace

std::uint64_t Group::tag(std::uint32_t step) const noexcept {
  return tag_of(sequence_, first_step_ + step);
}

Algorithm Group::algorithm(Collective collective, std::size_t bytes) const {
  if (asked_ == Algorithm::automatic) {
    const Work work{bytes, size_, team_->nodes().count() == 1};
    return team_->rank().local<Tuning>().algorithm(collective, work);
  }
  const std::span<const Algorithm> known = algorithms_of(collective);
  CORACLE_ASSERT(std::find(known.begin(), known.end(), asked_) != known.end(), "{} is no way of {}", name_of(asked_),
                 name_of(collective));
  return asked_;
}

// Not coroutines: they hand on the mailbox's.
Task<> Group::send(std::uint32_t to, std::uint32_t step, std::span<const std::byte> data) const {
  return team_->rank().local<Mailbox>().send(*team_, member(to), tag(step), data);
}

Task<> Group::receive(std::uint32_t from, std::uint32_t step, std::span<std::byte> data) const {
  return team_->rank().local<Mailbox>().receive(*team_, member(from), tag(step), data);
}

Task<> Group::in_phase(const char* name, Task<> part) const {
  if (team_->rank().loop().events() == nullptr) [[likely]]
    return part;
  return run_in_phase(*this, name, std::move(part));
}

Task<> Group::run_in_phase(Group group, const char* name, Task<> part) {
  const Phase phase(*group.team_, group.sequence_, name, group.team_->rank().id());
  co_await part;
}

Task<> exchange(Group group, std::uint32_t step, std::uint32_t to, std::span<const std::byte> sent, std::uint32_t from,
                std::span<std::byte> received) {
  if (sent.size() <= kSentAtOnceBytes) {
    co_await group.send(to, step, sent);
    co_await group.receive(from, step, received);
    co_return;
  }
  Task<> sending = group.send(to, step, sent);
  Task<> receiving = group.receive(from, step, received);
  co_await when_all(std::move(sending), std::move(receiving));
}

}  // namespace coracle::internals
