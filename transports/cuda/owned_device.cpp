#include "transports/cuda/owned_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/core/assert.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals::cuda {
namespace {

/// The owner gives up a table itself, when it takes too long; so all that is to be seen to is whether the owner lives.
constexpr std::uint64_t kDoubtNs = 5'000'000'000;
constexpr std::uint64_t kNextDoubtNs = 1'000'000'000;

}  // namespace

OwnedDevice::OwnedDevice(std::shared_ptr<OwnerLink> link, MemoryApi& api, CudaHost& host, const CudaOptions& options)
    : link_(std::move(link)), host_(host), options_(options), reach_(api) {
  const Answer& answer =
      ask({.kind = DeviceCommand::Kind::open_device, .address = reinterpret_cast<std::uint64_t>(&options_)});
  rules_ = answer.rules;
  model_ = answer.name.data();
}

OwnedDevice::~OwnedDevice() {
  try {
    (void)link_->call({.kind = DeviceCommand::Kind::close_device});
  } catch (const Error&) {
    // It is gone: nothing is left to be closed, and nobody reads the chains.
  }
}

/// Throws what has gone wrong at the owner.
const Answer& OwnedDevice::ask(const DeviceCommand& command) {
  const Answer& answer = link_->call(command);
  if (answer.text[0] != '\0') throw Error(code_from_wire(answer.code), answer.text.data());
  return answer;
}

bool OwnedDevice::reads(const std::byte* begin, std::size_t bytes) const noexcept {
  return reach_.location_of(begin, bytes).reached();
}

Module OwnedDevice::load_module(const void* code) {
  const Answer& answer =
      ask({.kind = DeviceCommand::Kind::load_module, .address = reinterpret_cast<std::uint64_t>(code)});
  return reinterpret_cast<Module>(answer.value);
}

Kernel OwnedDevice::find_kernel(Module module, const char* name) {
  const Answer& answer = ask({.kind = DeviceCommand::Kind::find_kernel,
                              .address = reinterpret_cast<std::uint64_t>(name),
                              .count = reinterpret_cast<std::uint64_t>(module)});
  return reinterpret_cast<Kernel>(answer.value);
}

tca::TableId OwnedDevice::load_kernels(std::vector<Launch> launches) {
  check_launches(launches);
  const std::uint32_t number = tables_.take();
  Loaded& table = tables_[number];
  table = {};
  try {
    const Answer& answer = ask({.kind = DeviceCommand::Kind::load_kernels,
                                .table = number,
                                .address = reinterpret_cast<std::uint64_t>(launches.data()),
                                .count = launches.size()});
    table.parameters = reinterpret_cast<std::byte*>(answer.value);
  } catch (...) {
    tables_.give_back(number);
    throw;
  }
  table.launches = std::move(launches);
  return {number};
}

tca::TableId OwnedDevice::load(tca::Chain chain, TableWay way) {
  check_chain(reach_, chain);
  drop_taken();
  Loaded loaded;
  loaded.chain.assign(chain.begin(), chain.end());
  for (const tca::Descriptor& each : chain) loaded.bytes += each.bytes();
  const std::uint32_t number = tables_.take();
  loaded.command = link_->post({.kind = DeviceCommand::Kind::load,
                                .table = number,
                                .way = way,
                                .address = reinterpret_cast<std::uint64_t>(loaded.chain.data()),
                                .count = chain.size()});
  tables_[number] = std::move(loaded);
  return {number};
}

void OwnedDevice::unload(tca::TableId id) noexcept {
  link_->post({.kind = DeviceCommand::Kind::unload, .table = id.number});
  Loaded& table = tables_[id.number];
  if (link_->taken() < table.command) parting_.push_back(std::move(table));
  tables_.give_back(id.number);
}

void OwnedDevice::drop_taken() noexcept {
  const std::uint64_t taken = link_->taken();
  while (!parting_.empty() && parting_.front().command <= taken) parting_.pop_front();
}

