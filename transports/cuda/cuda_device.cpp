#include "transports/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <thread>

#include "runtime/core/assert.hpp"
#include "runtime/core/clock.hpp"
#include "runtime/core/error.hpp"
#include "transports/cuda/failure.hpp"

namespace coracle::internals::cuda {
namespace {

/// Between looks at a word that nothing will ring for.
constexpr std::uint64_t kPollPause = 50'000;
/// Between questions to the driver: doubled from the first to the last.
constexpr std::uint64_t kFirstPause = 1'000'000;
constexpr std::uint64_t kLastPause = 100'000'000;
/// A table takes so many times what was expected before it may count as stuck.
constexpr std::uint64_t kPatience = 100;
/// Splitting pays from some such parts on.
constexpr std::size_t kGranule = 64 << 10;
/// What handing over one copy costs, roughly.
constexpr std::uint64_t kCopyCost = 1'000;

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
    : api_(api), host_(host), options_(options), reach_(api) {
  check_placement(options.placement);
  if (options.channels == 0 || options.channels > kChannelsMax)
    throw Error(Errc::bad_input, fmt::format("cuda: {} channels; 1..{} are possible", options.channels, kChannelsMax));
  int devices = 0;
  require(api, api.device_count(devices), "cuda: looking for devices");
  if (options.device < 0 || options.device >= devices)
    throw Error(Errc::bad_input, fmt::format("cuda: there is no device {}: this process sees {} (see `coracle info`)",
                                             options.device, devices));
  require(api, api.device_info(options.device, info_), "cuda: asking the device what it can do");
  if (!info_.unified_addressing)
    throw Error(Errc::unsupported,
                fmt::format("cuda: device {} ({}) has no unified addresses", options.device, info_.name));
  require(api, api.use_device(options.device), "cuda: choosing the device");
  options_.tables.pitch_max = std::min<std::size_t>(
      info_.pitch_max, options.tables.pitch_max == 0 ? info_.pitch_max : options.tables.pitch_max);
  rules_.channels = options.channels;
  rules_.granule = kGranule;
  rules_.write_only = false;
  std::fill_n(rules_.rates.begin(), options.channels, options.bytes_per_ns);
  enable_peers();
  words_ = allocate_pinned(api, options.channels * sizeof(Shared));
  channels_.resize(options.channels);
  try {
    for (unsigned i = 0; i < options.channels; ++i) open_channel(channels_[i], i);
  } catch (...) {
    for (Channel& channel : channels_) close_channel(channel, 0);
    throw;
  }
}

void CudaDevice::open_channel(Channel& channel, unsigned index) {
  channel.shared = new (words_.data() + index * sizeof(Shared)) Shared;
  channel.shared->host = &host_;
  require(api_, api_.create_stream(channel.stream), "cuda: making a stream");
  if (!options_.timed_by_events) return;
  require(api_, api_.create_event(channel.begin), "cuda: making an event");
  require(api_, api_.create_event(channel.end), "cuda: making an event");
}

/// Peers that can't be reached are staged by the driver.
void CudaDevice::enable_peers() {
  int devices = 0;
  require(api_, api_.device_count(devices), "cuda: looking for devices");
  peers_.assign(static_cast<std::size_t>(devices), false);
  for (int peer = 0; peer < devices; ++peer) {
    if (peer == options_.device) continue;
    bool can = false;
    if (api_.can_reach_peer(can, options_.device, peer) != kSuccess || !can) continue;
    const Status status = api_.enable_peer(peer);
    peers_[static_cast<std::size_t>(peer)] = status == kSuccess || status == kPeerAlreadyEnabled;
  }
}

CudaDevice::~CudaDevice() {
  (void)api_.use_device(options_.device);
  const std::uint64_t until = host_.now_ns() + options_.end_wait_ns;
  for (Channel& channel : channels_) close_channel(channel, until);
  // After an error of the device this fails: the code went with it.
  for (const Module module : modules_) (void)api_.unload_module(module);
}

/// What a stream that does not come to rest may still touch stays until the process ends.
void CudaDevice::close_channel(Channel& channel, std::uint64_t until_ns) noexcept {
  if (channel.shared == nullptr) return;
  while (!rests(channel)) {
    ask(channel, host_.now_ns());
    if (rests(channel) || host_.now_ns() >= until_ns) break;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  {
    const std::lock_guard lock(channel.shared->mutex);
    channel.shared->host = nullptr;
  }
  if (!rests(channel)) {
    abandon();
    return;
  }
  // After an error of the device these fail too; the objects went with the device.
  if (channel.end != nullptr) (void)api_.destroy_event(channel.end);
  if (channel.begin != nullptr) (void)api_.destroy_event(channel.begin);
  if (channel.stream != nullptr) (void)api_.destroy_stream(channel.stream);
  channel.shared->~Shared();
  channel.shared = nullptr;
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
  return std::any_of(channels_.begin(), channels_.end(),
                     [](const Channel& channel) { return channel.state == State::stuck; });
}

std::uint64_t CudaDevice::patience_ns() const noexcept {
  std::uint64_t most = 0;
  for (const Channel& channel : channels_)
    if (works(channel)) most = std::max(most, patience_with(channel));
  return most;
}

std::uint64_t CudaDevice::patience_with(const Channel& channel) const noexcept {
  return std::max(options_.stuck_after_ns, kPatience * channel.expected_ns);
}

bool CudaDevice::reaches_device(int device) const noexcept {
  return device == options_.device || (device >= 0 && peers_[static_cast<std::size_t>(device)]);
}

std::byte* CudaDevice::open(const IpcHandle& handle, std::size_t bytes) {
  PeerMemory memory = open_memory(api_, options_.device, handle, bytes);
  PointerInfo where;
  require(api_, api_.pointer_info(memory.data(), where), "cuda: asking where another process's memory lies");
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
    throw_status(api_, lost_, "cuda: loading a table after an error that has ended the device's work");
  check_chain(reach_, chain);
  require(api_, api_.use_device(options_.device), "cuda: choosing the device");
  Folded folded = fold(chain, options_.tables.pitch_max);
  std::vector<Ends> ends;
  ends.reserve(folded.boxes.size());
  for (const Box& box : folded.boxes) ends.push_back(ends_of(box));
  return keep(std::make_unique<Table>(api_, options_.tables, std::move(folded), std::move(ends), way));
}

Module CudaDevice::load_module(const void* code) {
  modules_.reserve(modules_.size() + 1);
  Module module = nullptr;
  Status status = api_.use_device(options_.device);
  if (status == kSuccess) status = api_.load_module(module, code);
  if (status != kSuccess)
    throw_status(api_, status,
                 fmt::format("cuda: loading kernels for device {} ({}, compute {}.{})", options_.device, info_.name,
                             info_.compute_major, info_.compute_minor));
  modules_.push_back(module);
  return module;
}

Kernel CudaDevice::find_kernel(Module module, const char* name) {
  if (std::find(modules_.begin(), modules_.end(), module) == modules_.end())
    throw Error(Errc::bad_input, fmt::format("cuda: looking for kernel {} in code that is not loaded", name));
  Kernel kernel = nullptr;
  const Status status = api_.find_kernel(kernel, module, name);
  if (status != kSuccess) throw_status(api_, status, fmt::format("cuda: looking for kernel {}", name));
  if (std::find(kernels_.begin(), kernels_.end(), kernel) == kernels_.end()) kernels_.push_back(kernel);
  return kernel;
}

tca::TableId CudaDevice::load_kernels(std::vector<Launch> launches) {
  check_launches(launches);
  for (std::size_t i = 0; i < launches.size(); ++i)
    if (std::find(kernels_.begin(), kernels_.end(), launches[i].kernel) == kernels_.end())
      throw Error(Errc::bad_input, fmt::format("cuda: launch {} of {} is of a kernel that was not found on device {} "
                                               "by these kernels' own code",
                                               i, launches.size(), options_.device));
  return keep(std::make_unique<Table>(api_, std::move(launches)));
}

tca::TableId CudaDevice::keep(std::unique_ptr<Table> table) {
  if (free_tables_.empty()) {
    tables_.emplace_back();
    free_tables_.reserve(tables_.size());  // so that unload() has room
    free_tables_.push_back(static_cast<std::uint32_t>(tables_.size() - 1));
  }
  const std::uint32_t number = free_tables_.back();
  free_tables_.pop_back();
  tables_[number] = std::move(table);
  return {number};
}

void CudaDevice::unload(tca::TableId id) noexcept {
  for (const Channel& channel : channels_)
    CORACLE_ASSERT(!(works(channel) && channel.state != State::stuck && channel.table == id),
                   "table {} is unloaded while a channel works on it", id.number);
  (void)api_.use_device(options_.device);
  tables_[id.number].reset();
  free_tables_.push_back(id.number);
}

std::uint64_t CudaDevice::expected_ns(const Table& table) const noexcept {
  if (table.measured_ns() != 0) return table.measured_ns();
  return options_.start_ns + kCopyCost * table.copies() +
         static_cast<std::uint64_t>(static_cast<double>(table.bytes()) / options_.bytes_per_ns);
}

/// On a thread of the driver, when all before it on the stream is over.
void CudaDevice::rung(void* data) noexcept {
  auto& shared = *static_cast<Shared*>(data);
  shared.rung_ns.store(real_clock().now_ns(), std::memory_order_relaxed);  // read after the acquire of rings or word
  // release: pairs with settle()'s acquire, by which the copies' bytes are seen too.
  if (shared.value != 0) shared.word.store(shared.value, std::memory_order_release);
  const std::lock_guard lock(shared.mutex);
  shared.rings.fetch_add(1, std::memory_order_release);  // pairs with stopped()
  if (shared.host != nullptr) shared.host->ring();
}

Status CudaDevice::add_ring(Channel& channel, std::uint64_t value) noexcept {
  channel.shared->value = value;
  const Status status = api_.call_host(channel.stream, &CudaDevice::rung, channel.shared);
  if (status != kSuccess) return status;
  channel.wakes = true;
  ++channel.rings;
  ++statistics_.rings;
  return kSuccess;
}

Status CudaDevice::hand_over(Channel& channel) noexcept {
  Status status = api_.use_device(options_.device);
  if (status == kSuccess && channel.begin != nullptr) status = api_.record_event(channel.begin, channel.stream);
  if (status == kSuccess) status = tables_[channel.table.number]->enqueue(channel.stream);
  if (status == kSuccess && channel.end != nullptr) status = api_.record_event(channel.end, channel.stream);
  // Also after an error: what was handed over is over when the word comes.
  Status said = kNotSupported;
  if (info_.stream_words)
    said = api_.write_word(channel.stream, reinterpret_cast<std::uint64_t*>(&channel.shared->word), channel.sequence);
  if (said == kNotSupported)
    said = add_ring(channel, channel.sequence);
  else if (said == kSuccess && channel.expected_ns >= options_.ring_from_ns)
    said = add_ring(channel, 0);
  return status != kSuccess ? status : said;
}

void CudaDevice::start(unsigned index, tca::TableId id, std::uint64_t sequence) noexcept {
  Channel& channel = channels_[index];
  CORACLE_ASSERT(stopped(index), "channel {} is started before its stream has come to rest", index);
  CORACLE_ASSERT(tables_[id.number] != nullptr, "channel {} is started on table {}, which is not loaded", index,
                 id.number);
  ++statistics_.starts;
  channel.before = completed(index);
  channel.sequence = sequence;
  if (channel.state == State::stuck) return give_up(channel, kNotReady, State::stuck);
  channel.table = id;
  channel.awaited = sequence;
  channel.started_ns = host_.now_ns();
  channel.expected_ns = expected_ns(*tables_[id.number]);
  channel.elapsed_ns = 0;
  channel.wakes = channel.unsure = false;
  channel.error = kSuccess;
  channel.state = State::working;
  if (lost_ != kSuccess) return give_up(channel, lost_, State::stopped);
  const Status status = hand_over(channel);
  if (ends_context(status)) return lose(status);
  if (status != kSuccess) give_up(channel, status, State::failing);
  channel.pause_ns = kFirstPause;
  channel.look_ns = channel.started_ns + (channel.wakes ? std::max(kFirstPause, 2 * channel.expected_ns)
                                                        : std::max(kPollPause, channel.expected_ns));
  set_alarm();
}

void CudaDevice::finish(Channel& channel, std::uint64_t elapsed_ns) const noexcept {
  channel.elapsed_ns = elapsed_ns;
  if (channel.state == State::working) tables_[channel.table.number]->note_time(elapsed_ns);
  channel.state = State::stopped;
}

/// Whether all functions that were put on the stream have been called.
bool CudaDevice::has_rung(const Channel& channel) noexcept {
  // acquire: pairs with rung(): what it reads may be changed by the next start.
  return channel.shared->rings.load(std::memory_order_acquire) == channel.rings;
}

/// Whether there is nothing to wait for: neither a table nor the function behind it, which may come after the word.
bool CudaDevice::rests(const Channel& channel) const noexcept {
  return !works(channel) && (lost_ != kSuccess || has_rung(channel));
}

/// Notes that the word has come, if it has.
void CudaDevice::settle(Channel& channel) const noexcept {
  // acquire: pairs with the stream's write, behind the copies' bytes (in the host function's case: rung()'s release).
  if (!works(channel) || channel.shared->word.load(std::memory_order_acquire) != channel.awaited) return;
  // It stays so until it can be started: stopped() has said so already.
  if (channel.state == State::stuck && !has_rung(channel)) return;
  float milliseconds = 0;
  if (channel.end != nullptr && channel.error == kSuccess &&
      api_.elapsed_ms(milliseconds, channel.begin, channel.end) == kSuccess)
    return finish(channel, static_cast<std::uint64_t>(std::llround(static_cast<double>(milliseconds) * 1e6)));
  std::uint64_t seen = host_.now_ns();
  const std::uint64_t rung = channel.shared->rung_ns.load(std::memory_order_relaxed);
  if (channel.wakes && rung > channel.started_ns) seen = std::min(seen, rung);
  finish(channel, seen - channel.started_ns);
}

std::uint64_t CudaDevice::completed(unsigned index) const noexcept {
  Channel& channel = channels_[index];
  settle(channel);
  return channel.state == State::working || channel.state == State::failing ? channel.before : channel.sequence;
}

bool CudaDevice::stopped(unsigned index) const noexcept {
  Channel& channel = channels_[index];
  settle(channel);
  return channel.state == State::stuck || rests(channel);
}

void CudaDevice::give_up(Channel& channel, Status error, State state) noexcept {
  ++statistics_.failures;
  channel.error = error;
  channel.state = state;
}

void CudaDevice::give_up_stuck(Channel& channel, std::uint64_t now_ns) noexcept {
  channel.gave_up_after_ns = now_ns - channel.started_ns;
  give_up(channel, kNotReady, State::stuck);
}

void CudaDevice::abort(unsigned index) noexcept {
  Channel& channel = channels_[index];
  settle(channel);
  if (channel.state == State::working || channel.state == State::failing) give_up_stuck(channel, host_.now_ns());
}

/// After an error of the device no word and no function comes any more, on any stream.
void CudaDevice::lose(Status error) noexcept {
  lost_ = error;
  for (Channel& channel : channels_) {
    settle(channel);
    if (works(channel)) give_up(channel, error, State::stopped);
  }
  host_.ring();
}

/// Asks the stream itself.
void CudaDevice::ask(Channel& channel, std::uint64_t now_ns) noexcept {
  ++statistics_.queries;
  Status status = api_.use_device(options_.device);
  if (status == kSuccess) status = api_.query_stream(channel.stream);
  settle(channel);
  if (rests(channel)) return;
  if (status == kSuccess) {
    channel.look_ns = now_ns + kPollPause;
    if (!works(channel)) return;  // the function has been called, and is about to say so
    // All is over, the word included; it may be on its way to this core.
    if (!channel.unsure) {
      channel.unsure = true;
      return;
    }
    ++statistics_.missed_words;
    return finish(channel, now_ns - channel.started_ns);
  }
  if (status != kNotReady) return lose(status);
  if (channel.state != State::stuck && now_ns - channel.started_ns >= patience_with(channel)) {
    give_up_stuck(channel, now_ns);
    host_.ring();
  }
  channel.look_ns = now_ns + channel.pause_ns;
  channel.pause_ns = std::min(2 * channel.pause_ns, kLastPause);
}

void CudaDevice::look(Channel& channel, std::uint64_t now_ns) noexcept {
  settle(channel);
  if (rests(channel) || now_ns < channel.look_ns) return;
  if (!channel.wakes && channel.state == State::working) {
    channel.look_ns = now_ns + kPollPause;
    if (now_ns - channel.started_ns < options_.ring_from_ns) return;
    if (api_.use_device(options_.device) == kSuccess) (void)add_ring(channel, 0);  // refused: the question says why
  }
  ask(channel, now_ns);
}

void CudaDevice::advance(std::uint64_t now_ns) noexcept {
  for (Channel& channel : channels_) look(channel, now_ns);
  set_alarm();
}

void CudaDevice::set_alarm() noexcept {
  std::uint64_t next = ~std::uint64_t{0};
  for (const Channel& channel : channels_)
    if (!rests(channel)) next = std::min(next, channel.look_ns);
  if (next != ~std::uint64_t{0}) host_.alarm(next);
}

std::uint64_t CudaDevice::spin_ns(unsigned index, std::uint64_t now_ns) const noexcept {
  const Channel& channel = channels_[index];
  if (channel.state != State::working || channel.expected_ns > options_.spin_max_ns) return 0;
  const std::uint64_t until = channel.started_ns + options_.spin_max_ns;
  return now_ns < until ? until - now_ns : 0;
}

std::string CudaDevice::failure(unsigned index) const {
  const Channel& channel = channels_[index];
  if (channel.error == kSuccess || channel.state == State::working || channel.state == State::failing) return {};
  const std::string where = fmt::format("cuda: device {} ({}), channel {}", options_.device, info_.name, index);
  if (channel.error == kNotReady)
    return fmt::format(
        "{}: a table that should take {} us has not ended after {} ms, and holds the channel: the device or "
        "its link hangs; look for NVRM and Xid in dmesg, and end the job",
        where, channel.expected_ns / 1000, channel.gave_up_after_ns / 1'000'000);
  const char* remedy = remedy_of(channel.error);
  return fmt::format("{}: {}{}{}", where, describe(api_, channel.error), *remedy == '\0' ? "" : "; ", remedy);
}

}  // namespace coracle::internals::cuda
