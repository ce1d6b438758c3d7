// The receiver's side of rendezvous: which way a message is taken, and how.
#include <algorithm>
#include <exception>
#include <new>

#include "runtime/core/error.hpp"
#include "runtime/core/other_memory.hpp"
#include "runtime/messages/direct_copies.hpp"
#include "runtime/messages/helped_copies.hpp"
#include "runtime/messages/rendezvous.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
namespace {

/// Whether the kernel does not let processes read each other's memory here.
bool is_refused(const std::error_code& error) noexcept {
  return error.category() == std::generic_category() && is_other_memory_refused(error.value());
}

/// About how long one core copies it, on the machine of the measurements: by bytes, since lines come from another
/// core's cache, and by blocks.
double copy_ns(std::uint64_t bytes, std::uint64_t blocks) noexcept {
  constexpr double kByteNs = 0.08;
  constexpr double kBlockNs = 1;
  return static_cast<double>(bytes) * kByteNs + static_cast<double>(blocks) * kBlockNs;
}

}  // namespace

Rendezvous::Rendezvous(Rank& rank, const RendezvousHandlers& handlers, MessageRooms& rooms)
    : rank_(rank),
      handlers_(handlers),
      scheme_(rank.core().region().shape().messages.scheme),
      rooms_(rooms),
      helped_copies_(rank.core().region().block(rank.id())),
      may_be_helped_(may_be_helped()) {}

Rendezvous::~Rendezvous() {
  CORACLE_ASSERT(arriving_.empty(), "a rank ended while {} messages come", arriving_.size());
}

void Rendezvous::answer(const Message& message, std::uint64_t serial, RendezvousEnd end) const {
  message.reply(handlers_.taken, {}, {serial, static_cast<std::uint64_t>(end), 0});
}

Task<> Rendezvous::take(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target) {
  const bool by_engines = offer.on_device() || is_on_device(rank_.core(), target);
  std::exception_ptr failure;
  bool device_failed = false;
  RendezvousScheme scheme = RendezvousScheme::one_sided;
  if (offer.bytes > 0 && offer.bytes <= target.bytes()) {
    bool refused = false;
    try {
      co_await take_whole(offer, peer, target, scheme);
    } catch (const Error& error) {
      refused = !by_engines && scheme_ != RendezvousScheme::cma && is_refused(error.code());
      if (!refused) failure = std::current_exception();
      device_failed = by_engines && error.code() != std::errc::operation_canceled;
    } catch (const std::bad_alloc&) {
      failure = std::current_exception();
      device_failed = by_engines;
    }
    if (refused) {
      kernel_refuses_ = true;
      scheme = RendezvousScheme::shm;
      co_await pull(offer, peer, target);  // fails only with its sender
    }
  }
  // Who has sent all pieces knows by itself.
  if (scheme != RendezvousScheme::shm && !rank_.lost(peer)) co_await say_taken(peer, offer, device_failed);
  if (failure) std::rethrow_exception(failure);
}

Task<> Rendezvous::take_whole(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target,
                              RendezvousScheme& scheme) {
  // Of shorter ones looking at the clock would cost too much.
  constexpr double kLearnedFromNs = 1500;
  std::optional<RendezvousScheme> fixed = device_scheme(offer, target);
  if (!fixed && offer.is_handed)
    co_return co_await copy_alone(MessageSource({reinterpret_cast<const std::byte*>(offer.address), offer.bytes}),
                                  target);
  if (!fixed) fixed = fixed_scheme(offer, peer);
  if (fixed) {
    scheme = *fixed;
    co_return co_await fetch(scheme, offer, peer, target);
  }
  const Choice all = choice(offer, peer, target);
  const bool learns = all.count > 1 && copy_ns(offer.bytes, target.blocks()) >= kLearnedFromNs;
  const void* source = offer.shared != nullptr ? offer.shared->source().form() : nullptr;
  const MessageClass kind{peer, offer.bytes, source, target.form()};
  const std::size_t chosen = learns ? tuner_.choose(kind, all.count, all.expected) : all.expected;
  scheme = all.schemes[chosen];
  const bool may_have_room = offer.shared != nullptr && offer.count == 0 && offer.bytes <= MessageRooms::kRoomBytes;
  const bool tells = may_have_room && !target.is_scattered() && scheme != RendezvousScheme::shm && peer != rank_.id() &&
                     rooms_.cold_reads().wants_time();
  if (!learns && !tells) co_return co_await fetch(scheme, offer, peer, target);
  const std::uint64_t start = rank_.loop().exact_now_ns();
  co_await fetch(scheme, offer, peer, target);
  const std::uint64_t ns = rank_.loop().exact_now_ns() - start;
  // What its receiver has read its sender must fetch back before it writes there again, which the receiver doesn't see.
  constexpr double kCopiedApart = 0.85;
  const bool is_plain = offer.count == 0 && !target.is_scattered();
  const bool copied_apart = offer.shared == nullptr && is_plain && scheme == RendezvousScheme::shm;
  const double weight = copied_apart ? kCopiedApart : 1;
  if (learns) tuner_.learn(kind, chosen, weight * static_cast<double>(ns));
  if (tells) rooms_.cold_reads().was_read(offer.bytes, ns);
}

