// Team's tagged messages, as far as they are the same for all types.
#include "runtime/messages/send_recv.hpp"

#include <fmt/format.h>

#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "runtime/core/assert.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/messages/arrivals.hpp"
#include "runtime/messages/messages.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/started.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

void throw_short_value(const Received& received, std::size_t bytes) {
  throw Error(Errc::truncated,
              fmt::format("a message of {} bytes from member {} with tag {} was received as a value of "
                          "{} bytes",
                          received.bytes, received.source, received.tag, bytes));
}

MatchedMessage::MatchedMessage(Messages& messages, UnexpectedOwner message) noexcept
    : messages_(&messages), message_(std::move(message)) {}

MatchedMessage::~MatchedMessage() {
  if (message_) messages_->drop(std::move(message_));
}

Received MatchedMessage::info() const noexcept {
  return {message_->envelope.source, message_->envelope.tag, message_->bytes()};
}

Task<Received> MatchedMessage::receive(const MessageTarget& target) {
  CORACLE_ASSERT(message_ != nullptr, "a matched message was received twice");
  return messages_->receive(std::move(message_), target);
}

Send PersistentSend::run() {
  return team_.send_memory(source_, to_, tag_);
}

Started<> PersistentSend::start() {
  return coracle::internals::start(team_.rank(), run());
}

Started<Received> PersistentRecv::start() {
  return coracle::internals::start(team_.rank(), run());
}

Receive PersistentRecv::run() {
  return team_.receive_memory(target_, from_, tag_);
}

Send Team::send_memory(const MessageSource& source, std::uint32_t to, std::uint64_t tag) {
  Messages& all = Messages::of(rank());
  Messages::check_member(*this, to, "send");
  CORACLE_ASSERT(tag != kAnyTag, "send: kAnyTag is for receives");
  return {all, {identity(), index(), tag}, source, rank().core(), member(to)};
}

Send Team::send_internal(const MessageSource& source, std::uint32_t to, std::uint64_t tag) {
  Messages::check_member(*this, to, "send");
  return {Messages::of(rank()), {internal_identity(), index(), tag}, source, rank().core(), member(to)};
}

Task<> Team::send_memory_synchronously(const MessageSource& source, std::uint32_t to, std::uint64_t tag) {
  Messages::check_member(*this, to, "send");
  CORACLE_ASSERT(tag != kAnyTag, "send: kAnyTag is for receives");
  return Messages::of(rank()).rendezvous().offer({identity(), index(), tag}, source, member(to));
}

Task<> Team::send_synchronously(const ScatteredSource& source, std::uint32_t to, std::uint64_t tag) {
  return send_memory_synchronously(MessageSource(source), to, tag);
}

Send Team::send(const ScatteredSource& source, std::uint32_t to, std::uint64_t tag) {
  return send_memory(MessageSource(source), to, tag);
}

Receive Team::receive_memory(const MessageTarget& target, std::uint32_t from, std::uint64_t tag) {
  Messages& all = Messages::of(rank());
  if (from != kAnySource) Messages::check_member(*this, from, "recv");
  return {all, *this, {identity(), from, tag}, target, all.on_device(target)};
}

Receive Team::receive_internal(const MessageTarget& target, std::uint32_t from, std::uint64_t tag) {
  Messages& all = Messages::of(rank());
  if (from != kAnySource) Messages::check_member(*this, from, "recv");
  return {all, *this, {internal_identity(), from, tag}, target, all.on_device(target)};
}

Receive Team::recv(const ScatteredTarget& target, std::uint32_t from, std::uint64_t tag) {
  return receive_memory(MessageTarget(target), from, tag);
}

Task<Received> Team::send_recv(ScatteredSource source, std::uint32_t to, std::uint64_t send_tag, ScatteredTarget target,
                               std::uint32_t from, std::uint64_t recv_tag) {
  const std::tuple<Received, std::monostate> both =
      co_await when_all(recv(target, from, recv_tag), send(source, to, send_tag));
  co_return std::get<0>(both);
}

std::optional<Received> Team::probe(std::uint32_t from, std::uint64_t tag) {
  return Messages::of(rank()).probe(*this, from, tag);
}

Task<Received> Team::wait_probe(std::uint32_t from, std::uint64_t tag) {
  return Messages::of(rank()).wait_probe(*this, from, tag);
}

std::optional<MatchedMessage> Team::matched_probe(std::uint32_t from, std::uint64_t tag) {
  UnexpectedOwner message = Messages::of(rank()).matched_probe(*this, from, tag);
  if (message == nullptr) return std::nullopt;
  return MatchedMessage(Messages::of(rank()), std::move(message));
}

}  // namespace coracle::internals
