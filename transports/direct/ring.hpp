// Ring: a queue of messages with many senders and one receiver, in memory that all of them share.
//
// It is an array of cache lines. A message takes as many consecutive lines as it needs; its first line begins with
// `ready`, the number of its lines, stored last: so an 8-byte message is one cache line that changes hands once.
// Senders reserve lines by moving `tail`; the receiver clears the first word of every line that it has consumed (any
// line may later begin a message) and then moves `head`.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/cpu.hpp"
#include "runtime/rank/message.hpp"

namespace coracle::internals::direct {

enum class EntryType : std::uint8_t {
  padding,      ///< Skips to the start of the array.
  eager,        ///< Payload follows.
  rendezvous,   ///< Payload lies in the sender's memory; the receiver answers with `taken`.
  buffered,     ///< As rendezvous, but nobody waits for the answer: the payload lies in a send buffer of the sender's.
  piggybacked,  ///< Payload lies in a send buffer of the receiver's own, whose message has been read.
  taken,        ///< The sender's operation is finished.
};

/// The start of a message.
struct EntryHeader {
  std::atomic<std::uint32_t> ready;  ///< Lines of this message; 0: not there (yet).
  std::uint32_t payload_bytes;
  std::int64_t handler;
  std::uint32_t source;
  EntryType type;
  std::uint8_t argument_count;
  std::uint16_t unused;
  // Arguments and payload follow.
  std::byte* body() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(EntryHeader) == 24);

inline constexpr std::size_t kLineBytes = 64;

struct alignas(kLineBytes) Line {
  EntryHeader entry;
  std::byte rest[kLineBytes - sizeof(EntryHeader)];
};
static_assert(sizeof(Line) == kLineBytes);

inline constexpr std::uint32_t kRingLines = 1024;

/// Which lines of which ring a sender is about to fill; kept in jobs that survive, since one that dies meanwhile leaves
/// reserved lines that never become a message. Written before the lines are reserved, and cleared after the message has
/// been handed over, so that lines which nobody names are a dead sender's, or there.
///
/// All stores are releases: the sender may be killed between any two, and they must have been made in this order.
struct Writing {
  std::atomic<std::uint64_t> ring{0};  ///< The number that its users give it; 0: none.
  std::atomic<std::uint64_t> begin{0};
  std::atomic<std::uint64_t> end{0};

  void set(std::uint64_t number, std::uint64_t first, std::uint64_t past) noexcept {
    ring.store(0, std::memory_order_release);
    begin.store(first, std::memory_order_release);
    end.store(past, std::memory_order_release);
    ring.store(number, std::memory_order_release);
  }
  void clear() noexcept { ring.store(0, std::memory_order_release); }
};

class Ring {
 public:
  /// Lines of a message with so many bytes after the header.
  static constexpr std::uint32_t lines_for(std::size_t body_bytes) noexcept {
    return static_cast<std::uint32_t>((sizeof(EntryHeader) + body_bytes + kLineBytes - 1) / kLineBytes);
  }

  /// Sender: a place for a message of `lines`, or null when there is no room. Fill it, then publish(). Where `writing`
  /// is not null it says so there first, with `number` for this ring; to be cleared after publish().
  EntryHeader* reserve(std::uint32_t lines, Writing* writing = nullptr, std::uint64_t number = 0) noexcept;
  /// Sender: hands the message over. seq_cst: the receiver's load in front() sees all of the message; and the store
  /// comes before the sender's look at the receiver's doorbell.
  static void publish(EntryHeader& entry, std::uint32_t lines) noexcept {
    entry.ready.store(lines, std::memory_order_seq_cst);
  }
  /// The same where receivers pass a FenceOfAll between announcing their sleep and their last look: the sender does not
  /// wait until the line is here, which the receiver looks at all the time.
  static void publish_lightly(EntryHeader& entry, std::uint32_t lines) noexcept {
    entry.ready.store(lines, std::memory_order_release);  // pairs with front()
    std::atomic_signal_fence(std::memory_order_seq_cst);  // for the compiler; the processor obeys the receiver's fence
  }

  /// Sender: makes lines its own that the next messages will fill, if they are as long as this one, while there is
  /// time: the receiver wrote to them last. Not the first line of the next message, at which the receiver looks all the
  /// time. But reserving lines waits until what has been stored before has left the store buffer: where short messages
  /// go `in_a_row` each would wait for the line of the one before. So the first line of a later one is fetched, too.
  /// (Where messages go to and fro, and of long ones, that has been measured to take time.)
  void foresee(const EntryHeader& entry, std::uint32_t lines, bool in_a_row) noexcept {
    constexpr std::uint64_t kMessagesAhead = 4;
    constexpr std::uint32_t kShortLines = 2;
    const auto place = static_cast<std::uint64_t>(reinterpret_cast<const Line*>(&entry) - lines_.data());
    for (std::uint64_t line = place + lines + 1; line < place + 2 * std::uint64_t{lines}; ++line)
      prefetch_for_writing(lines_[line & kMask].rest, 1);
    if (in_a_row && lines <= kShortLines)
      prefetch_for_writing(lines_[(place + kMessagesAhead * lines) & kMask].rest, 1);
  }

