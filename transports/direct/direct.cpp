// Messages through inboxes.
#include "transports/direct/direct.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/core/copy_short.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/other_memory.hpp"
#include "runtime/core/timer.hpp"
#include "runtime/rank/flag_wait.hpp"

namespace coracle::internals::direct {
namespace {

/// What a rendezvous carries instead of its payload.
struct Descriptor {
  const std::byte* address;
  std::uint64_t bytes;
  RequestOperation* operation;  // the sender's; comes back with `taken`
};

std::size_t arguments_bytes(const MessageHeader& header) noexcept {
  return header.argument_count * sizeof(std::uint64_t);
}

/// Where `writing` is not null, `number` is the ring's. `light`: see Ring::publish_lightly; `in_a_row`: Ring::foresee.
[[gnu::always_inline]] inline bool write(Ring& ring, EntryType type, std::uint32_t source, const MessageHeader& header,
                                         std::span<const std::byte> payload, Writing* writing, std::uint64_t number,
                                         bool light, bool in_a_row) noexcept {
  const std::uint32_t lines = Ring::lines_for(arguments_bytes(header) + payload.size());
  EntryHeader* entry = ring.reserve(lines, writing, number);
  if (entry == nullptr) return false;
  // The receiver looks at the first line all the time, and takes it away from a sender that is not quick: so that one
  // is written last.
  const std::size_t arguments = arguments_bytes(header);
  const std::size_t in_first_line = std::min(payload.size(), kLineBytes - sizeof(EntryHeader) - arguments);
  std::byte* const body = entry->body();
  copy_upwards(payload.data() + in_first_line, body + arguments + in_first_line, payload.size() - in_first_line);
  entry->payload_bytes = static_cast<std::uint32_t>(payload.size());
  entry->handler = header.handler.to_wire();
  entry->source = source;
  entry->type = type;
  entry->argument_count = static_cast<std::uint8_t>(header.argument_count);
  for (std::uint32_t i = 0; i < header.argument_count; ++i)
    std::memcpy(body + i * sizeof(std::uint64_t), &header.arguments[i], sizeof(std::uint64_t));
  copy_short(payload.first(in_first_line), body + arguments);
  if (light)
    Ring::publish_lightly(*entry, lines);
  else
    Ring::publish(*entry, lines);
  if (writing != nullptr) [[unlikely]]
    writing->clear();
  ring.foresee(*entry, lines, in_a_row);
  return true;
}

}  // namespace

NodeInboxes::NodeInboxes(Rank& rank)
    : region_(rank.core().region()),
      self_(rank.id()),
      first_rank_(region_.first_rank()),
      inboxes_(region_.inbox(first_rank_)),
      inbox_bytes_(region_.shape().inbox_bytes),
      blocks_(&region_.block(first_rank_)),
      light_(rank.core().flag_waits().fences()),
      writing_(region_.shape().network.survive ? &of(self_).writing : nullptr) {
  CORACLE_ASSERT(inbox_bytes_ >= inbox_bytes(region_.ranks()), "inboxes of {} bytes; the job's maker must ask for {}",
                 inbox_bytes_, inbox_bytes(region_.ranks()));
}

inline bool NodeInboxes::write_request(std::uint32_t peer, EntryType type, const MessageHeader& header,
                                       std::span<const std::byte> payload) noexcept {
  const bool in_a_row = std::exchange(is_in_a_row_, true);
  return write(of(peer).requests, type, self_, header, payload, writing_, number_of_requests(peer), light_, in_a_row);
}

bool NodeInboxes::write_reply(std::uint32_t peer, EntryType type, const MessageHeader& header,
                              std::span<const std::byte> payload) const noexcept {
  return write(of(peer).replies, type, self_, header, payload, writing_, number_of_replies(peer), light_, false);
}

void NodeInboxes::starve(Ring& ring_of_peer, std::uint32_t peer) const noexcept {
  // seq_cst, and before mark_starved: whoever takes that mark finds the bit.
  const std::uint32_t self = self_ - first_rank_;
  of(peer).starving()[self / 64].fetch_or(std::uint64_t{1} << self % 64, std::memory_order_seq_cst);
  ring_of_peer.mark_starved();
}

void NodeInboxes::feed_starving() const noexcept {
  for (std::uint64_t word = 0; word < starving_words(region_.ranks()); ++word) {
    std::uint64_t bits = of(self_).starving()[word].exchange(0, std::memory_order_seq_cst);  // pairs with starve()
    for (; bits != 0; bits &= bits - 1)
      ring(first_rank_ + static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(bits)));
  }
}

