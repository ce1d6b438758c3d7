#include "transports/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/assert.hpp"
#include "runtime/core/error.hpp"
#include "transports/cuda/failure.hpp"

namespace coracle::internals::cuda {
namespace {

/// Splitting pays from some such parts on.
constexpr std::size_t kGranule = 64 << 10;
void check_placement(Placement placement) {
  if (placement == Placement::pvas)
    throw Error(
        Errc::unsupported,
        "cuda: ranks in one address space (--place pvas) can't each use a GPU, since the driver's files belong to "
        "the process that opened them; Gpu::open goes by the one process that owns them all");
  if (placement == Placement::sim)
    throw Error(Errc::unsupported,
                "cuda: a GPU has no virtual time (--place sim); use --place process or --place thread, or the device "
                "peach2");
}

}  // namespace

CudaDevice::CudaDevice(CudaApi& api, CudaHost& host, const CudaOptions& options)
    : common_{api, host, options, {}, {}}, reach_(api) {
  check_placement(options.placement);
  if (options.channels == 0 || options.channels > kChannelsMax)
    throw Error(Errc::bad_input, fmt::format("cuda: {} channels; 1..{} are possible", options.channels, kChannelsMax));
  int devices = 0;
  require(api, api.device_count(devices), "cuda: looking for devices");
  if (options.device < 0 || options.device >= devices)
    throw Error(Errc::bad_input, fmt::format("cuda: there is no device {}: this process sees {} (see `coracle info`)",
                                             options.device, devices));
  DeviceInfo& info = common_.info;
  require(api, api.device_info(options.device, info), "cuda: asking the device what it can do");
  if (!info.unified_addressing)
    throw Error(Errc::unsupported,
                fmt::format("cuda: device {} ({}) has no unified addresses", options.device, info.name));
  require(api, api.use_device(options.device), "cuda: choosing the device");
  std::size_t& pitch_max = common_.options.tables.pitch_max;
  pitch_max = pitch_max == 0 ? info.pitch_max : std::min<std::size_t>(info.pitch_max, pitch_max);
  rules_.channels = options.channels;
  rules_.granule = kGranule;
  std::fill_n(rules_.rates.begin(), options.channels, options.bytes_per_ns);
  peers_.resize(static_cast<std::size_t>(devices));
  enable_peers();
  words_ = allocate_pinned(api, options.channels * sizeof(StreamChannel::Shared));
  for (unsigned i = 0; i < options.channels; ++i)
    channels_.push_back(std::make_unique<StreamChannel>(common_, words_.data() + i * sizeof(StreamChannel::Shared)));
}

/// Peers that can't be reached are staged by the driver.
void CudaDevice::enable_peers() {
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
    if (peer == common_.options.device) continue;
    bool can = false;
    if (common_.api.can_reach_peer(can, common_.options.device, peer) != kSuccess || !can) continue;
    const Status status = common_.api.enable_peer(peer);
    peers_[static_cast<std::size_t>(peer)] = status == kSuccess || status == kPeerAlreadyEnabled;
  }
}

CudaDevice::~CudaDevice() {
  (void)common_.api.use_device(common_.options.device);
  const std::uint64_t until = common_.host.now_ns() + common_.options.end_wait_ns;
  for (const auto& channel : channels_)
    if (!channel->end(until)) abandon();
  channels_.clear();
  // After an error of the device this fails: the code went with it.
  for (const Module module : modules_) (void)common_.api.unload_module(module);
}

void CudaDevice::abandon() noexcept {
  words_.abandon();
  reach_.abandon();
  for (PeerMemory& memory : opened_) memory.abandon();
  modules_.clear();
}

bool CudaDevice::reads(const std::byte* begin, std::size_t bytes) const noexcept {
  return reach_.location_of(begin, bytes).reached();
}

bool CudaDevice::writes(std::byte* begin, std::size_t bytes) const noexcept {
  return reach_.location_of(begin, bytes).reached();
}

bool CudaDevice::hangs() const noexcept {
  return std::any_of(channels_.begin(), channels_.end(), [](const auto& channel) { return channel->hangs(); });
}

std::uint64_t CudaDevice::patience_ns() const noexcept {
  std::uint64_t most = 0;
  for (const auto& channel : channels_)
    if (channel->works()) most = std::max(most, channel->patience_ns());
  return most;
}

bool CudaDevice::reaches_device(int device) const noexcept {
  return device == common_.options.device || (device >= 0 && peers_[static_cast<std::size_t>(device)]);
}

std::byte* CudaDevice::open(const IpcHandle& handle, std::size_t bytes) {
  PeerMemory memory = open_memory(common_.api, common_.options.device, handle, bytes);
  PointerInfo where;
  require(common_.api, common_.api.pointer_info(memory.data(), where),
          "cuda: asking where another process's memory lies");
  reach_.add(memory.span(), where.device);
  opened_.push_back(std::move(memory));
  return opened_.back().data();
}