void OwnedDevice::start(unsigned index, tca::TableId id, std::uint64_t sequence) noexcept {
  Channel& channel = channels_[index];
  CORACLE_ASSERT(stopped(index), "channel {} is started before its stream has come to rest", index);
  const Loaded& table = tables_[id.number];
  const std::uint64_t before = completed(index);
  channel = {};
  channel.works = true;
  channel.table = id.number;
  channel.sequence = sequence;
  channel.before = before;
  channel.started_ns = host_.now_ns();
  channel.expected_ns =
      table.measured_ns != 0
          ? table.measured_ns
          : options_.start_ns + static_cast<std::uint64_t>(static_cast<double>(table.bytes) / options_.bytes_per_ns);
  channel.doubt_ns = channel.started_ns + kDoubtNs;
  if (link_->gone()) return settle(index);
  std::byte* place = table.parameters;
  for (const Launch& launch : table.launches) {
    std::copy(launch.parameter.begin(), launch.parameter.end(), place);
    place += kParameterRoom;
  }
  link_->post({.kind = DeviceCommand::Kind::start, .channel = index, .table = id.number, .sequence = sequence});
  set_alarm();
}

/// Notes that the owner has told of the end, or can't any more.
void OwnedDevice::settle(unsigned index) const noexcept {
  Channel& channel = channels_[index];
  if (!channel.works) return;
  link_->flush();
  const ChannelWord& word = link_->channel(index);
  // seq_cst: pairs with the owner's store, behind the copies' bytes and the rest of the word; and of this load and the
  // loop's announcement that it will sleep, and that store and the doorbell's load, one sees the other (Doorbell).
  if (word.over.load(std::memory_order_seq_cst) == channel.sequence) {
    channel.works = false;
    channel.elapsed_ns = word.elapsed_ns;
    tables_[channel.table].measured_ns = word.elapsed_ns;
    return;
  }
  if (!link_->gone()) return;
  channel.works = false;
  channel.lost = true;
}

std::uint64_t OwnedDevice::completed(unsigned index) const noexcept {
  settle(index);
  return channels_[index].works ? channels_[index].before : channels_[index].sequence;
}

bool OwnedDevice::stopped(unsigned index) const noexcept {
  settle(index);
  return !channels_[index].works;
}

void OwnedDevice::abort(unsigned index) noexcept {
  settle(index);
  if (channels_[index].works) link_->post({.kind = DeviceCommand::Kind::abort, .channel = index});
}

std::string OwnedDevice::failure(unsigned index) const {
  const Channel& channel = channels_[index];
  if (channel.works || channel.sequence == 0) return {};
  if (channel.lost) return fmt::format("cuda: device {}, channel {}: {}", options_.device, index, link_->why_gone());
  return link_->channel(index).failure.data();
}

void OwnedDevice::advance(std::uint64_t now_ns) noexcept {
  for (unsigned i = 0; i < rules_.channels; ++i) {
    settle(i);
    Channel& channel = channels_[i];
    if (!channel.works || now_ns < channel.doubt_ns) continue;
    channel.doubt_ns = now_ns + kNextDoubtNs;
    link_->doubt(now_ns);
    settle(i);
  }
  set_alarm();
}

void OwnedDevice::set_alarm() noexcept {
  std::uint64_t next = ~std::uint64_t{0};
  for (unsigned i = 0; i < rules_.channels; ++i)
    if (channels_[i].works) next = std::min(next, channels_[i].doubt_ns);
  if (next != ~std::uint64_t{0}) host_.alarm(next);
}

std::uint64_t OwnedDevice::spin_ns(unsigned index, std::uint64_t now_ns) const noexcept {
  const Channel& channel = channels_[index];
  if (!channel.works || channel.expected_ns > options_.spin_max_ns) return 0;
  const std::uint64_t until = channel.started_ns + options_.spin_max_ns;
  return now_ns < until ? until - now_ns : 0;
}

}  // namespace coracle::internals::cuda
