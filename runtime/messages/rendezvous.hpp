// Rendezvous: how a message that stays with its sender until it is received gets to its receiver: by one copy that the
// receiver makes, or both make together, or the kernel; or in pieces, which the sender packs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/core/cpu.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/task.hpp"
#include "runtime/job/job.hpp"
#include "runtime/messages/bounce_buffers.hpp"
#include "runtime/messages/direct_copies.hpp"
#include "runtime/messages/helped_copies.hpp"
#include "runtime/messages/message_memory.hpp"
#include "runtime/messages/message_rooms.hpp"
#include "runtime/messages/pending.hpp"
#include "runtime/messages/scheme_tuner.hpp"
#include "runtime/messages/written_memory.hpp"
#include "runtime/rank/message.hpp"
#include "runtime/rank/peer_event.hpp"
#include "runtime/rank/rank_core.hpp"
#include "runtime/team/envelope.hpp"

namespace coracle::internals {

class Rank;

// What messages do with memory of a GPU, which loads and stores do not reach.

/// There are GPUs, and one of them covers it.
bool is_of_device(const RankCore& core, const std::byte* address) noexcept;

/// Whether it lies in a GPU's memory.
template <class Byte>
bool is_on_device(const RankCore& core, const MessageMemory<Byte>& memory) {
  return core.device_memory() != nullptr && memory.bytes() > 0 && is_of_device(core, memory.lowest());
}

/// Copies a message that is here, by a GPU's engines. All must live until it has ended.
Task<> copy_to_device(RankCore& core, std::span<const std::byte> payload, const MessageTarget& target);

/// Of the messages of rendezvous: they call the functions of these names, or of Messages, at the other side.
struct RendezvousHandlers {
  Handler offer;
  Handler withdraw;
  Handler taken;
  Handler help;
  Handler pull;
  Handler piece;
  Handler want;
  Handler supply;
};

/// What the receiver says of a message, when it needs it no more.
enum class RendezvousEnd : std::uint64_t { received, withdrawn, failed };

/// Whether `peer` is of this node, so that both see one memory, or the same kernel.
bool is_beside(const Rank& rank, std::uint32_t peer) noexcept;
/// Whether the memory of `peer` is plain memory here.
bool shares_addresses(const Rank& rank, std::uint32_t peer) noexcept;

/// The sender's side: the messages of one rank that wait to be received. Its thread only.
class RendezvousSends {
 public:
  /// `scheme`, `rooms`: of the rank, at any time.
  RendezvousSends(Rank& rank, const RendezvousHandlers& handlers, const RendezvousScheme& scheme, MessageRooms& rooms);
  ~RendezvousSends();
  RendezvousSends(const RendezvousSends&) = delete;
  RendezvousSends& operator=(const RendezvousSends&) = delete;

  /// Done when the message has been received. `is_short`: or when the receiver keeps it, see ShortOffers.
  Task<> offer(Envelope envelope, MessageSource source, std::uint32_t peer, bool is_short = false);
  BounceBuffers& bounce_buffers() noexcept { return bounce_buffers_; }

  /// While it lives the sends that begin are of a function that returns before they end, so that the program may
  /// compute meanwhile: receivers had better not count on this rank's help.
  class Unattended {
   public:
    explicit Unattended(RendezvousSends& of) noexcept : of_(of) { of_.attends_ = false; }
    ~Unattended() { of_.attends_ = true; }
    Unattended(const Unattended&) = delete;
    Unattended& operator=(const Unattended&) = delete;

   private:
    RendezvousSends& of_;
  };

  // --- messages of receivers ---
  void on_taken(const Message& message);
  void on_help(const Message& message);
  void on_pull(const Message& message);
  void on_want(const Message& message);

 private:
  struct PendingSend {
    PendingSend(RankCore& core, std::uint32_t peer, RendezvousSends& of, std::uint64_t number,
                const MessageSource& source) noexcept
        : taken(core, "send", peer, cancelled, this), owner(of), serial(number), shared(source) {
      of.count_offered(source.bytes());
    }
    ~PendingSend() { owner.count_offered(-shared.source().bytes()); }
    PendingSend(const PendingSend&) = delete;
    PendingSend& operator=(const PendingSend&) = delete;
    /// From inside Scope::cancel, also more than once.
    static void cancelled(void* offered);
    PeerEvent taken;
    RendezvousSends& owner;
    std::uint64_t serial;
    SharedCopy shared;
    std::uint64_t next_piece = 0;  // where it begins
    int senders = 0;               // of pieces
    bool is_told = false;          // the receiver says when all pieces have landed
    bool asked_back = false;
    bool is_short = false;              // the receiver may want to keep it
    std::optional<Event> supply_ended;  // once it does
    RendezvousEnd end = RendezvousEnd::received;
  };