Ends CudaDevice::ends_of(const Box& box) const noexcept {
  Ends ends;
  ends.source_device = reach_.location_of(box.source, box.source_reach()).device;
  ends.target_device = reach_.location_of(box.target, box.target_reach()).device;
  ends.staged = ends.source_device >= 0 && ends.target_device >= 0 && ends.source_device != ends.target_device &&
                !(reaches_device(ends.source_device) && reaches_device(ends.target_device));
  return ends;
}

tca::TableId CudaDevice::load(tca::Chain chain, TableWay way) {
  if (lost_ != kSuccess)
    throw_status(common_.api, lost_, "cuda: loading a table after an error that has ended the device's work");
  check_chain(reach_, chain);
  require(common_.api, common_.api.use_device(common_.options.device), "cuda: choosing the device");
  Folded folded = fold(chain, common_.options.tables.pitch_max);
  std::vector<Ends> ends;
  ends.reserve(folded.boxes.size());
  for (const Box& box : folded.boxes) ends.push_back(ends_of(box));
  return keep(std::make_unique<Table>(common_.api, common_.options.tables, std::move(folded), std::move(ends), way));
}

Module CudaDevice::load_module(const void* code) {
  modules_.reserve(modules_.size() + 1);
  Module module = nullptr;
  Status status = common_.api.use_device(common_.options.device);
  if (status == kSuccess) status = common_.api.load_module(module, code);
  if (status != kSuccess)
    throw_status(common_.api, status,
                 fmt::format("cuda: loading kernels for device {} ({}, compute {}.{})", common_.options.device,
                             common_.info.name, common_.info.compute_major, common_.info.compute_minor));
  modules_.push_back(module);
  return module;
}

Kernel CudaDevice::find_kernel(Module module, const char* name) {
  if (std::find(modules_.begin(), modules_.end(), module) == modules_.end())
    throw Error(Errc::bad_input, fmt::format("cuda: looking for kernel {} in code that is not loaded", name));
  Kernel kernel = nullptr;
  const Status status = common_.api.find_kernel(kernel, module, name);
  if (status != kSuccess) throw_status(common_.api, status, fmt::format("cuda: looking for kernel {}", name));
  if (std::find(kernels_.begin(), kernels_.end(), kernel) == kernels_.end()) kernels_.push_back(kernel);
  return kernel;
}

tca::TableId CudaDevice::load_kernels(std::vector<Launch> launches) {
  check_launches(launches);
  for (std::size_t i = 0; i < launches.size(); ++i)
    if (std::find(kernels_.begin(), kernels_.end(), launches[i].kernel) == kernels_.end())
      throw Error(Errc::bad_input, fmt::format("cuda: launch {} of {} is of a kernel that was not found on device {} "
                                               "by these kernels' own code",
                                               i, launches.size(), common_.options.device));
  return keep(std::make_unique<Table>(common_.api, std::move(launches)));
}

tca::TableId CudaDevice::keep(std::unique_ptr<Table> table) {
  const std::uint32_t number = tables_.take();
  tables_[number] = std::move(table);
  return {number};
}

void CudaDevice::unload(tca::TableId id) noexcept {
  for (const auto& channel : channels_)
    CORACLE_ASSERT(!channel->works_on(*tables_[id.number]), "table {} is unloaded while a channel works on it",
                   id.number);
  (void)common_.api.use_device(common_.options.device);
  tables_[id.number].reset();
  tables_.give_back(id.number);
}

void CudaDevice::start(unsigned index, tca::TableId id, std::uint64_t sequence) noexcept {
  CORACLE_ASSERT(stopped(index), "channel {} is started before its stream has come to rest", index);
  CORACLE_ASSERT(tables_[id.number] != nullptr, "channel {} is started on table {}, which is not loaded", index,
                 id.number);
  ++common_.statistics.starts;
  const Status status = channels_[index]->start(*tables_[id.number], sequence);
  if (status != kSuccess) return lose(status);
  set_alarm();
}

/// After an error of the device no word and no function comes any more, on any stream.
void CudaDevice::lose(Status error) noexcept {
  lost_ = error;
  for (const auto& channel : channels_) channel->lose(error);
  common_.host.ring();
}

void CudaDevice::advance(std::uint64_t now_ns) noexcept {
  for (const auto& channel : channels_)
    if (const Status status = channel->look(now_ns); status != kSuccess) lose(status);
  set_alarm();
}

void CudaDevice::set_alarm() noexcept {
  std::uint64_t next = ~std::uint64_t{0};
  for (const auto& channel : channels_)
    if (!channel->rests()) next = std::min(next, channel->look_ns());
  if (next != ~std::uint64_t{0}) common_.host.alarm(next);
}

}  // namespace coracle::internals::cuda
