// CudaDevice: a GPU's copy engines as a DMA device: streams are channels; a table is a chain folded into the engines'
// copies; the completion word lies in pinned memory, written by the stream when all before it is over.
//
// Nothing waits for ever: a word that does not come is asked after (advance), so that an error of the device, after
// which neither words nor functions come, ends the table with that error's name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/containers.hpp"
#include "transports/cuda/memory.hpp"
#include "transports/cuda/stream_channel.hpp"

namespace coracle::internals::cuda {

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
