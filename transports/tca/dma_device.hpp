// DmaDevice: a device that copies by itself: channels, tables of descriptors, doorbells and completion words. It is
// PEACH2's in software (peach2_device.hpp), which joins nodes (RemoteDmaDevice), or a GPU's copy engines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/job/strided_copy.hpp"

namespace coracle::internals::tca {

/// What one DMA controller is told to copy; a chain of them is a table, started by one doorbell.
///
/// Source: the TCA/PEACH2 GASNet (IPSJ HPC-156, 2016): descriptors of source, destination and length, linked into a
/// table in memory; block-stride transfers in one descriptor.
using Descriptor = StridedCopy;

/// Descriptors that are carried out in order.
using Chain = std::span<const Descriptor>;

/// What a device can do, and what it needs of those who use it.
struct DeviceRules {
  unsigned channels = 1;
  /// Sources, targets, block lengths and strides are multiples of it.
  std::size_t alignment = 1;
  /// Parts of a transfer that is split over channels are multiples of it: shorter ones waste the device's requests.
  std::size_t granule = 1;
  /// What a table costs beside its bytes, in nanoseconds: until it starts, and until its controller has stopped.
  double table_ns = 0;
  /// Whether one descriptor copies blocks at strides.
  bool block_stride = true;
  /// Bytes per nanosecond of each channel by itself, nominal: where learning begins.
  std::array<double, 8> rates{};
};

/// A table that the device has been given; it stays with the device until unload().
struct TableId {
  std::uint32_t number = ~std::uint32_t{0};
  bool valid() const noexcept { return number != ~std::uint32_t{0}; }
  bool operator==(const TableId&) const = default;
};

/// Interface without state. All calls from one thread, that of the rank to which the device belongs.
class DmaDevice {
 public:
  virtual ~DmaDevice() = default;

  virtual const char* name() const noexcept = 0;
  virtual const DeviceRules& rules() const noexcept = 0;
  /// Whether the device reads from and writes to these bytes: whether they are registered.
  virtual bool reads(const std::byte* begin, std::size_t bytes) const noexcept = 0;
  virtual bool writes(std::byte* begin, std::size_t bytes) const noexcept = 0;

  /// Builds a table; the descriptors are copied. Throws Error (bad_input) for a chain that is empty or breaks a rule of
  /// the device: which descriptor, and how.
  /// The chain is carried out in order by PEACH2; other devices may only keep what docs/dma.md says of them.
  virtual TableId load(Chain chain) = 0;
  /// The table must not be in use.
  virtual void unload(TableId table) noexcept = 0;
  /// Rings the doorbell: `channel`, which must be stopped, carries out the table. When all its bytes are where they
  /// belong, completed(channel) becomes `sequence`.
  virtual void start(unsigned channel, TableId table, std::uint64_t sequence) noexcept = 0;
  /// The completion word of a channel: the sequence of the last table that is over.
  virtual std::uint64_t completed(unsigned channel) const noexcept = 0;
  /// Whether the controller has come to rest, which it does some time after its completion word: then it can be
  /// started.
  virtual bool stopped(unsigned channel) const noexcept = 0;
  /// Whether a channel waits for the way to a peer, which is no fault of its controller: it goes on when that is over.
  virtual bool held(unsigned) const noexcept { return false; }
  /// How long the last table of a channel took from its doorbell to its completion word, by the device's clock.
  virtual std::uint64_t elapsed_ns(unsigned channel) const noexcept = 0;
  /// Gives up a table that does not come to its end. The completion word does not move after it, but it may have
  /// before. A controller that can be reset writes nothing of it any more and has stopped; started again, the table
  /// goes on behind the descriptors that have landed: whoever was told of them may have written there since. One that
  /// can't (a stream of CUDA) may still write what it has begun, and fails every start until it rests.
  virtual void abort(unsigned channel) noexcept = 0;
  /// Why the last table of this channel has failed, though its completion word has moved on; or "".
  virtual std::string failure(unsigned channel) const = 0;
  /// Whether bytes of this channel's last table were left out, since the memory for them had been withdrawn when they
  /// came there. The rest has been copied.
  virtual bool left_out(unsigned) const noexcept { return false; }
};

/// Defects of a device, for tests.
struct DeviceFaults {
  /// The next so many tables hang in the middle of their descriptors, for good.
  unsigned stalls = 0;
  /// The completion words of the next so many tables come late by this.
  unsigned late_words = 0;
  std::uint64_t late_ns = 0;
  /// The next so many stores of words (PIO) get lost.
  unsigned lost_stores = 0;
  /// Of so many tables that are started one hangs as well; 0: none does.
  unsigned tables_per_stall = 0;
};

/// A DMA device that joins nodes, as PEACH2 does: beside its channels, the processor can store single words into a
/// peer's memory through it (PIO).
class RemoteDmaDevice : public DmaDevice {
 public:
  /// `word` gets to `target`, an aligned place of registered memory, soon; stores keep their order, but DMA and stores
  /// have none. Nobody tells when it is there, nor that it got lost.
  virtual void store(std::uint64_t* target, std::uint64_t word) noexcept = 0;
  /// The processor has copied so many bytes: takes its time, where time is simulated.
  virtual void copied(std::size_t bytes) noexcept = 0;
  /// What has kept the device from writing to some rank may be over: the link is whole again.
  virtual void links_changed() noexcept = 0;
  /// This rank has lost `peer`. Once this has returned, nothing is copied to there any more: the rest of the tables
  /// vanishes. (What answers a peer's gets is read from memory that the program may free now.)
  virtual void given_up(std::uint32_t peer) noexcept = 0;
  /// From now on the device has these defects, and those that it had before no more.
  virtual void break_down(const DeviceFaults& faults) noexcept = 0;
};

}  // namespace coracle::internals::tca
