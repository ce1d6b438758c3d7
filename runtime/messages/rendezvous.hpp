// Rendezvous: how a message that stays with its sender until it is received gets to its receiver: by one copy that the
// receiver makes, or both make together, or the kernel; or in pieces, which the sender packs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "runtime/core/task.hpp"
#include "runtime/job/job.hpp"
#include "runtime/messages/bounce_buffers.hpp"
#include "runtime/messages/direct_copies.hpp"
#include "runtime/messages/message_memory.hpp"
#include "runtime/messages/pending.hpp"
#include "runtime/messages/scheme_tuner.hpp"
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

/// One rank's. Its thread only.
class Rendezvous {
 public:
  /// For the messages that it sends: they call the functions of these names, or of Messages, at their receiver.
  struct Handlers {
    Handler offer;
    Handler withdraw;
    Handler taken;
    Handler help;
    Handler pull;
    Handler piece;
  };

  Rendezvous(Rank& rank, const Handlers& handlers);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// Sender: done when the message has been received.
  Task<> offer(Envelope envelope, MessageSource source, std::uint32_t peer);
  /// Receiver, in answer to a request to have an offer back, from its handler.
  void give_back(const Message& message, std::uint64_t serial) const;
  /// Receiver: fills `target` if the message fits, and lets it go.
  Task<> take(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);
  /// Receiver: the sender may forget it. `failed`: a GPU at either end did.
  Task<> say_taken(std::uint32_t peer, std::uint64_t serial, bool failed = false);

  // --- messages of peers ---
  void on_taken(const Message& message);
  void on_help(const Message& message);
  void on_pull(const Message& message);
  void on_piece(const Message& message);

  /// Whether `peer` is another rank whose memory is plain memory here.
  bool shares_addresses(std::uint32_t peer) const noexcept;
  BounceBuffers& bounce_buffers() noexcept { return bounce_buffers_; }
  void fix_scheme(RendezvousScheme scheme) noexcept { scheme_ = scheme; }

 private:
  /// What the receiver says of a message, when it needs it no more.
  enum class End : std::uint64_t { received, withdrawn, failed };
  /// A message of this rank that waits to be received.
  struct PendingSend {
    PendingSend(RankCore& core, std::uint32_t peer, Rendezvous& of, std::uint64_t number,
                const MessageSource& source) noexcept
        : taken(core, "send", peer, cancelled, this), owner(of), serial(number), shared(source) {}
    /// From inside Scope::cancel, also more than once.
    static void cancelled(void* offered);
    PeerEvent taken;
    Rendezvous& owner;
    std::uint64_t serial;
    SharedCopy shared;
    std::uint64_t next_piece = 0;  // where it begins
    int senders = 0;               // of pieces
    bool is_told = false;          // the receiver says when all pieces have landed
    bool asked_back = false;
    End end = End::received;
  };
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

  ReadyToSend describe(PendingSend& offered, std::uint32_t peer, std::vector<std::byte>& layout) const;
  Task<> ask_back(std::uint32_t peer, std::uint64_t serial);
  PendingSend* find(std::uint64_t serial, std::uint32_t peer) noexcept;
  Task<> help(std::uint64_t serial, const MessageTarget* target);
  Task<> send_pieces(std::uint64_t serial, std::uint32_t peer, std::uint64_t arriving);

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
  bool is_beside(std::uint32_t peer) const noexcept;
  Task<> fetch(RendezvousScheme scheme, ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);
  Task<> copy_alone(ReadyToSend offer, const MessageTarget& target);
  Task<> copy_together(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);
  Task<Layout> ask_layout(ReadyToSend offer, std::uint32_t peer);
  Task<> copy_by_kernel(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);
  Task<> get_whole(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);
  Task<> pull(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target, Scope* landings = nullptr);
  Task<> pull_to_device(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);
  void land(Arriving& arriving, std::uint64_t position, std::span<const std::byte> piece);
  Task<> copy_by_engines(ReadyToSend offer, std::uint32_t peer, const MessageTarget& target);

  Rank& rank_;
  const Handlers handlers_;
  BounceBuffers bounce_buffers_;
  RendezvousScheme scheme_;
  SchemeTuner tuner_;
  bool kernel_refuses_ = false;  // to read the memory of other processes
  std::uint64_t serial_ = 0;
  std::uint64_t arrivals_ = 0;
  std::unordered_map<std::uint64_t, PendingSend*> offered_;
  std::unordered_map<std::uint64_t, Arriving*> arriving_;
};

}  // namespace coracle::internals
