// RemoteDmaDevice: a DMA device that joins nodes, as PEACH2 does: beside its channels, the processor can store single
// words into a peer's memory through it (PIO).
#pragma once

#include <cstdint>

#include "transports/tca/dma_device.hpp"

namespace coracle::internals::tca {

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