Holes::Holes(Rank& rank, const NodeInboxes& inboxes) : rank_(rank), region_(rank.core().region()), inboxes_(inboxes) {
  if (region_.shape().network.survive)
    holes_.reserve(region_.ranks());  // one for each that dies: no memory may be left then
}

void Holes::note(std::uint32_t peer) noexcept {
  // Only of the dead: what a living rank is writing, it will write.
  if (!region_.shape().network.survive || region_.block(peer).phase.load(std::memory_order_acquire) != RankPhase::lost)
    return;
  const Writing& writing = inboxes_.of(peer).writing;
  // acquire, all: pairs with Writing's releases; and its process has ended.
  const std::uint64_t number = writing.ring.load(std::memory_order_acquire);
  const bool is_request = number == number_of_requests(rank_.id());
  if (!is_request && number != number_of_replies(rank_.id())) return;
  Inbox& own = inboxes_.of(rank_.id());
  Ring& ring = is_request ? own.requests : own.replies;
  const Hole hole{&ring, number, writing.begin.load(std::memory_order_acquire),
                  writing.end.load(std::memory_order_acquire)};
  if (ring.is_reserved(hole.end)) holes_.push_back(hole);  // else it died before that, and nothing is amiss
}

/// That a living peer writes to a ring of this rank, or is about to.
bool Holes::anyone_writes_to(std::uint64_t number) const noexcept {
  for (std::uint32_t peer = region_.first_rank(); region_.is_local(peer); ++peer) {
    // acquire: pairs with Writing's releases: where it is not named, what the peer has reserved is there.
    if (inboxes_.of(peer).writing.ring.load(std::memory_order_acquire) == number && !rank_.lost(peer)) return true;
  }
  return false;
}

/// Two dead peers have named lines at the same place: whose they are can't be told.
bool Holes::is_disputed(const Hole& hole, std::uint64_t position) const noexcept {
  return std::any_of(holes_.begin(), holes_.end(), [&](const Hole& other) {
    return other.ring == hole.ring && other.begin <= position && position < other.end && other.end != hole.end;
  });
}

/// The lines that a dead peer has named are its own if nobody has filled them and no living one names the ring: another
/// may have been the quicker to reserve them. True while that can't be told.
bool Holes::step_over_some() noexcept {
  bool unclear = false;
  std::erase_if(holes_, [](const Hole& hole) { return hole.ring->position() >= hole.end; });
  for (const Hole& hole : holes_) {
    const std::uint64_t position = hole.ring->position();
    if (position < hole.begin || !hole.ring->is_held_up() || is_disputed(hole, position)) continue;
    // Once more, after the look at the others: one that names the ring no more has handed over what it wrote.
    if (anyone_writes_to(hole.number) || !hole.ring->is_held_up())
      unclear = true;
    else
      hole.ring->step_over(hole.end);
  }
  return unclear;
}

DirectTransport::DirectTransport(Rank& rank)
    : rank_(rank),
      region_(rank.core().region()),
      inboxes_(rank),
      own_(inboxes_.of(rank.id())),
      shares_memory_(rank.placement() != Placement::process),
      survive_(region_.shape().network.survive),
      holes_(rank, inboxes_),
      losses_(rank),
      buffered_(own_.buffered.data()) {}

TransportTraits DirectTransport::traits() const noexcept {
  return {60, 10, kEagerBytesMax, true, 20, 20, 4, kBufferedBytesMax};
}