  /// Receiver: the oldest message, or null. It stays until pop(). Not while all lines are owed.
  EntryHeader* front() noexcept;
  /// Receiver: fetches the lines of the message at the front that follow its first, while that is looked at; of a long
  /// message the first few, behind which the processor fetches by itself.
  void fetch_further_lines(const EntryHeader& front) const noexcept {
    constexpr std::uint32_t kFetchedMax = 5;
    // relaxed: read by front() before.
    const std::uint32_t lines = std::min(front.ready.load(std::memory_order_relaxed), kFetchedMax);
    for (std::uint32_t line = 1; line < lines; ++line) __builtin_prefetch(&lines_[(next_ + line) & kMask]);
  }
  /// Receiver: done with the message at the front.
  void pop() noexcept;
  /// Receiver: true when there is something to do: a message at the front, or lines to give back.
  bool active() const noexcept {
    return lines_[next_ & kMask].entry.ready.load(std::memory_order_relaxed) != 0 ||  // front() will look properly
           next_ != given_back_;
  }
  /// Receiver: lines consumed and not yet given back.
  std::uint64_t owed() const noexcept { return next_ - given_back_; }
  /// Receiver: gives the consumed lines back to the senders; true when some sender has found the ring full meanwhile.
  bool give_back() noexcept;

  /// Receiver: whether lines up to `end` have been reserved, by whomever.
  bool is_reserved(std::uint64_t end) const noexcept {
    return tail_.load(std::memory_order_acquire) >= end;  // pairs with reserve(): what it has said before is seen
  }
  /// Receiver: all lines before this one have been consumed.
  std::uint64_t position() const noexcept { return next_; }
  /// Receiver: whether somebody has reserved the line at position() and has not handed it over.
  bool is_held_up() const noexcept {
    // The latter seq_cst: as in front(), and after all that has been read before.
    return is_reserved(next_ + 1) && lines_[next_ & kMask].entry.ready.load(std::memory_order_seq_cst) == 0;
  }
  /// Receiver: gives up the lines up to `end`, which no living sender has reserved.
  void step_over(std::uint64_t end) noexcept {
    EntryHeader& entry = lines_[next_ & kMask].entry;
    entry.type = EntryType::padding;
    publish(entry, static_cast<std::uint32_t>(end - next_));
  }

  /// Sender: asks to be rung when there is room again. It must then try once more.
  void mark_starved() noexcept { starved_.store(1, std::memory_order_seq_cst); }  // pairs with the load in give_back()

 private:
  static constexpr std::uint64_t kMask = kRingLines - 1;

  // Written by senders.
  alignas(128) std::atomic<std::uint64_t> tail_;
  std::atomic<std::uint64_t> head_seen_;  // a recent value of head_, so that senders seldom touch the receiver's line
  // Written by the receiver.
  alignas(128) std::atomic<std::uint64_t> head_;
  std::uint64_t next_;        // the receiver's own position, ahead of head_
  std::uint64_t given_back_;  // what head_ holds
  alignas(128) std::atomic<std::uint32_t> starved_;
  alignas(128) std::array<Line, kRingLines> lines_;
};

inline EntryHeader* Ring::reserve(std::uint32_t lines, Writing* writing, std::uint64_t number) noexcept {
  std::uint64_t tail = tail_.load(std::memory_order_relaxed);  // only the exchange below decides
  for (;;) {
    const std::uint64_t to_end = kRingLines - (tail & kMask);
    const std::uint64_t padding = lines > to_end ? to_end : 0;
    const std::uint64_t end = tail + padding + lines;
    // acquire: pairs with the release store below by another sender, which passes on the receiver's release of head_.
    if (end - head_seen_.load(std::memory_order_acquire) > kRingLines) {
      const std::uint64_t head = head_.load(std::memory_order_seq_cst);  // pairs with the store in give_back()
      head_seen_.store(head, std::memory_order_release);
      if (end - head > kRingLines) {
        if (writing != nullptr) writing->clear();
        return nullptr;
      }
    }
    if (writing != nullptr) [[unlikely]]
      writing->set(number, tail, end);
    // release: pairs with is_reserved(). The lines themselves are handed over by `ready` and `head_`.
    if (!tail_.compare_exchange_weak(tail, end, std::memory_order_release, std::memory_order_relaxed)) continue;
    if (padding != 0) {
      EntryHeader& entry = lines_[tail & kMask].entry;
      entry.type = EntryType::padding;
      publish(entry, static_cast<std::uint32_t>(padding));
    }
    return &lines_[(tail + padding) & kMask].entry;
  }
}

inline EntryHeader* Ring::front() noexcept {
  for (;;) {
    EntryHeader& entry = lines_[next_ & kMask].entry;
    // seq_cst: pairs with publish(); also the look after the doorbell's announcement.
    if (entry.ready.load(std::memory_order_seq_cst) == 0) return nullptr;
    if (entry.type != EntryType::padding) [[likely]]
      return &entry;
    pop();
  }
}

inline void Ring::pop() noexcept {
  next_ += lines_[next_ & kMask].entry.ready.load(std::memory_order_relaxed);  // read by front() before
}

inline bool Ring::give_back() noexcept {
  // Cleared here and not in pop(): taking the lines back from their senders would delay the answer that is on its way.
  // relaxed: senders touch these lines only after they have seen head_ move.
  for (; given_back_ != next_; ++given_back_)
    lines_[given_back_ & kMask].entry.ready.store(0, std::memory_order_relaxed);
  // seq_cst store, then load: a sender that saw the old head_ has set starved_ before, or sees the new head_ (Dekker).
  head_.store(next_, std::memory_order_seq_cst);
  if (starved_.load(std::memory_order_seq_cst) == 0) [[likely]]
    return false;
  starved_.store(0, std::memory_order_seq_cst);
  return true;
}

}  // namespace coracle::internals::direct
