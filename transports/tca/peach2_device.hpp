// Peach2Device: PEACH2 in software: moves the real bytes, when the chip would have (peach2_model.hpp), and keeps to the
// chip's rules: it only writes to peers, by whole 16 bytes, from and to memory that is registered.
//
// It has no time of its own: whoever drives it (a thread in real time, the schedule in `sim`) lets it advance.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/containers.hpp"
#include "runtime/job/exposed_access.hpp"
#include "transports/tca/dma_device.hpp"
#include "transports/tca/peach2_model.hpp"

namespace coracle::internals::tca {

/// The way from a device to the memory of a rank.
struct Passage {
  bool blocked = false;        ///< What is written there waits in front of it, and the channel with it.
  bool given_up = false;       ///< This rank has lost that one: what its channels write there vanishes.
  std::uint64_t delay_ns = 0;  ///< How much later all comes there than by the model.
};

/// What surrounds a device.
class DeviceHost {
 public:
  /// As an owner.
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  /// On the clock of advance().
  virtual std::uint64_t now_ns() const noexcept = 0;
  /// The device wants to advance at this time, and no more at one that it has said before; it may be long past.
  virtual void alarm(std::uint64_t time_ns) noexcept = 0;
  /// The processor has copied so many bytes.
  virtual void copied(std::size_t bytes) noexcept = 0;
  /// Bytes have come to rest at `target`: whoever waits there may look.
  virtual void landed(std::byte* target) noexcept = 0;
  /// A completion word has moved on, or a controller has stopped: the device's rank may look.
  virtual void progressed() noexcept = 0;
  /// Whether the memory is registered here, to read.
  virtual bool is_source(const std::byte* begin, std::size_t bytes) const noexcept = 0;
  /// Which rank has registered all of it, to be written; kNobody: none.
  virtual std::uint32_t owner_of(const std::byte* begin, std::size_t bytes) const noexcept = 0;
  /// Whether that rank has it registered still: what it has withdrawn it may have freed.
  virtual bool is_target_of(std::uint32_t owner, const std::byte* begin, std::size_t bytes) const noexcept = 0;
  /// Where the device says whose memory it is at, for owners that withdraw theirs on other threads; null: there are
  /// none.
  virtual std::atomic<std::uint64_t>* access_mark() noexcept { return nullptr; }
  /// Links that are always whole, unless a host says otherwise. To kNobody they are.
  virtual Passage passage_to(std::uint32_t) const noexcept { return {}; }

 protected:
  ~DeviceHost() = default;
};

/// Words that the processor has stored, on their way to their targets.
class StoredWords {
 public:
  StoredWords(DeviceHost& host, double store_ns) noexcept : host_(host), store_ns_(store_ns) {}
  void add(std::uint64_t* target, std::uint64_t word) noexcept;
  /// What is due lands, and what waited for the way to its target tries again.
  void advance(double now_ns) noexcept;
  double next_ns() const noexcept { return on_way_.empty() ? ChannelTimes::kNever : on_way_[0].due_ns; }

 private:
  struct Stored {
    double due_ns = 0;
    std::uint64_t* target = nullptr;
    std::uint64_t word = 0;
    std::uint32_t owner = 0;
  };
  void land(const Stored& stored) noexcept;

  DeviceHost& host_;
  const double store_ns_;
  RingQueue<Stored> on_way_;  // in order
  std::vector<Stored> held_;  // the same
};

class Peach2Device : public RemoteDmaDevice {
 public:
  static constexpr std::size_t kAlignment = 16;

  /// `host` must outlive the device.
  Peach2Device(const Peach2Model& model, DeviceHost& host);

  const char* name() const noexcept override { return "peach2"; }
  const DeviceRules& rules() const noexcept override { return rules_; }
  bool reads(const std::byte* begin, std::size_t bytes) const noexcept override {
    return host_.is_source(begin, bytes);
  }
  bool writes(std::byte* begin, std::size_t bytes) const noexcept override {
    return host_.owner_of(begin, bytes) != DeviceHost::kNobody;
  }
  TableId load(Chain chain) override;
  void unload(TableId table) noexcept override;
  void start(unsigned channel, TableId table, std::uint64_t sequence) noexcept override;
  std::uint64_t completed(unsigned channel) const noexcept override;
  bool stopped(unsigned channel) const noexcept override;
  bool held(unsigned channel) const noexcept override { return channels_[channel].held.has_value(); }
  std::uint64_t elapsed_ns(unsigned channel) const noexcept override { return channels_[channel].elapsed_ns; }
  void abort(unsigned channel) noexcept override;
  std::string failure(unsigned) const override { return {}; }
  bool left_out(unsigned channel) const noexcept override { return channels_[channel].left_out; }
  void store(std::uint64_t* target, std::uint64_t word) noexcept override;
  void copied(std::size_t bytes) noexcept override { host_.copied(bytes); }
  void links_changed() noexcept override { advance(host_.now_ns()); }
  void given_up(std::uint32_t) noexcept override { links_changed(); }  // the host knows whom

  /// All that is due by `now_ns` happens.
  void advance(std::uint64_t now_ns) noexcept;
  void break_down(const DeviceFaults& faults) noexcept override { faults_ = faults; }

 private:
  static constexpr std::size_t kNoDescriptor = ~std::size_t{0};

  struct Table {
    std::vector<Descriptor> chain;
    std::vector<std::uint32_t> owners;  ///< Of its targets, as they were when the table was started, or loaded.
    std::vector<ChannelTimes::Piece> pieces;
    std::size_t landed = 0;  ///< Descriptors of it, also before an abort: they are not done again.
    bool in_use = false;
  };
  struct alignas(64) Channel {
    std::atomic<std::uint64_t> word{0};
    std::atomic<bool> stopped{true};
    std::uint32_t table = 0;
    std::uint64_t sequence = 0;
    std::size_t first = 0;                  // of the table's descriptors, in this run
    std::size_t stalls_at = kNoDescriptor;  // a fault
    double started_ns = 0;
    std::uint64_t delay_ns = 0;              // that this run has waited for a long way: once for all behind it
    std::optional<ChannelTimes::Step> held;  // what waits for the way to its target,
    double held_until_ns = 0;                // kNever: until that changes
    std::uint64_t elapsed_ns = 0;
    bool left_out = false;
  };

  /// A completion word that comes late.
  struct Late {
    double due_ns;
    unsigned channel;
    std::uint64_t sequence;
  };

  void find_owners(Table& table) noexcept;
  bool is_to_stall() noexcept;
  void complete(Channel& channel, std::uint64_t sequence) noexcept;
  void complete_late(double now_ns) noexcept;
  void take(const ChannelTimes::Step& step) noexcept;
  bool hold(Channel& channel, const ChannelTimes::Step& step, const Passage& passage) noexcept;
  void let_go(double now_ns) noexcept;
  void set_alarm() noexcept;

  DeviceHost& host_;
  DeviceRules rules_;
  ChannelTimes times_;
  std::vector<unsigned> used_;  // the model's channels, by ours
  Numbered<Table> tables_;
  std::array<Channel, Peach2Model::kChannels> channels_;
  StoredWords words_;
  std::vector<Late> late_;
  DeviceFaults faults_;
  std::uint64_t started_ = 0;  // tables
};

}  // namespace coracle::internals::tca