Task<> Rendezvous::say_taken(std::uint32_t peer, ReadyToSend offer, bool failed) {
  const RendezvousEnd end = failed ? RendezvousEnd::failed : RendezvousEnd::received;
  std::byte* const room = offer.is_handed ? rooms_.exchange(reinterpret_cast<std::byte*>(offer.address)) : nullptr;
  try {
    co_await rank_.request(peer, handlers_.taken, {}, offer.serial, static_cast<std::uint64_t>(end),
                           reinterpret_cast<std::uint64_t>(room));
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;  // then it waits no longer
  }
}

// --- the choice ---

std::optional<RendezvousScheme> Rendezvous::fixed_scheme(const ReadyToSend& offer, std::uint32_t peer) const noexcept {
  const bool beside = is_beside(rank_, peer);
  const bool is_known = offer.shared != nullptr || offer.count == 0 || offer.layout_bytes > 0;
  const auto is_possible = [&] {
    switch (scheme_) {
      case RendezvousScheme::one_sided:
        return offer.shared != nullptr;
      case RendezvousScheme::cooperative:
        return offer.shared != nullptr && peer != rank_.id();
      case RendezvousScheme::shm:
        return beside;
      case RendezvousScheme::cma:
        return beside && is_known;
      default:
        return false;
    }
  };
  return is_possible() ? std::optional(scheme_) : std::nullopt;
}

Rendezvous::Choice Rendezvous::choice(const ReadyToSend& offer, std::uint32_t peer,
                                      const MessageTarget& target) const noexcept {
  if (offer.shared == nullptr) return choice_between_processes(offer, peer, target);
  // Measured: from here on the help is worth the message that asks for it.
  constexpr double kHelpedFromNs = 2500;
  if (peer == rank_.id()) return {{RendezvousScheme::one_sided}, 1, 0};
  // Without a core for each both together are no faster than one.
  const bool can_help = rank_.loop().spins();
  const double ns = copy_ns(offer.bytes, std::max(offer.shared->source().blocks(), target.blocks()));
  const std::size_t expected = can_help && ns >= kHelpedFromNs ? 2 : 0;
  return {{RendezvousScheme::one_sided, RendezvousScheme::shm, RendezvousScheme::cooperative},
          can_help ? std::size_t{3} : 1,
          expected};
}

Rendezvous::Choice Rendezvous::choice_between_processes(const ReadyToSend& offer, std::uint32_t peer,
                                                        const MessageTarget& target) const noexcept {
  const bool beside = is_beside(rank_, peer);
  // Memory in the job's region is reached without the kernel.
  const RemoteAddress there{offer.address, peer, RemoteAddress::kWholeMemory};
  const bool is_near = beside && rank_.core().addresses().reach(there, offer.bytes) != nullptr;
  const bool is_plain = offer.count == 0 && !target.is_scattered();
  if (is_plain && (is_near || !beside)) return {{RendezvousScheme::get}, 1, 0};
  const bool is_known = offer.count == 0 || offer.layout_bytes > 0;
  if (!beside || kernel_refuses_ || !is_known) return {{RendezvousScheme::shm}, 1, 0};
  // Measured: whether two copies at once are quicker than the kernel's one depends on the machine, from half of its
  // time to twice, and on who else copies: where messages go to and fro each side has its hands full. There trials
  // would cost a sixth, since each message is timed with all that are under way. A sender that computes meanwhile does
  // not help. With the kernel's copy it does where it finds time, and nobody waits for it; but what the one writes to
  // the other's buffer it takes from the other's caches, which shows where both sides receive.
  constexpr std::uint64_t kTriedFromBytes = 512 * 1024;
  constexpr std::uint64_t kAlwaysTriedFromBytes = 8 * 1024 * 1024;
  const bool sends_nothing =  // relaxed: only this rank writes it
      rank_.core().region().block(rank_.id()).offered_bytes.load(std::memory_order_relaxed) == 0;
  const bool both_are_free = sends_nothing && offer.is_attended && rank_.loop().spins();
  const std::uint64_t tried_from = both_are_free ? kTriedFromBytes : kAlwaysTriedFromBytes;
  const bool is_helped =
      may_be_helped_ && rank_.loop().spins() && sends_nothing && offer.bytes >= HelpedChunks::kBytesMin;
  if (!is_plain) return {{RendezvousScheme::cma, RendezvousScheme::shm}, 2, 0};
  if (offer.bytes < tried_from) return {{is_helped ? RendezvousScheme::cooperative : RendezvousScheme::get}, 1, 0};
  constexpr std::size_t kGet = 0;
  constexpr std::size_t kCooperative = 2;
  return {{RendezvousScheme::get, RendezvousScheme::shm, RendezvousScheme::cooperative},
          is_helped ? std::size_t{3} : 2,
          is_helped ? kCooperative : kGet};
}

