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

namespace {

Send send_as(Team& team, const Envelope& envelope, const MessageSource& data, std::uint32_t to) {
  Messages::check_member(team, to, "send");
  CORACLE_ASSERT(envelope.tag != kAnyTag, "send: kAnyTag is for receives");
  Rank& rank = team.rank();
  return {Messages::of(rank), envelope, data, rank.core(), team.member(to)};
}

Receive recv_as(Team& team, const Envelope& wanted, const MessageTarget& buffer) {
  if (wanted.source != kAnySource) Messages::check_member(team, wanted.source, "recv");
  Messages& all = Messages::of(team.rank());
  return {all, team, wanted, Messages::peer_of(team, wanted.source), buffer, all.on_device(buffer)};
}

}  // namespace

MatchedMessage::MatchedMessage(Messages& messages, UnexpectedOwner message) noexcept
    : messages_(&messages), message_(std::move(message)) {}

MatchedMessage::~MatchedMessage() {
  if (message_) messages_->drop(std::move(message_));
}

Received MatchedMessage::info() const noexcept {
  return {message_->envelope.source, message_->envelope.tag, message_->bytes()};
}

Task<Received> MatchedMessage::recv(const MessageTarget& target) {
  CORACLE_ASSERT(message_ != nullptr, "a matched message was received twice");
  messages_->begin_to_take(*message_);
  return messages_->receive(std::move(message_), target);
}

Send PersistentSend::run() {
  return team_.send(source_, to_, tag_);
}

Started<> PersistentSend::start() {
  return coracle::internals::start(team_.rank(), run());
}

Started<Received> PersistentRecv::start() {
  return coracle::internals::start(team_.rank(), run());
}

Receive PersistentRecv::run() {
  return team_.recv(target_, from_, tag_);
}

PersistentSend Team::prepare_send(const MessageSource& data, std::uint32_t to, std::uint64_t tag) {
  return {*this, data, to, tag};
}

PersistentRecv Team::prepare_recv(const MessageTarget& buffer, std::uint32_t from, std::uint64_t tag) {
  return {*this, buffer, from, tag};
}

Send Team::send(const MessageSource& data, std::uint32_t to, std::uint64_t tag) {
  return send_as(*this, {identity(), index(), tag}, data, to);
}

Send Team::send_internal(const MessageSource& source, std::uint32_t to, std::uint64_t tag) {
  return send_as(*this, {internal_identity(), index(), tag}, source, to);
}

Task<> Team::send_synchronously(const MessageSource& data, std::uint32_t to, std::uint64_t tag) {
  Messages::check_member(*this, to, "send");
  CORACLE_ASSERT(tag != kAnyTag, "send: kAnyTag is for receives");
  return Messages::of(rank()).sends().offer({identity(), index(), tag}, data, member(to));
}

Receive Team::recv(const MessageTarget& buffer, std::uint32_t from, std::uint64_t tag) {
  return recv_as(*this, {identity(), from, tag}, buffer);
}

Receive Team::receive_internal(const MessageTarget& target, std::uint32_t from, std::uint64_t tag) {
  return recv_as(*this, {internal_identity(), from, tag}, target);
}

Task<Received> Team::send_recv(MessageSource data, std::uint32_t to, std::uint64_t send_tag, MessageTarget buffer,
                               std::uint32_t from, std::uint64_t recv_tag) {
  // Posted first, so that what comes meanwhile finds it.
  const auto both = co_await when_all(recv(buffer, from, recv_tag), send(data, to, send_tag));
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