  /// Keeps RankBlock::offered_bytes; `more` wraps around where there are fewer.
  void count_offered(std::uint64_t more) noexcept;
  ReadyToSend describe(PendingSend& offered, std::uint32_t peer, std::vector<std::byte>& layout);
  /// Where the message lies meanwhile, apart from its sender's buffer; null: there.
  std::byte* room_for(const MessageSource& source, std::uint32_t peer, bool is_short) noexcept;
  Task<> ask_back(std::uint32_t peer, std::uint64_t serial);
  PendingSend* find(std::uint64_t serial, std::uint32_t peer) noexcept;
  Task<> help(std::uint64_t serial, const MessageTarget* target);
  Task<> help_process(std::uint64_t serial, std::uint32_t peer, std::uint64_t target, std::uint64_t key);
  Task<> send_pieces(std::uint64_t serial, std::uint32_t peer, std::uint64_t arriving);
  Task<> supply(std::uint64_t serial, std::uint32_t peer);

  Rank& rank_;
  const RendezvousHandlers handlers_;
  const RendezvousScheme& scheme_;
  MessageRooms& rooms_;
  bool attends_ = true;
  WrittenMemory written_memory_;
  BounceBuffers bounce_buffers_;
  std::uint64_t serial_ = 0;
  std::unordered_map<std::uint64_t, PendingSend*> offered_;
};

/// The receiver's side. One rank's; its thread only.
class Rendezvous {
 public:
  Rendezvous(Rank& rank, const RendezvousHandlers& handlers, MessageRooms& rooms);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// In answer to a sender's message, from its handler: the send of that number has ended.
  void answer(const Message& message, std::uint64_t serial, RendezvousEnd end) const;
  /// Fills `target` if the message fits, and lets it go.
  Task<> take(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);
  /// The sender may forget it. `failed`: a GPU at either end did.
  Task<> say_taken(std::uint32_t peer, ReadyToSend offer, bool failed = false);
  /// A message of a sender.
  void on_piece(const Message& message);

  void fix_scheme(RendezvousScheme scheme) noexcept { scheme_ = scheme; }
  const RendezvousScheme& scheme() const noexcept { return scheme_; }

 private:
  /// A message that comes in pieces.
  struct Arriving {
    Arriving(RankCore& core, std::uint32_t peer, const MessageTarget& to, std::uint64_t all, Scope* lands) noexcept
        : whole(core, "receive", peer), target(to), missing(all), landings(lands) {}
    PeerEvent whole;
    const MessageTarget& target;
    std::uint64_t missing;       // bytes
    Scope* landings;             // of pieces that engines copy to a GPU
    std::exception_ptr failure;  // why one did not begin
  };

  /// Those that an offer can be taken by, always in the same order for messages of one class.
  struct Choice {
    std::array<RendezvousScheme, SchemeTuner::kSchemes> schemes;
    std::size_t count;     // 1: there is none
    std::size_t expected;  // to be the best
  };
  Choice choice(const ReadyToSend& offer, std::uint32_t peer, const MessageTarget& target) const noexcept;
  Choice choice_between_processes(const ReadyToSend& offer, std::uint32_t peer,
                                  const MessageTarget& target) const noexcept;
  std::optional<RendezvousScheme> fixed_scheme(const ReadyToSend& offer, std::uint32_t peer) const noexcept;
  std::optional<RendezvousScheme> device_scheme(const ReadyToSend& offer, const MessageTarget& target) const;
  Task<> take_whole(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target, RendezvousScheme& scheme);
  Task<> fetch(RendezvousScheme scheme, ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);
  Copying copying_of(const MessageSource& source, const MessageTarget& target) const;
  std::uint64_t offered_on_node() const noexcept;
  /// `source` is reached by loads.
  Task<> copy_alone(MessageSource source, const MessageTarget& target);
  Task<> copy_together(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);
  Task<> copy_with_process(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);
  Task<Layout> ask_layout(ReadyToSend offer, std::uint32_t peer);
  Task<> copy_by_kernel(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);
  Task<> get_whole(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);
  Task<> pull(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target, Scope* landings = nullptr);
  Task<> pull_to_device(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);
  void land(Arriving& arriving, std::uint64_t position, std::span<const std::byte> piece);
  Task<> copy_by_engines(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);

  Rank& rank_;
  const RendezvousHandlers handlers_;
  RendezvousScheme scheme_;
  SchemeTuner tuner_;
  MessageRooms& rooms_;
  HelpedCopies helped_copies_;
  bool kernel_refuses_ = false;  // to read the memory of other processes
  bool may_be_helped_;           // and senders to write to this one's
  std::uint64_t arrivals_ = 0;
  std::unordered_map<std::uint64_t, Arriving*> arriving_;
};

}  // namespace coracle::internals