Task<> Rendezvous::fetch(RendezvousScheme scheme, ReadyToSend offer, std::uint32_t peer, const MessageTarget& target) {
  switch (scheme) {
    case RendezvousScheme::one_sided:
      return copy_alone(offer.shared->source(), target);
    case RendezvousScheme::cooperative:
      return offer.shared != nullptr ? copy_together(offer, peer, target) : copy_with_process(offer, peer, target);
    case RendezvousScheme::cma:
      return copy_by_kernel(offer, peer, target);
    case RendezvousScheme::get:
      return get_whole(offer, peer, target);
    case RendezvousScheme::device:
      return copy_by_engines(offer, peer, target);
    case RendezvousScheme::device_pieces:
      return pull_to_device(offer, peer, target);
    case RendezvousScheme::automatic:  // what is fetched has been chosen
    case RendezvousScheme::shm:
      break;
  }
  return pull(offer, peer, target);
}

// --- the ways ---

/// Past the caches where ranks share processors, so that others run before the message is read, if as much from each
/// rank of the node is about what the caches hold (measured: it costs at half of that), and a good part of them does
/// send so much. Only what is a row of bytes on both sides.
Copying Rendezvous::copying_of(const MessageSource& source, const MessageTarget& target) const {
  constexpr std::uint64_t kBytesMin = 64 * 1024;  // few caches are smaller than two of these
  constexpr std::uint64_t kShare = 4;             // while some wait for a processor, not all have offered theirs
  if (source.bytes() < kBytesMin || rank_.loop().spins() || source.is_scattered() || target.is_scattered())
    return Copying::by_caches;
  static const std::uint64_t cache_bytes = last_level_cache_bytes();
  const std::uint64_t ranks = rank_.core().region().ranks_of(rank_.node());
  const std::uint64_t of_all = ranks * source.bytes();
  const bool is_much = 2 * of_all >= cache_bytes / 4 * 3 && offered_on_node() >= of_all / kShare;
  return is_much ? Copying::past_caches : Copying::by_caches;
}

std::uint64_t Rendezvous::offered_on_node() const noexcept {
  const JobRegion& region = rank_.core().region();
  const std::uint32_t first = region.first_rank_of(rank_.node());
  std::uint64_t bytes = 0;
  for (std::uint32_t rank = first; rank < first + region.ranks_of(rank_.node()); ++rank)
    bytes += region.block(rank).offered_bytes.load(std::memory_order_relaxed);  // an estimate
  return bytes;
}

Task<> Rendezvous::copy_alone(MessageSource source, const MessageTarget& target) {
  constexpr std::uint64_t kAtOnce = 1 << 20;  // then others get their turn
  const Copying copying = copying_of(source, target);
  for (std::uint64_t position = 0; position < source.bytes(); position += kAtOnce) {
    if (position > 0) co_await turn();
    const std::uint64_t bytes = std::min<std::uint64_t>(kAtOnce, source.bytes() - position);
    if (copying == Copying::past_caches)
      streaming_copy(source.span().subspan(position, bytes), target.span().data() + position);
    else
      copy_part(target, source, position, bytes);
  }
}

Task<> Rendezvous::copy_together(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target) {
  co_await rank_.request(peer, handlers_.help, {}, offer.serial, reinterpret_cast<std::uint64_t>(&target));
  SharedCopy& shared = *offer.shared;
  while (shared.copy_first(target)) {
  }
  // Until then the sender writes to the buffer.
  while (!shared.complete() && !rank_.lost(peer)) co_await turn();
  if (!shared.complete()) rank_.core().peers().throw_lost("receive", peer);
}

