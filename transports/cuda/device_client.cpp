#include "transports/cuda/device_owner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "runtime/core/error.hpp"

namespace coracle::internals::cuda {
namespace {

/// Numbers of tables beyond are no rank's.
constexpr std::uint32_t kTablesMax = 1 << 24;

}  // namespace

void DeviceClient::open(EventLoop& loop, CudaApi& api, const CudaOptions& options) {
  for (ChannelWord& word : queue_.channels) word.over.store(0, std::memory_order_relaxed);  // before the answer
  CudaOptions own = options;
  own.placement = Placement::process;  // all calls are this process's
  auto host = std::make_unique<LoopHost>(loop);
  device_ = std::make_unique<CudaDevice>(api, *host, own);
  host_ = std::move(host);
  host_->serve(*device_);
  queue_.answer.rules = device_->rules();
  copy_text(queue_.answer.name, device_->model());
}

CudaDevice& DeviceClient::device() const {
  if (device_ == nullptr) throw Error(Errc::bad_input, "cuda: the rank has no device open");
  return *device_;
}

DeviceClient DeviceClient::close() noexcept {
  host_->stop();
  DeviceClient closed(queue_, rank_);
  closed.host_ = std::move(host_);
  closed.tables_ = std::exchange(tables_, {});
  closed.device_ = std::move(device_);
  working_.fill(0);
  return closed;
}

bool DeviceClient::may_load(std::uint32_t table) const noexcept {
  return device_ != nullptr && table < kTablesMax && !has(table);
}

DeviceClient::LoadedTable& DeviceClient::table_at(std::uint32_t table) {
  if (table >= tables_.size()) tables_.resize(table + 1);
  return tables_[table] = {};
}

void DeviceClient::load(const DeviceCommand& command) noexcept {
  if (!may_load(command.table)) return;
  try {
    LoadedTable& table = table_at(command.table);
    try {
      const tca::Chain chain(reinterpret_cast<const tca::Descriptor*>(command.address), command.count);
      table.id = device_->load(chain, command.way);
    } catch (const Error& error) {
      table.refusal = error.what();
    }
  } catch (const std::bad_alloc&) {
    // Starts find no table.
  }
}

std::uint64_t DeviceClient::load_kernels(const DeviceCommand& command) {
  CudaDevice& device = this->device();
  if (!may_load(command.table))
    throw Error(Errc::bad_input, fmt::format("cuda: {} is not the number of a table to be loaded", command.table));
  const std::span asked(reinterpret_cast<const Launch*>(command.address), command.count);
  check_launches(asked);
  std::vector<Launch> launches(asked.begin(), asked.end());
  std::vector<std::byte> parameters(launches.size() * kParameterRoom);
  for (std::size_t i = 0; i < launches.size(); ++i)
    launches[i].parameter = {parameters.data() + i * kParameterRoom, launches[i].parameter.size()};
  LoadedTable& table = table_at(command.table);
  table = {device.load_kernels(std::move(launches)), {}, std::move(parameters)};
  return reinterpret_cast<std::uint64_t>(table.parameters.data());
}

void DeviceClient::unload(std::uint32_t number) noexcept {
  if (number >= tables_.size()) return;
  for (std::size_t i = 0; i < working_.size(); ++i)
    if (working_[i] != 0 && working_on_[i] == number) return;
  const tca::TableId id = std::exchange(tables_[number], {}).id;
  if (id.valid()) device_->unload(id);
}

void DeviceClient::start(const DeviceCommand& command) noexcept {
  const unsigned channel = command.channel;
  if (channel >= CudaDevice::kChannelsMax || working_[channel] != 0) return;
  if (has(command.table) && channel < device_->rules().channels && device_->stopped(channel)) {
    working_[channel] = command.sequence;
    working_on_[channel] = command.table;
    return device_->start(channel, tables_[command.table].id, command.sequence);
  }
  const bool refused = command.table < tables_.size() && !tables_[command.table].refusal.empty();
  tell(channel, command.sequence,
       refused ? tables_[command.table].refusal : "cuda: the owner of the GPUs had no memory for a table");
}

void DeviceClient::abort(std::uint32_t channel) noexcept {
  if (channel < CudaDevice::kChannelsMax && working_[channel] != 0) device_->abort(channel);
}

bool DeviceClient::publish() noexcept {
  bool progress = false;
  for (unsigned i = 0; i < CudaDevice::kChannelsMax; ++i) {
    const std::uint64_t sequence = working_[i];
    if (sequence == 0 || device_->completed(i) != sequence || !device_->stopped(i)) continue;
    working_[i] = 0;
    queue_.channels[i].elapsed_ns = device_->elapsed_ns(i);
    tell(i, sequence, device_->failure(i));
    progress = true;
  }
  return progress;
}

bool DeviceClient::works() const noexcept {
  return std::any_of(working_.begin(), working_.end(), [](std::uint64_t each) { return each != 0; });
}

bool DeviceClient::worth_spinning(std::uint64_t now_ns) const noexcept {
  for (unsigned i = 0; i < CudaDevice::kChannelsMax; ++i)
    if (working_[i] != 0 && device_->spin_ns(i, now_ns) > 0) return true;
  return false;
}

void DeviceClient::tell(unsigned channel, std::uint64_t sequence, const std::string& failure) noexcept {
  ChannelWord& word = queue_.channels[channel];
  copy_text(word.failure, failure);
  word.over.store(sequence, std::memory_order_seq_cst);  // pairs with OwnedDevice::settle(); before the doorbell
  rank_.ring();
}

}  // namespace coracle::internals::cuda