void DirectTransport::submit(Operation& operation) noexcept {
  if (operation.verb != Operation::Verb::request) return transfer(rank_, operation);
  auto& request = static_cast<RequestOperation&>(operation);
  const auto peer = static_cast<std::uint32_t>(request.peer());
  if (peer >= rank_.size()) return request.finish(Errc::no_such_peer);
  ++in_flight_;
  if (request.bytes <= kEagerBytesMax) return send_or_queue(request);
  const bool is_staged_now = is_staged(request);
  piggyback_.goes_to(peer);
  if (!is_staged_now) return send_or_queue(request);
  if ((!backlog_ || !waiting_.contains(peer)) && send_in_return(request)) return;
  RequestOperation* copy = buffered_.copy(request);
  if (copy == nullptr && request.bytes <= kWholeBytesMax && !backlog_ && send_whole(request)) return;
  send_or_queue(copy != nullptr ? *copy : request);
}

bool DirectTransport::send_whole(RequestOperation& request) noexcept {
  const auto peer = static_cast<std::uint32_t>(request.peer());
  const std::span payload(static_cast<const std::byte*>(request.local), request.bytes);
  if (!inboxes_.write_request(peer, EntryType::eager, request.header, payload)) return false;
  --in_flight_;
  inboxes_.ring(peer);
  request.finish();
  return true;
}

bool DirectTransport::send_now(std::uint32_t peer, const MessageHeader& header,
                               std::span<const std::byte> payload) noexcept {
  if (payload.size() > (inboxes_.is_in_a_row() ? kWholeBytesMax : kEagerBytesMax) || backlog_) return false;
  if (!inboxes_.write_request(peer, EntryType::eager, header, payload)) return false;
  inboxes_.ring(peer);
  return true;
}

bool DirectTransport::send_in_return(RequestOperation& request) noexcept {
  const auto peer = static_cast<std::uint32_t>(request.peer());
  const PiggybackBuffers::Buffer* buffer = piggyback_.of(peer);
  if (buffer == nullptr) return false;
  std::memcpy(buffer->memory, request.local, request.bytes);
  const Descriptor descriptor{buffer->memory, request.bytes, reinterpret_cast<RequestOperation*>(buffer->operation)};
  if (!inboxes_.write_request(peer, EntryType::piggybacked, request.header, std::as_bytes(std::span(&descriptor, 1))))
    return false;  // the buffer is kept as before
  piggyback_.remove(*buffer);
  --in_flight_;
  inboxes_.ring(peer);
  request.finish();
  return true;
}

void DirectTransport::send_or_queue(RequestOperation& request) noexcept {
  const auto peer = static_cast<std::uint32_t>(request.peer());
  if ((!backlog_ || !waiting_.contains(peer)) && send(request)) return;
  waiting_[peer].push(request);
  backlog_ = true;
  inboxes_.starve(inboxes_.of(peer).requests, peer);
}

bool DirectTransport::send(RequestOperation& request) noexcept {
  if (goes_whole(request)) return send_whole(request);
  if (!buffered_.has(request)) return send_by_address(request, EntryType::rendezvous);
  // Of a lost peer's answers the order tells which are missing.
  if (!send_by_address(request, survive_ ? EntryType::rendezvous : EntryType::buffered)) return false;
  buffered_.sent(request);
  return true;
}

bool DirectTransport::send_by_address(RequestOperation& request, EntryType type) noexcept {
  const auto peer = static_cast<std::uint32_t>(request.peer());
  const Descriptor descriptor{static_cast<const std::byte*>(request.local), request.bytes, &request};
  if (!inboxes_.write_request(peer, type, request.header, std::as_bytes(std::span(&descriptor, 1)))) return false;
  if (survive_) lent_[peer].push(request);
  inboxes_.ring(peer);
  return true;
}

void DirectTransport::reply(std::uint32_t peer, const MessageHeader& header,
                            std::span<const std::byte> payload) noexcept {
  if ((!backlog_ || waiting_replies_.empty()) && send_reply(peer, EntryType::eager, header, payload)) return;
  waiting_replies_.push_back({peer, EntryType::eager, header, {payload.begin(), payload.end()}});
  backlog_ = true;
}

bool DirectTransport::send_reply(std::uint32_t peer, EntryType type, const MessageHeader& header,
                                 std::span<const std::byte> payload) noexcept {
  if (!inboxes_.write_reply(peer, type, header, payload)) {
    inboxes_.starve(inboxes_.of(peer).replies, peer);
    return false;
  }
  inboxes_.ring(peer);
  return true;
}

