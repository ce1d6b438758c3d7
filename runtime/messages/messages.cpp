// The protocol of tagged messages: data and offers go as active messages, which keep their order for each pair of
// ranks.
#include "runtime/messages/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "runtime/error.hpp"

namespace coracle {
namespace {

constexpr std::size_t kRoomBytes = 64 << 20;  // of all senders together, at one receiver
constexpr std::size_t kWindowBytesMin = 4096;
constexpr std::size_t kWindowBytesMax = 1 << 20;

std::size_t window_bytes(std::uint32_t ranks) noexcept {
  return std::clamp(kRoomBytes / std::max<std::size_t>(ranks, 1), kWindowBytesMin, kWindowBytesMax);
}

std::uint64_t pack(const Envelope& envelope) noexcept {
  return std::uint64_t{envelope.team} << 32 | envelope.source;
}

Envelope envelope_of(const Message& message) noexcept {
  const std::uint64_t packed = message.argument(0);
  return {static_cast<std::uint32_t>(packed >> 32), static_cast<std::uint32_t>(packed), message.argument(1)};
}

void check_place(const Team& team, std::uint32_t place, const char* what) {
  CORACLE_ASSERT(place < team.size(), "{}: there is no member {} in a team of {}", what, place, team.size());
}

}  // namespace

void throw_truncated(const Received& received, std::uint32_t rank, std::size_t bytes) {
  throw Error(Errc::truncated,
              fmt::format("a message of {} bytes from rank {} with tag {} was received into a buffer of {} bytes "
                          "(probe for its size first, or receive into a longer one)",
                          received.bytes, rank, received.tag, bytes));
}

void throw_short_value(const Received& received, std::size_t bytes) {
  throw Error(Errc::truncated,
              fmt::format("a message of {} bytes from member {} with tag {} was received as a value of "
                          "{} bytes",
                          received.bytes, received.source, received.tag, bytes));
}

Messages& Team::messages() noexcept {
  return rank_.local<Messages>();
}

Messages::Messages(Rank& rank) : rank_(rank), flow_(window_bytes(rank.size())) {}

Messages::~Messages() {
  CORACLE_ASSERT(matcher_.posted() == 0 && offered_.empty(), "a rank ended while {} receives and {} sends wait",
                 matcher_.posted(), offered_.size());
  if (const Matcher::Unexpected* first = matcher_.first(); first != nullptr) {
    const auto* message = static_cast<const UnexpectedMessage*>(first);
    std::fprintf(stderr,
                 "coracle: rank %u: %zu messages were not received; the first came from rank %u, with tag %llu and %zu "
                 "bytes\n",
                 rank_.id(), unexpected_, message->rank(), static_cast<unsigned long long>(message->envelope.tag),
                 message->bytes());
  }
  while (Matcher::Unexpected* message = matcher_.first()) take_out(static_cast<UnexpectedMessage&>(*message));
}

// --- sending ---

Send Messages::send(Team& team, std::span<const std::byte> data, std::uint32_t to, std::uint64_t tag) {
  check_place(team, to, "send");
  CORACLE_ASSERT(tag != kAnyTag, "send: kAnyTag is for receives");
  const Envelope envelope{team.identity(), team.index(), tag};
  return {*this, envelope, rank_.request(team.member(to), on_data, data, pack(envelope), tag)};
}

bool Send::await_ready() noexcept {
  const auto peer = static_cast<std::uint32_t>(request_.peer());
  if (messages_.may_go_at_once(peer, request_.bytes)) [[likely]]
    return request_.await_ready();
  const std::span data(static_cast<const std::byte*>(request_.local), request_.bytes);
  offer_.emplace(messages_.offer(envelope_, data, peer));
  offer_->awaited_at(request_.where());
  return false;
}

Task<> Messages::offer(Envelope envelope, std::span<const std::byte> data, std::uint32_t peer) {
  const std::uint64_t serial = ++serial_;
  Offered offered(rank_.core(), peer, *this, serial, data);
  const Loan loan(rank_.core().lent(), data);
  offered_.emplace(serial, &offered);
  std::exception_ptr failure;
  try {
    const Offer offer{reinterpret_cast<std::uint64_t>(data.data()), data.size(), serial,
                      cooperates(peer, data.size()) ? &offered.shared : nullptr};
    co_await rank_.request(peer, on_offer, std::as_bytes(std::span(&offer, 1)), pack(envelope), envelope.tag);
    co_await offered.taken;
  } catch (...) {
    failure = std::current_exception();
  }
  offered_.erase(serial);
  if (failure) std::rethrow_exception(failure);
  if (offered.withdrawn) co_await yield();  // throws: it was cancelled
}

void Messages::Offered::cancelled(void* offered) {
  auto& mine = *static_cast<Offered*>(offered);
  if (std::exchange(mine.asked_back, true)) return;
  Messages& messages = mine.messages;
  messages.rank_.service().spawn(messages.ask_back(static_cast<std::uint32_t>(mine.taken.peer()), mine.serial));
}

Task<> Messages::ask_back(std::uint32_t peer, std::uint64_t serial) {
  co_await yield();  // not from inside the cancellation
  if (offered_.contains(serial)) co_await rank_.request(peer, on_withdraw, {}, serial);
}

void Messages::on_taken(Rank& rank, const Message& message) {
  auto& offered = rank.local<Messages>().offered_;
  const auto found = offered.find(message.argument(0));
  // One that has ended by itself is not there any more.
  if (found == offered.end() || found->second->taken.peer() != static_cast<int>(message.source())) return;
  found->second->withdrawn = message.argument(1) != 0;
  found->second->taken.set();
}

void Messages::on_withdraw(Rank& rank, const Message& message) {
  auto& messages = rank.local<Messages>();
  const std::uint64_t serial = message.argument(0);
  for (auto* each = messages.matcher_.first(); each != nullptr; each = each->after) {
    auto& kept = static_cast<UnexpectedMessage&>(*each);
    if (!kept.is_offer() || kept.rank() != message.source() || kept.offer().serial != serial) continue;
    messages.take_out(kept);
    return message.reply(on_taken, {}, {serial, 1});
  }
  // It is being received: its sender will hear of that.
}

void Messages::on_room(Rank& rank, const Message& message) {
  rank.local<Messages>().flow_.received_by(message.source(), message.argument(0));
}

// --- arriving ---

void Messages::on_data(Rank& rank, const Message& message) {
  auto& messages = rank.local<Messages>();
  const Envelope envelope = envelope_of(message);
  if (messages.flow_.arrive(message.source(), message.payload().size())) [[unlikely]]
    rank.service().spawn(messages.tell_room(message.source()));
  if (Matcher::Posted* receive = messages.matcher_.match(envelope); receive != nullptr) {
    static_cast<Receive*>(receive)->deliver(envelope, message.source(), message.payload());
    messages.count_received(message.source(), message.payload().size());
    return;
  }
  messages.keep(UnexpectedMessage::with(envelope, message.source(), message.payload()));
}

void Messages::on_offer(Rank& rank, const Message& message) {
  auto& messages = rank.local<Messages>();
  const Envelope envelope = envelope_of(message);
  Offer offer;
  CORACLE_ASSERT(message.payload().size() == sizeof offer, "an offer of {} bytes from rank {}",
                 message.payload().size(), message.source());
  std::memcpy(&offer, message.payload().data(), sizeof offer);
  if (!messages.cooperates(message.source(), offer.bytes)) offer.shared = nullptr;
  if (Matcher::Posted* receive = messages.matcher_.match(envelope); receive != nullptr)
    static_cast<Receive*>(receive)->deliver(envelope, message.source(), offer);
  else
    messages.keep(UnexpectedMessage::with(envelope, message.source(), offer));
}

void Messages::keep(UnexpectedMessage::Owner message) {
  const Envelope& envelope = message->envelope;
  matcher_.keep(*message.release());
  ++unexpected_;
  std::erase_if(probes_, [&envelope](ProbeWait* probe) {
    if (!probe->accepts(envelope)) return false;
    probe->message_is_there();
    return true;
  });
}

UnexpectedMessage::Owner Messages::take_out(UnexpectedMessage& message) noexcept {
  matcher_.remove(message);
  --unexpected_;
  return UnexpectedMessage::Owner(&message);
}

UnexpectedMessage::Owner Messages::take_out_first(const Envelope& wanted) {
  UnexpectedMessage* there = find(wanted);
  return there != nullptr ? take_out(*there) : nullptr;
}

void Messages::count_received(std::uint32_t peer, std::size_t bytes) {
  if (flow_.receive(peer, bytes)) [[unlikely]]
    rank_.service().spawn(tell_room(peer));
}

Task<> Messages::tell_room(std::uint32_t peer) {
  co_await yield();  // not from inside a handler
  if (!rank_.lost(peer)) co_await rank_.request(peer, on_room, {}, flow_.received_from(peer));
}

// --- receiving ---

std::optional<std::uint32_t> Messages::lost_source(Team& team, std::uint32_t from) {
  if (!rank_.core().peers().any_lost()) [[likely]]
    return std::nullopt;
  if (from != kAnySource) return rank_.lost(team.member(from)) ? std::optional(team.member(from)) : std::nullopt;
  // Who receives from anybody hears once of each loss, and can then go on with those who live.
  for (const Loss& loss : rank_.losses()) {
    const std::pair of_loss(team.identity(), loss.peer);
    if (!team.has(loss.peer) || std::find(told_losses_.begin(), told_losses_.end(), of_loss) != told_losses_.end())
      continue;
    told_losses_.push_back(of_loss);
    return loss.peer;
  }
  return std::nullopt;
}

void Messages::told(const Team& team, std::uint32_t source, std::uint32_t rank) {
  if (source == kAnySource) told_losses_.emplace_back(team.identity(), rank);
}

Receive Messages::receive(Team& team, std::span<std::byte> buffer, std::uint32_t from, std::uint64_t tag) noexcept {
  if (from != kAnySource) check_place(team, from, "recv");
  return {*this, team, {team.identity(), from, tag}, buffer};
}

Task<> Messages::take_for(Receive& receive, Offer offer, std::uint32_t rank, std::span<std::byte> buffer) {
  std::exception_ptr failure;
  try {
    co_await yield();  // not from inside a handler: it may be a long copy
    if (offer.shared != nullptr && offer.bytes <= buffer.size())
      co_await take_together(offer, rank, buffer);
    else
      co_await take(offer, rank, buffer);
  } catch (...) {
    failure = std::current_exception();
  }
  receive.taken(std::move(failure));
}

Task<Received> Messages::receive(UnexpectedMessage::Owner message, std::span<std::byte> buffer) {
  const Received received{message->envelope.source, message->envelope.tag, message->bytes()};
  if (message->is_offer()) {
    co_await take(message->offer(), message->rank(), buffer);
  } else {
    if (received.bytes > 0 && received.bytes <= buffer.size())
      std::memcpy(buffer.data(), message->payload().data(), received.bytes);
    count_received(message->rank(), received.bytes);
  }
  if (received.bytes > buffer.size()) throw_truncated(received, message->rank(), buffer.size());
  co_return received;
}

/// Copies from the sender's buffer, if it fits, and lets it go.
Task<> Messages::take(Offer offer, std::uint32_t rank, std::span<std::byte> buffer) {
  std::exception_ptr failure;
  if (offer.bytes > 0 && offer.bytes <= buffer.size()) {
    try {
      const Remote<std::byte> there(RemoteAddress{offer.address, rank, RemoteAddress::kWholeMemory});
      co_await rank_.get(there, buffer.first(offer.bytes));
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (!rank_.lost(rank)) co_await say_taken(rank, offer.serial);
  if (failure) std::rethrow_exception(failure);
}

bool Messages::cooperates(std::uint32_t peer, std::size_t bytes) const noexcept {
  // Measured: from here on the help is worth the message that asks for it.
  constexpr std::size_t kBytesMin = 256 * 1024;
  const bool shares_addresses = rank_.placement() == Placement::pvas || rank_.placement() == Placement::thread;
  return bytes >= kBytesMin && shares_addresses && peer != rank_.id() && rank_.node_of(peer) == rank_.node() &&
         rank_.loop().spins();  // else a core is short for both
}

/// With the sender's help, if it comes.
Task<> Messages::take_together(Offer offer, std::uint32_t rank, std::span<std::byte> buffer) {
  co_await rank_.request(rank, on_help, {}, offer.serial, reinterpret_cast<std::uint64_t>(buffer.data()));
  SharedCopy& shared = *offer.shared;
  while (shared.copy_first(buffer.data())) {
  }
  // Until then the sender writes to the buffer.
  while (!shared.complete() && !rank_.lost(rank)) co_await yield();
  if (!shared.complete()) rank_.core().throw_lost("receive", rank);
  co_await say_taken(rank, offer.serial);
}

void Messages::on_help(Rank& rank, const Message& message) {
  auto& messages = rank.local<Messages>();
  const auto found = messages.offered_.find(message.argument(0));
  if (found == messages.offered_.end() || found->second->taken.peer() != static_cast<int>(message.source())) return;
  rank.service().spawn(messages.help(message.argument(0), reinterpret_cast<std::byte*>(message.argument(1))));
}

Task<> Messages::help(std::uint64_t serial, std::byte* target) {
  // The loop turns now and then: the receiver may have ended with it meanwhile, and others want something, too.
  constexpr int kChunksAtOnce = 8;
  for (;;) {
    co_await yield();
    const auto found = offered_.find(serial);
    if (found == offered_.end()) co_return;
    for (int chunk = 0; chunk < kChunksAtOnce; ++chunk)
      if (!found->second->shared.copy_last(target)) co_return;
  }
}

Task<> Messages::say_taken(std::uint32_t peer, std::uint64_t serial) {
  try {
    co_await rank_.request(peer, on_taken, {}, serial, 0);
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;  // then it waits no longer
  }
}

void Messages::drop(UnexpectedMessage::Owner message) {
  if (message->is_offer())
    rank_.service().spawn(say_taken(message->rank(), message->offer().serial));
  else
    count_received(message->rank(), message->bytes());
}

// --- probing ---

std::optional<Received> Messages::probe(Team& team, std::uint32_t from, std::uint64_t tag) {
  if (from != kAnySource) check_place(team, from, "probe");
  const UnexpectedMessage* there = find({team.identity(), from, tag});
  if (there == nullptr) return std::nullopt;
  return Received{there->envelope.source, there->envelope.tag, there->bytes()};
}

Task<Received> Messages::wait_probe(Team& team, std::uint32_t from, std::uint64_t tag) {
  for (;;) {
    if (const std::optional<Received> there = probe(team, from, tag)) co_return *there;
    if (const std::optional<std::uint32_t> lost = lost_source(team, from)) rank_.core().throw_lost("probe", *lost);
    ProbeWait wait(*this, team, {team.identity(), from, tag});
    co_await wait;
  }
}

std::optional<MatchedMessage> Messages::matched_probe(Team& team, std::uint32_t from, std::uint64_t tag) {
  if (from != kAnySource) check_place(team, from, "matched_probe");
  UnexpectedMessage* there = find({team.identity(), from, tag});
  if (there == nullptr) return std::nullopt;
  return MatchedMessage(*this, take_out(*there));
}

}  // namespace coracle
