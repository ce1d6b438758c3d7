// StreamChannel: a stream of a GPU as a channel of a DMA device: it works one table at a time, and finds out when that
// is over: by a word in pinned memory, by a function that the stream calls, or by asking the driver.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "runtime/job/job.hpp"
#include "transports/cuda/stream_device.hpp"

namespace coracle::internals::cuda {

/// How a device is used.
struct CudaOptions {
  int device = 0;
  unsigned channels = 4;  ///< 1..8.
  Placement placement = Placement::process;
  /// For load() without a way.
  TableWay way = TableWay::automatic;
  TableRules tables;
  /// Tables that should take longer ring when they are over; shorter ones are polled, and ring only when they are late.
  std::uint64_t ring_from_ns = 200'000;
  /// Tables that should take longer are not spun for.
  std::uint64_t spin_max_ns = 20'000;
  /// A table that takes longer, and longer than a hundred times what was expected, has failed.
  std::uint64_t stuck_after_ns = 30'000'000'000;
  /// The device's end waits so long for channels that work, and leaves what they use to the process's end.
  std::uint64_t end_wait_ns = 2'000'000'000;
  /// Time tables by events on the stream (about a microsecond each) instead of by when their words were seen.
  bool timed_by_events = false;
  /// Expected of a channel by itself until tables have been measured.
  double bytes_per_ns = 20;
  std::uint64_t start_ns = 8'000;
};

/// Counts since the beginning.
struct CudaStatistics {
  std::uint64_t starts = 0;
  std::uint64_t rings = 0;         ///< Functions put behind tables, to wake who sleeps.
  std::uint64_t queries = 0;       ///< Times that a stream was asked after its word.
  std::uint64_t missed_words = 0;  ///< Streams that had come to rest without their word.
  std::uint64_t failures = 0;
};

/// What the channels of a device share.
struct StreamContext {
  CudaApi& api;
  CudaHost& host;
  CudaOptions options;
  DeviceInfo info;
  CudaStatistics statistics;
};

/// The device's thread only. Its functions are those of tca::DmaDevice, for one channel.
class StreamChannel {
 public:
  /// What the stream of a channel touches. In pinned memory, which stays where a stream never comes to rest.
  struct alignas(64) Shared {
    std::atomic<std::uint64_t> word{0};
    alignas(64) std::mutex mutex;
    CudaHost* host = nullptr;  // null: nobody listens any more; under the mutex
    std::uint64_t value = 0;   // for the word; 0: the stream writes it itself
    std::atomic<std::uint64_t> rung_ns{0};
    std::atomic<std::uint64_t> rings{0};
  };

  /// `room`: for a Shared. Both must outlive it, and the room the stream. Throws Error.
  StreamChannel(StreamContext& device, void* room);
  /// What a stream that does not come to rest may still touch stays until the process ends: see end().
  ~StreamChannel();
  StreamChannel(const StreamChannel&) = delete;
  StreamChannel& operator=(const StreamChannel&) = delete;

  /// Waits until it rests, or that time, and listens to the stream no more. False: it works still.
  bool end(std::uint64_t until_ns) noexcept;

  /// Both give the error, if one has ended the device's work: see lose().
  Status start(Table& table, std::uint64_t sequence) noexcept;
  /// Looks after a word that is late.
  Status look(std::uint64_t now_ns) noexcept;
  std::uint64_t completed() noexcept;
  /// Whether it can be started.
  bool stopped() noexcept;
  void abort() noexcept;
  /// After an error of the device no word and no function comes any more: what works has failed, and so do all starts.
  void lose(Status error) noexcept;

  std::uint64_t elapsed_ns() const noexcept { return elapsed_ns_; }
  /// Whether there is nothing to wait for: neither a table nor the function behind it, which may come after the word.
  bool rests() const noexcept { return !works() && (lost_ != kSuccess || has_rung()); }
  bool works() const noexcept { return state_ != State::stopped; }
  bool works_on(const Table& table) const noexcept { return works() && state_ != State::stuck && table_ == &table; }
  /// Whether it was given up, though its stream still works.
  bool hangs() const noexcept { return state_ == State::stuck; }
  /// How long it waits for its table before that is given up.
  std::uint64_t patience_ns() const noexcept;
  /// When it wants to look.
  std::uint64_t look_ns() const noexcept { return look_ns_; }
  std::uint64_t spin_ns(std::uint64_t now_ns) const noexcept;
  /// "", or why its last table has failed. `index`: what the channel is called.
  std::string failure(unsigned index) const;

 private:
  enum class State : std::uint8_t {
    stopped,
    working,
    failing,  ///< Not all of the table could be handed over; what was is under way.
    stuck,    ///< Given up, but the stream still works.
  };

  static void rung(void* shared) noexcept;

  void destroy() noexcept;
  Status hand_over() noexcept;
  Status add_ring(std::uint64_t value) noexcept;
  bool has_rung() const noexcept;
  void settle() noexcept;
  void finish(std::uint64_t elapsed_ns) noexcept;
  void give_up(Status error, State state) noexcept;
  void give_up_stuck(std::uint64_t now_ns) noexcept;
  Status ask(std::uint64_t now_ns) noexcept;

  StreamContext& device_;
  Shared* const shared_;
  Stream stream_ = nullptr;
  StreamEvent begin_ = nullptr;
  StreamEvent end_ = nullptr;
  Table* table_ = nullptr;
  std::uint64_t sequence_ = 0;
  std::uint64_t before_ = 0;   // the sequence before that one
  std::uint64_t awaited_ = 0;  // what the word will be; while the stream is stuck, not the last start's
  std::uint64_t gave_up_after_ns_ = 0;
  std::uint64_t started_ns_ = 0;
  std::uint64_t expected_ns_ = 0;
  std::uint64_t look_ns_ = 0;   // when to look after the word
  std::uint64_t pause_ns_ = 0;  // from that look to the next
  std::uint64_t rings_ = 0;     // functions put on the stream so far
  std::uint64_t elapsed_ns_ = 0;
  State state_ = State::stopped;
  bool wakes_ = false;      // a function that rings is behind the table
  bool unsure_ = false;     // at rest without its word, once
  bool abandoned_ = false;  // its stream works still
  Status error_ = kSuccess;
  Status lost_ = kSuccess;  // the error after which the device refuses all
};

}  // namespace coracle::internals::cuda