void DirectTransport::about_to_sleep() noexcept {
  if (inboxes_.light()) rank_.core().flag_waits().pass_fence();
}

bool DirectTransport::poll() noexcept {
  losses_.look();
  const bool unclear = holes_.step_over();
  if (!own_.replies.active() && !own_.requests.active() && !backlog_) [[likely]] {
    piggyback_.idle();
    if (piggyback_.kept().empty()) [[likely]]
      return unclear;  // then there is no sleep: nobody would ring
    say_owed();
    return true;
  }
  bool progress = unclear;
  if (backlog_) progress |= retry();
  if (own_.replies.active()) progress |= poll_ring(own_.replies);
  // A request may make a reply: while old replies wait for room, no new requests are taken.
  if (own_.requests.active() && (!backlog_ || waiting_replies_.empty())) progress |= poll_ring(own_.requests);
  return progress;
}

bool DirectTransport::poll_ring(Ring& ring) noexcept {
  constexpr int kBatch = 64;  // then other pollers and coroutines get their turn
  // Giving lines back costs a locked store: while messages come it is done for many at once, else when there is none.
  // When all lines are owed, the next one still holds what was consumed a round ago: so not only after a batch.
  constexpr std::uint64_t kOwedMax = kRingLines / 4;
  const auto next = [&ring] { return ring.owed() < kOwedMax ? ring.front() : nullptr; };
  int count = 0;
  for (EntryHeader* entry = next(); entry != nullptr; entry = count < kBatch ? next() : nullptr) {
    ring.fetch_further_lines(*entry);
    receive(*entry);
    ring.pop();
    ++count;
    if (backlog_ && !waiting_replies_.empty() && &ring == &own_.requests) break;
  }
  if (count > 0) inboxes_.note_received();
  if ((count == 0 && ring.owed() > 0) || ring.owed() >= kOwedMax) {
    if (ring.give_back()) inboxes_.feed_starving();
  }
  return count > 0;
}

void DirectTransport::peer_lost(std::uint32_t peer) noexcept {
  holes_.note(peer);
  for (auto* queues : {&lent_, &waiting_}) {
    const auto found = queues->find(peer);
    if (found == queues->end()) continue;
    while (!found->second.empty()) {
      --in_flight_;
      found->second.pop()->finish(Errc::peer_lost);
    }
    queues->erase(found);
  }
  std::erase_if(waiting_replies_, [peer](const WaitingReply& reply) { return reply.peer == peer; });
  backlog_ = !waiting_.empty() || !waiting_replies_.empty();
}

void DirectTransport::receive(EntryHeader& entry) noexcept {
  // The memory of a lost peer may be gone, and its operations have ended.
  if (survive_ && rank_.lost(entry.source)) [[unlikely]]
    return;
  MessageHeader header;
  header.handler = HandlerId::from_wire(entry.handler);
  header.argument_count = entry.argument_count;
  CORACLE_ASSERT(header.argument_count <= MessageHeader::kArgumentsMax, "a message from rank {} with {} arguments",
                 entry.source, header.argument_count);
  // All that there may be: they lie in the first line, and a loop would take longer.
  static_assert(sizeof(EntryHeader) + sizeof header.arguments <= kLineBytes);
  std::memcpy(header.arguments.data(), entry.body(), sizeof header.arguments);
  const std::span<const std::byte> payload(entry.body() + arguments_bytes(header), entry.payload_bytes);
  switch (entry.type) {
    case EntryType::eager:
      rank_.core().deliver(header, Message(*this, entry.source, header, payload));
      break;
    case EntryType::rendezvous:
    case EntryType::buffered:
    case EntryType::piggybacked:
      receive_rendezvous(header, entry.type, entry.source, payload);
      break;
    case EntryType::taken:
      --in_flight_;
      if (survive_) lent_[entry.source].pop();
      reinterpret_cast<RequestOperation*>(header.arguments[0])
          ->finish(header.arguments[1] == 0
                       ? std::error_code()
                       : std::error_code(static_cast<int>(header.arguments[1]), std::generic_category()));
      break;
    case EntryType::padding:
      break;
  }
}

