// DmaDevice: a device that copies by itself: channels, tables of descriptors, doorbells and completion words. It is
// PEACH2's in software (peach2_device.hpp) or a GPU's copy engines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "transports/tca/descriptor.hpp"

namespace coracle::internals::tca {

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

}  // namespace coracle::internals::tca
