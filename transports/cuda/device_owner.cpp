#include "transports/cuda/device_owner.hpp"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cstdio>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "runtime/core/error.hpp"
#include "transports/cuda/failure.hpp"

namespace coracle::internals::cuda {
namespace {

using State = DeviceOwnerRecord::State;
using Kind = DeviceCommand::Kind;

/// Of one rank, before others have their turn.
constexpr unsigned kRequestsAtOnce = 64;
/// Numbers of tables beyond are no rank's.
constexpr std::uint32_t kTablesMax = 1 << 24;

/// Zeroed memory is a queue's first state; those that no rank uses take none.
CommandQueue* map_queues(std::size_t count) {
  void* const memory = ::mmap(nullptr, count * sizeof(CommandQueue), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw_errno(errno, fmt::format("can't map {} queues of {} bytes", count, sizeof(CommandQueue)));
  return static_cast<CommandQueue*>(memory);
}

/// What the driver may take for any call, and for a byte that it is to pin or to set up: 500 MB/s.
constexpr std::uint64_t kCallNs = 60'000'000'000;
constexpr std::uint64_t kByteNs = 2;

/// Of commands that take the driver long.
std::uint64_t bytes_of(const DeviceCommand& command) noexcept {
  switch (command.kind) {
    case Kind::allocate:
    case Kind::allocate_pinned:
    case Kind::register_host:
      return std::min(command.count, std::uint64_t{1} << 48);
    default:
      return 0;
  }
}

/// Tells ranks while it lives that they are to wait.
class Busy {
 public:
  Busy(CommandQueues& queues, std::uint64_t ns) noexcept : queues_(queues) {
    queues_.busy_until_ns.store(real_clock().now_ns() + ns, std::memory_order_relaxed);
  }
  ~Busy() { queues_.busy_until_ns.store(0, std::memory_order_relaxed); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  CommandQueues& queues_;
};

bool is_ours(const std::error_code& code) noexcept {
  return code.category() == make_error_code(Errc::bad_input).category();
}

}  // namespace

DeviceOwner::DeviceOwner(const JobRegion& region, CudaApi& api)
    : region_(region),
      api_(api),
      loop_(real_clock(), &region.device_owner().doorbell),
      clients_(region.ranks() * CommandQueues::kOfRank),
      calling_((clients_.size() + 63) / 64),
      queues_(map_queues(clients_.size())),
      offered_{clients_.size(), queues_, calling_.data()} {
  IdlePolicy idle = region.shape().idle;
  if (std::thread::hardware_concurrency() <= region.ranks()) idle.spins = 0;  // a rank needs the core
  loop_.set_idle_policy(idle);
  loop_.add_poller(*this);
  DeviceOwnerRecord& record = region.device_owner();
  record.queues.store(reinterpret_cast<std::uint64_t>(&offered_), std::memory_order_relaxed);
  State none = State::none;
  // release: pairs with OwnerLink's acquire. Not if the launcher is through already.
  record.state.compare_exchange_strong(none, State::serving, std::memory_order_release);
}

DeviceOwner::~DeviceOwner() {
  loop_.remove_poller(*this);
  for (Client& client : clients_) close_device(client);
  end_retired();
  ::munmap(queues_, clients_.size() * sizeof(CommandQueue));
}

void DeviceOwner::run() noexcept {
  loop_.run(until_the_end());
}

Task<> DeviceOwner::until_the_end() {
  co_await coracle::internals::Event::Wait(over_);
}

RankBlock& DeviceOwner::rank_of(std::uint64_t place) const noexcept {
  return region_.block(region_.first_rank() + static_cast<std::uint32_t>(place / CommandQueues::kOfRank));
}

bool DeviceOwner::poll() noexcept {
  bool progress = false;
  for (std::size_t word = 0; word < calling_.size(); ++word) {
    // seq_cst, both: pairs with OwnerLink::ring_owner(), also where the loop is about to sleep (Doorbell).
    if (calling_[word].load(std::memory_order_seq_cst) == 0) continue;
    std::uint64_t bits = calling_[word].exchange(0, std::memory_order_seq_cst);
    for (; bits != 0; bits &= bits - 1) progress |= serve(word * 64 + static_cast<unsigned>(std::countr_zero(bits)));
  }
  for (const std::uint64_t place : open_) progress |= publish(place);
  progress |= close_of_lost();
  progress |= end_retired();
  // seq_cst: pairs with the launcher's store before it rings, as above.
  if (!over_.is_set() && region_.device_owner().state.load(std::memory_order_seq_cst) != State::serving) over_.set();
  return progress || (std::exchange(sleepy_, false) && worth_spinning());
}

void DeviceOwner::about_to_sleep() noexcept {
  for (const std::uint64_t place : open_) clients_[place].host->about_to_sleep();
  sleepy_ = true;
}

bool DeviceOwner::worth_spinning() const noexcept {
  if (!loop_.spins()) return false;
  const std::uint64_t now = loop_.clock().now_ns();
  for (const std::uint64_t place : open_)
    for (unsigned i = 0; i < CudaDevice::kChannelsMax; ++i)
      if (clients_[place].working[i] != 0 && clients_[place].device->spin_ns(i, now) > 0) return true;
  return false;
}

bool DeviceOwner::Client::works_on(std::uint32_t table) const noexcept {
  for (std::size_t i = 0; i < working.size(); ++i)
    if (working[i] != 0 && working_on[i] == table) return true;
  return false;
}

bool DeviceOwner::serve(std::uint64_t place) noexcept {
  CommandQueue& queue = queues_[place];
  unsigned taken = 0;
  for (const DeviceCommand* command = queue.commands.front(); command != nullptr; command = queue.commands.front()) {
    if (taken++ == kRequestsAtOnce) {
      calling_[place / 64].fetch_or(std::uint64_t{1} << (place % 64), std::memory_order_relaxed);
      break;
    }
    carry_out(place, *command);
    queue.commands.pop();
  }
  // seq_cst: see CommandQueue::starving.
  if (taken > 0 && queue.starving.exchange(false, std::memory_order_seq_cst)) rank_of(place).doorbell.ring();
  return taken > 0;
}

/// A rank that has gone astray must not take the others' owner with it: what makes no sense is left undone.
void DeviceOwner::carry_out(std::uint64_t place, const DeviceCommand& command) noexcept {
  if (command.kind >= Kind::count_devices) return answer(place, command);
  Client& client = clients_[place];
  const Busy busy(offered_, kCallNs);
  switch (command.kind) {
    case Kind::load:
      return load(client, command);
    case Kind::unload:
      return unload(client, command.table);
    case Kind::start:
      return start(place, command);
    case Kind::abort:
      if (command.channel < CudaDevice::kChannelsMax && client.working[command.channel] != 0)
        client.device->abort(command.channel);
      return;
    default:
      return;  // a sign of life
  }
}

void DeviceOwner::load(Client& client, const DeviceCommand& command) noexcept {
  if (client.device == nullptr || command.table >= kTablesMax || client.has(command.table)) return;
  try {
    if (command.table >= client.tables.size()) client.tables.resize(command.table + 1);
    Table& table = client.tables[command.table];
    table = {};
    try {
      const tca::Chain chain(reinterpret_cast<const tca::Descriptor*>(command.address), command.count);
      table.id = client.device->load(chain, command.way);
    } catch (const Error& error) {
      table.refusal = error.what();
    }
  } catch (const std::bad_alloc&) {
    // Starts find no table.
  }
}

CudaDevice& DeviceOwner::device_of(Client& client) {
  if (client.device == nullptr) throw Error(Errc::bad_input, "cuda: the rank has no device open");
  return *client.device;
}

std::uint64_t DeviceOwner::load_kernels(Client& client, const DeviceCommand& command) {
  CudaDevice& device = device_of(client);
  if (command.table >= kTablesMax || client.has(command.table))
    throw Error(Errc::bad_input, fmt::format("cuda: {} is not the number of a table to be loaded", command.table));
  const std::span asked(reinterpret_cast<const Launch*>(command.address), command.count);
  check_launches(asked);
  std::vector<Launch> launches(asked.begin(), asked.end());
  std::vector<std::byte> parameters(launches.size() * kParameterRoom);
  for (std::size_t i = 0; i < launches.size(); ++i)
    launches[i].parameter = {parameters.data() + i * kParameterRoom, launches[i].parameter.size()};
  if (command.table >= client.tables.size()) client.tables.resize(command.table + 1);
  Table& table = client.tables[command.table];
  table = {device.load_kernels(std::move(launches)), {}, std::move(parameters)};
  return reinterpret_cast<std::uint64_t>(table.parameters.data());
}

void DeviceOwner::unload(Client& client, std::uint32_t number) noexcept {
  if (number >= client.tables.size() || client.works_on(number)) return;
  const tca::TableId id = std::exchange(client.tables[number], {}).id;
  if (id.valid()) client.device->unload(id);
}

void DeviceOwner::start(std::uint64_t place, const DeviceCommand& command) noexcept {
  Client& client = clients_[place];
  const unsigned channel = command.channel;
  if (channel >= CudaDevice::kChannelsMax || client.working[channel] != 0) return;
  if (client.has(command.table) && channel < client.device->rules().channels && client.device->stopped(channel)) {
    client.working[channel] = command.sequence;
    client.working_on[channel] = command.table;
    return client.device->start(channel, client.tables[command.table].id, command.sequence);
  }
  const bool refused = command.table < client.tables.size() && !client.tables[command.table].refusal.empty();
  tell(place, channel, command.sequence,
       refused ? client.tables[command.table].refusal : "cuda: the owner of the GPUs had no memory for a table");
}

/// What is over.
bool DeviceOwner::publish(std::uint64_t place) noexcept {
  Client& client = clients_[place];
  bool progress = false;
  for (unsigned i = 0; i < CudaDevice::kChannelsMax; ++i) {
    const std::uint64_t sequence = client.working[i];
    if (sequence == 0 || client.device->completed(i) != sequence || !client.device->stopped(i)) continue;
    client.working[i] = 0;
    queues_[place].channels[i].elapsed_ns = client.device->elapsed_ns(i);
    tell(place, i, sequence, client.device->failure(i));
    progress = true;
  }
  return progress;
}

bool DeviceOwner::works() const noexcept {
  return std::any_of(open_.begin(), open_.end(), [this](std::uint64_t place) {
    const auto& working = clients_[place].working;
    return std::any_of(working.begin(), working.end(), [](std::uint64_t each) { return each != 0; });
  });
}

/// How long a call may take that has to do with so many bytes: the driver may wait for all that works.
std::uint64_t DeviceOwner::driver_ns(std::uint64_t bytes) const noexcept {
  std::uint64_t works_ns = 0;
  for (const std::uint64_t place : open_) works_ns = std::max(works_ns, clients_[place].device->patience_ns());
  return kCallNs + bytes * kByteNs + works_ns;
}

/// Gives back what has waited for it, when nothing works.
bool DeviceOwner::end_retired() noexcept {
  if ((retired_.empty() && returned_.empty()) || works()) return false;
  const Busy busy(offered_, driver_ns(0));
  note_hanging();
  if (hangs_)
    for (const Retired& each : retired_) each.device->abandon();
  retired_.clear();
  if (!hangs_)
    for (const DeviceCommand& each : returned_) (void)give_back(each);
  returned_.clear();
  return true;
}

/// Ends a device of a rank that has died, when its streams rest; one that hangs stays. Memory of the GPU and of the
/// rank stays: peers may be using it.
bool DeviceOwner::close_of_lost() noexcept {
  // seq_cst: pairs with the launcher's addition, after the phases and before it rings.
  if (region_.losses().load(std::memory_order_seq_cst) == 0) return false;
  const auto is_over = [this](std::uint64_t place) {
    const Client& client = clients_[place];
    return rank_of(place).phase.load(std::memory_order_acquire) ==
               RankPhase::lost &&  // pairs with the launcher's store
           std::all_of(client.working.begin(), client.working.end(), [](std::uint64_t each) { return each == 0; }) &&
           !client.device->hangs();
  };
  const auto found = std::find_if(open_.begin(), open_.end(), is_over);
  if (found == open_.end()) return false;
  const Busy busy(offered_, driver_ns(0));
  close_device(clients_[*found]);
  return true;
}

void DeviceOwner::tell(std::uint64_t place, unsigned channel, std::uint64_t sequence,
                       const std::string& failure) noexcept {
  ChannelWord& word = queues_[place].channels[channel];
  copy_text(word.failure, failure);
  word.over.store(sequence, std::memory_order_seq_cst);  // pairs with OwnedDevice::settle(); before the doorbell
  rank_of(place).doorbell.ring();
}

void DeviceOwner::answer(std::uint64_t place, const DeviceCommand& command) noexcept {
  Answer& answer = queues_[place].answer;
  answer.text[0] = '\0';
  try {
    const Busy busy(offered_, driver_ns(bytes_of(command)));  // no more when the answer is there
    answer.status = carry_out_call(place, command, answer.value);
    if (answer.status != kSuccess) {
      copy_text(answer.name, api_.error_name(answer.status));
      copy_text(answer.status_text, api_.error_text(answer.status));
    }
  } catch (const Error& error) {
    answer.errc = is_ours(error.code()) ? error.code().value() : 0;
    answer.error = error.code().value();
    copy_text(answer.text, error.what());
  } catch (const std::bad_alloc&) {
    answer.errc = 0;
    answer.error = ENOMEM;
    answer.status = kOutOfMemory;
    copy_text(answer.text, "cuda: the owner of the GPUs has no memory");
  } catch (const std::exception& error) {
    answer.errc = 0;
    answer.error = EINVAL;
    answer.status = kInvalidValue;
    copy_text(answer.text, error.what());
  }
  answer.call.store(command.call, std::memory_order_release);  // pairs with OwnerLink::await_answer()
  ::syscall(SYS_futex, &answer.call, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

Status DeviceOwner::carry_out_call(std::uint64_t place, const DeviceCommand& command, std::uint64_t& value) {
  Client& client = clients_[place];
  value = 0;
  switch (command.kind) {
    case Kind::open_device:
      open_device(place, *reinterpret_cast<const CudaOptions*>(command.address));
      return kSuccess;
    case Kind::close_device:
      close_device(client);
      return kSuccess;
    case Kind::load_module:
      value = reinterpret_cast<std::uint64_t>(
          device_of(client).load_module(reinterpret_cast<const void*>(command.address)));
      return kSuccess;
    case Kind::find_kernel:
      value = reinterpret_cast<std::uint64_t>(device_of(client).find_kernel(
          reinterpret_cast<Module>(command.count), reinterpret_cast<const char*>(command.address)));
      return kSuccess;
    case Kind::load_kernels:
      value = load_kernels(client, command);
      return kSuccess;
    default:
      return carry_out_driver_call(command, value);
  }
}

/// What needs no device of the rank's.
Status DeviceOwner::carry_out_driver_call(const DeviceCommand& command, std::uint64_t& value) {
  switch (command.kind) {
    case Kind::count_devices: {
      int count = 0;
      const Status status = api_.device_count(count);
      value = static_cast<std::uint64_t>(count);
      return status;
    }
    case Kind::allocate:
      return allocate(command, value);
    case Kind::allocate_pinned:
      return allocate_pinned(command.count, value);
    case Kind::release:
    case Kind::release_pinned:
      if (!works()) return give_back(command);
      returned_.push_back(command);
      return kSuccess;
    case Kind::register_host:
      return api_.register_host(reinterpret_cast<void*>(command.address), command.count);
    default:
      return kNotSupported;
  }
}

Status DeviceOwner::allocate(const DeviceCommand& command, std::uint64_t& value) {
  const auto attempt = [&] {
    void* memory = nullptr;
    Status status = api_.use_device(command.device);
    if (status == kSuccess) status = api_.allocate(memory, command.count);
    value = reinterpret_cast<std::uint64_t>(memory);
    return status;
  };
  const Status status = attempt();
  if (status != kOutOfMemory || returned_.empty()) return status;
  // Then all have to wait.
  for (const DeviceCommand& each : std::exchange(returned_, {})) (void)give_back(each);
  return attempt();
}

Status DeviceOwner::give_back(const DeviceCommand& command) {
  if (command.kind == Kind::release_pinned) return release_pinned(command.address);
  return api_.release(reinterpret_cast<void*>(command.address));
}

void DeviceOwner::open_device(std::uint64_t place, const CudaOptions& options) {
  Client& client = clients_[place];
  close_device(client);
  CommandQueue& queue = queues_[place];
  for (ChannelWord& word : queue.channels) word.over.store(0, std::memory_order_relaxed);  // before the answer
  CudaOptions own = options;
  own.placement = Placement::process;  // all calls are this process's
  open_.reserve(clients_.size());
  retired_.reserve(retired_.size() + clients_.size());  // so that close_device() has room
  client.host = std::make_unique<LoopHost>(loop_);
  client.device = std::make_unique<CudaDevice>(api_, *client.host, own);
  client.host->serve(*client.device);
  open_.push_back(place);
  queue.answer.rules = client.device->rules();
  copy_text(queue.answer.name, client.device->model());
}

void DeviceOwner::note_hanging() noexcept {
  hangs_ = hangs_ || std::any_of(open_.begin(), open_.end(),
                                 [this](std::uint64_t place) { return clients_[place].device->hangs(); });
}

void DeviceOwner::close_device(Client& client) noexcept {
  if (client.device == nullptr) return;
  client.host->stop();
  note_hanging();
  std::erase(open_, static_cast<std::uint64_t>(&client - clients_.data()));
  if (hangs_)
    client.device->abandon();  // or the driver might hang, and all ranks with it
  else if (works())
    retired_.push_back({std::move(client.host), std::move(client.device), std::move(client.tables)});
  client.device.reset();
  client.host.reset();
  client.tables.clear();
  client.working.fill(0);
}

/// Ordinary memory that is registered: ranks may look at it also when this process, and the driver's files, are gone.
Status DeviceOwner::allocate_pinned(std::size_t bytes, std::uint64_t& address) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return kOutOfMemory;
  const Status status = api_.register_host(memory, bytes);
  if (status != kSuccess) {
    ::munmap(memory, bytes);
    return status;
  }
  address = reinterpret_cast<std::uint64_t>(memory);
  pinned_[address] = bytes;
  return kSuccess;
}

Status DeviceOwner::release_pinned(std::uint64_t address) {
  const auto at = pinned_.find(address);
  if (at == pinned_.end()) return kInvalidValue;
  const Status status = api_.unregister_host(reinterpret_cast<void*>(address));
  ::munmap(reinterpret_cast<void*>(address), at->second);
  pinned_.erase(at);
  return status;
}

namespace {

int own(const JobRegion& region, CudaApi& api) {
  DeviceOwner owner(region, api);
  owner.run();
  return 0;
}

int told(const char* what) noexcept {
  std::fprintf(stderr, "coracle: the process that owns the GPUs of this node: %s\n", what);
  return 1;
}

}  // namespace

int own_devices(const JobRegion& region) {
  try {
    const std::unique_ptr<CudaApi> api = real_api();
    return own(region, *api);
  } catch (const std::exception& error) {
    return told(error.what());
  }
}

int own_devices_on(CudaApi& api) {
  try {
    const std::optional<JobRegion> region = JobRegion::attach_from_environment();
    return region ? own(*region, api) : told("there is no job (CORACLE_JOB): start it with `coracle run`");
  } catch (const std::exception& error) {
    return told(error.what());
  }
}

}  // namespace coracle::internals::cuda