void DirectTransport::deliver_in_place(const MessageHeader& header, EntryType type, std::uint32_t source,
                                       std::span<const std::byte> payload) noexcept {
  const Message message(*this, source, header, payload);
  const bool is_senders_own = type == EntryType::rendezvous && !survive_ && payload.size() > kBufferedBytesMax &&
                              payload.size() <= BufferedSends::kBufferBytes;
  if (!is_senders_own || !piggyback_.cold_reads().wants_time()) return rank_.core().deliver(header, message);
  const std::uint64_t begin_ns = real_clock().now_ns();
  rank_.core().deliver(header, message);
  piggyback_.cold_reads().was_read(payload.size(), real_clock().now_ns() - begin_ns);
}

void DirectTransport::receive_rendezvous(const MessageHeader& header, EntryType type, std::uint32_t source,
                                         std::span<const std::byte> body) noexcept {
  Descriptor descriptor;
  std::memcpy(&descriptor, body.data(), sizeof descriptor);
  int error = 0;
  if (shares_memory_ || region_.contains(descriptor.address, descriptor.bytes)) {
    deliver_in_place(header, type, source, {descriptor.address, descriptor.bytes});
  } else {
    std::vector<std::byte> copy(descriptor.bytes);
    error = read_whole_from_other(region_.block(source).pid.load(std::memory_order_relaxed),
                                  reinterpret_cast<std::uint64_t>(descriptor.address), copy);
    if (error == 0) rank_.core().deliver(header, Message(*this, source, header, copy));
    piggyback_.cold_reads().was_fetched();
  }
  piggyback_.came_from(source);
  if (type == EntryType::piggybacked) {
    --in_flight_;
    return descriptor.operation->finish();
  }
  const auto operation = reinterpret_cast<std::uint64_t>(descriptor.operation);
  // Measured: answers to longer ones had better come before the next message, since fetching their lines takes time.
  constexpr std::size_t kUnhurriedBytesMax = 768;
  const bool is_kept =
      type == EntryType::buffered && error == 0 && (descriptor.bytes <= kUnhurriedBytesMax || piggyback_.are_likely());
  if (!is_kept) return say_taken(source, operation, error);
  if (piggyback_.full()) say_owed();
  piggyback_.keep({source, operation, const_cast<std::byte*>(descriptor.address)});
}

void DirectTransport::say_taken(std::uint32_t peer, std::uint64_t operation, int error) noexcept {
  MessageHeader taken;
  taken.argument_count = 2;
  taken.arguments = {operation, static_cast<std::uint64_t>(error)};
  if (waiting_replies_.empty() && send_reply(peer, EntryType::taken, taken, {})) return;
  waiting_replies_.push_back({peer, EntryType::taken, taken, {}});
  backlog_ = true;
}

void DirectTransport::say_owed() noexcept {
  for (const PiggybackBuffers::Buffer& buffer : piggyback_.kept()) say_taken(buffer.peer, buffer.operation, 0);
  piggyback_.clear();
}

bool DirectTransport::retry() noexcept {
  bool progress = false;
  while (!waiting_replies_.empty()) {
    const WaitingReply& reply = waiting_replies_.front();
    if (!send_reply(reply.peer, reply.type, reply.header, reply.payload)) break;
    waiting_replies_.pop_front();
    progress = true;
  }
  for (auto queue = waiting_.begin(); queue != waiting_.end();) {
    while (!queue->second.empty()) {
      Operation* operation = queue->second.front();
      Operation* next = operation->next;  // the operation may be gone once it has been sent
      if (!send(static_cast<RequestOperation&>(*operation))) break;
      queue->second.drop_front(next);
      progress = true;
    }
    if (queue->second.empty()) {
      queue = waiting_.erase(queue);
    } else {
      inboxes_.starve(inboxes_.of(queue->first).requests, queue->first);
      ++queue;
    }
  }
  backlog_ = !waiting_.empty() || !waiting_replies_.empty();
  return progress;
}

}  // namespace coracle::internals::direct
