// CudaDevice: a GPU's copy engines as a DMA device: streams are channels; a table is a chain folded into the engines'
// copies; the completion word lies in pinned memory, written by the stream when all before it is over.
//
// Nothing waits for ever: a word that does not come is asked after (advance), so that an error of the device, after
// which neither words nor functions come, ends the table with that error's name.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/core/containers.hpp"
#include "runtime/job/job.hpp"
#include "transports/cuda/memory.hpp"
#include "transports/cuda/stream_device.hpp"

namespace coracle::internals::cuda {

// StreamChannel: a stream of a GPU as a channel of a DMA device: it works one table at a time, and finds out when that
// is over: by a word in pinned memory, by a function that the stream calls, or by asking the driver.

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

class CudaDevice final : public StreamDevice {
 public:
  static constexpr unsigned kChannelsMax = 8;

  /// `api` and `host` must outlive it. Throws Error: no such device, no memory, a placement in which GPUs can't be
  /// used.
  CudaDevice(CudaApi& api, CudaHost& host, const CudaOptions& options);
  ~CudaDevice() override;

  const char* name() const noexcept override { return "cuda"; }
  const tca::DeviceRules& rules() const noexcept override { return rules_; }
  bool reads(const std::byte* begin, std::size_t bytes) const noexcept override;
  bool writes(std::byte* begin, std::size_t bytes) const noexcept override;
  /// At least one end of each descriptor should be memory of a GPU: the driver copies between host memories while the
  /// caller waits. Of a batch, only the last descriptor, if it is one block of at most kFlagBytes, comes after others.
  tca::TableId load(tca::Chain chain) override { return load(chain, common_.options.way); }
  tca::TableId load(tca::Chain chain, TableWay way) override;
  void unload(tca::TableId table) noexcept override;
  void start(unsigned channel, tca::TableId table, std::uint64_t sequence) noexcept override;
  std::uint64_t completed(unsigned channel) const noexcept override { return channels_[channel]->completed(); }
  bool stopped(unsigned channel) const noexcept override { return channels_[channel]->stopped(); }
  std::uint64_t elapsed_ns(unsigned channel) const noexcept override { return channels_[channel]->elapsed_ns(); }
  /// No stream can be stopped: what it has begun it may still write, until it comes to rest. Up to then all starts of
  /// the channel fail at once. A table that has got stuck is given up in the same way.
  void abort(unsigned channel) noexcept override { channels_[channel]->abort(); }
  std::string failure(unsigned channel) const override { return channels_[channel]->failure(channel); }

  void advance(std::uint64_t now_ns) noexcept override;
  std::uint64_t spin_ns(unsigned channel, std::uint64_t now_ns) const noexcept override {
    return channels_[channel]->spin_ns(now_ns);
  }
  Reach& reach() noexcept override { return reach_; }
  const std::string& model() const noexcept override { return common_.info.name; }

  Module load_module(const void* code) override;
  Kernel find_kernel(Module module, const char* name) override;
  tca::TableId load_kernels(std::vector<Launch> launches) override;
  /// Leaves what streams may use to the end of the process: the driver may wait for all work, of other devices of this
  /// process too, when memory or code is given back.
  void abandon() noexcept;

  /// Another process's device memory, for as long as the device lives. Throws Error.
  std::byte* open(const IpcHandle& handle, std::size_t bytes);
  /// Whether the device reaches that one's memory by itself.
  bool reaches_device(int device) const noexcept;
  /// Whether a channel was given up whose stream still works.
  bool hangs() const noexcept;
  /// How long it waits for what works now, at most, before it gives that up.
  std::uint64_t patience_ns() const noexcept;
  const CudaStatistics& statistics() const noexcept { return common_.statistics; }
  /// The way that the table's next start will take.
  TableWay way_of(tca::TableId table) const noexcept { return tables_[table.number]->way(); }

 private:
  void enable_peers();
  Ends ends_of(const Box& box) const noexcept;
  tca::TableId keep(std::unique_ptr<Table> table);
  void lose(Status error) noexcept;
  void set_alarm() noexcept;

  StreamContext common_;
  tca::DeviceRules rules_;
  mutable Reach reach_;  // looking may pin what was added
  std::vector<bool> peers_;
  std::vector<PeerMemory> opened_;
  PinnedMemory words_;
  Numbered<std::unique_ptr<Table>> tables_;
  std::vector<std::unique_ptr<StreamChannel>> channels_;
  std::vector<Module> modules_;
  std::vector<Kernel> kernels_;  // that have been found
  Status lost_ = kSuccess;       // the error after which the device refuses all
};

}  // namespace coracle::internals::cuda