Task<> Rendezvous::copy_with_process(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target) {
  std::optional<HelpedCopies::Copy> copy = helped_copies_.begin(offer.bytes);
  if (!copy) co_return co_await get_whole(offer, peer, target);
  const std::span<std::byte> all = target.span().first(offer.bytes);
  std::exception_ptr failure;
  try {
    co_await rank_.request(peer, handlers_.help, {}, offer.serial, reinterpret_cast<std::uint64_t>(all.data()),
                           copy->key());
  } catch (...) {
    failure = std::current_exception();
  }
  // relaxed: the peer's first message came after it had stored its pid.
  const pid_t pid = rank_.core().region().block(peer).pid.load(std::memory_order_relaxed);
  const bool has_read = failure == nullptr && read_own_chunks(*copy, pid, offer.address, all);
  if (failure) copy->withdraw();
  while (!copy->complete() && !rank_.lost(peer)) co_await turn();  // until then the sender writes to the buffer
  if (failure) std::rethrow_exception(failure);
  if (!copy->complete()) rank_.core().peers().throw_lost("receive", peer);
  if (is_other_memory_refused(copy->error())) may_be_helped_ = false;
  // Once more, alone, or to be told what the matter is.
  if (!has_read || copy->error() != 0) co_await get_whole(offer, peer, target);
}

Task<> Rendezvous::copy_by_kernel(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target) {
  std::vector<std::byte> encoded(offer.layout_bytes);
  if (!encoded.empty()) {
    const Remote<std::byte> there(RemoteAddress{offer.layout_address, peer, RemoteAddress::kWholeMemory});
    co_await rank_.get(there, std::span(encoded));
  }
  const Layout layout = encoded.empty() ? Layout() : Layout::decode(encoded);
  const auto* origin = reinterpret_cast<const std::byte*>(offer.address);
  const MessageSource source = offer.shared != nullptr ? offer.shared->source()
                               : offer.count > 0       ? MessageSource(ScatteredSource{origin, layout, offer.count})
                                                       : MessageSource(std::span(origin, offer.bytes));
  // relaxed: the peer's first message came after it had stored its pid.
  const pid_t pid = rank_.core().region().block(peer).pid.load(std::memory_order_relaxed);
  const std::error_code error = copy_from_process(pid, target, source, offer.bytes);
  if (!error) co_return;
  throw Error::of_operation(error, "receive", static_cast<int>(rank_.id()), static_cast<int>(peer),
                            "the kernel does not copy from the sender's process; --intranode shm does without");
}

Task<> Rendezvous::get_whole(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target) {
  const Remote<std::byte> there(RemoteAddress{offer.address, peer, RemoteAddress::kWholeMemory});
  co_await rank_.get(there, target.span().first(offer.bytes));
}

Task<> Rendezvous::pull(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target, Scope* landings) {
  Arriving arriving(rank_.core(), peer, target, offer.bytes, landings);
  const std::uint64_t number = ++arrivals_;
  const std::uint64_t tells = landings != nullptr ? 1 : 0;
  arriving_.emplace(number, &arriving);
  std::exception_ptr failure;
  try {
    co_await rank_.request(peer, handlers_.pull, {}, offer.serial, number, tells);
    co_await arriving.whole;
  } catch (...) {
    failure = std::current_exception();
  }
  arriving_.erase(number);
  if (!failure) failure = arriving.failure;
  if (failure) std::rethrow_exception(failure);
}

void Rendezvous::on_piece(const Message& message) {
  const auto found = arriving_.find(message.argument(0));
  CORACLE_ASSERT(found != arriving_.end(), "a piece from rank {} of a message that nobody receives", message.source());
  Arriving& arriving = *found->second;
  const std::span<const std::byte> piece = message.payload();
  CORACLE_ASSERT(piece.size() <= arriving.missing && message.argument(1) + piece.size() <= arriving.target.bytes(),
                 "a piece of {} bytes from rank {}, of which {} are missing", piece.size(), message.source(),
                 arriving.missing);
  if (arriving.landings == nullptr)
    write_part(arriving.target, message.argument(1), piece);
  else
    land(arriving, message.argument(1), piece);
  arriving.missing -= piece.size();
  if (arriving.missing == 0) arriving.whole.set();
}

}  // namespace coracle::internals
