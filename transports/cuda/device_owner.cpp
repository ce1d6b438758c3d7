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

Status GivenMemory::allocate(const DeviceCommand& command, std::uint64_t& address) {
  const auto attempt = [&] {
    void* memory = nullptr;
    Status status = api_.use_device(command.device);
    if (status == kSuccess) status = api_.allocate(memory, command.count);
    address = reinterpret_cast<std::uint64_t>(memory);
    return status;
  };
  const Status status = attempt();
  if (status != kOutOfMemory || returned_.empty()) return status;
  end_returned(false);  // all have to wait
  return attempt();
}

/// Ordinary memory that is registered: ranks may look at it also when this process, and the driver's files, are gone.
Status GivenMemory::allocate_pinned(std::size_t bytes, std::uint64_t& address) {
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

Status GivenMemory::give_back(const DeviceCommand& command) {
  auto* const memory = reinterpret_cast<void*>(command.address);
  if (command.kind != DeviceCommand::Kind::release_pinned) return api_.release(memory);
  const auto at = pinned_.find(command.address);
  if (at == pinned_.end()) return kInvalidValue;
  const Status status = api_.unregister_host(memory);
  ::munmap(memory, at->second);
  pinned_.erase(at);
  return status;
}

void GivenMemory::end_returned(bool leave) noexcept {
  for (const DeviceCommand& each : std::exchange(returned_, {}))
    if (!leave) (void)give_back(each);
}

namespace {

using State = DeviceOwnerRecord::State;
using Kind = DeviceCommand::Kind;

/// Of one rank, before others have their turn.
constexpr unsigned kRequestsAtOnce = 64;

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

}  // namespace

DeviceOwner::DeviceOwner(const JobRegion& region, CudaApi& api)
    : region_(region),
      api_(api),
      loop_(real_clock(), &region.device_owner().doorbell),
      queue_count_(region.ranks() * CommandQueues::kOfRank),
      calling_((queue_count_ + 63) / 64),
      queues_(map_queues(queue_count_)),
      offered_{queue_count_, queues_, calling_.data()},
      memory_(api) {
  clients_.reserve(queue_count_);
  for (std::uint64_t place = 0; place < queue_count_; ++place)
    clients_.emplace_back(queues_[place], rank_of(place).doorbell);
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
  while (!open_.empty()) close_device(open_.back());
  end_retired();
  ::munmap(queues_, queue_count_ * sizeof(CommandQueue));
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
  for (const std::uint64_t place : open_) progress |= clients_[place].publish();
  progress |= close_of_lost();
  progress |= end_retired();
  // seq_cst: pairs with the launcher's store before it rings, as above.
  if (!over_.is_set() && region_.device_owner().state.load(std::memory_order_seq_cst) != State::serving) over_.set();
  return progress || (std::exchange(sleepy_, false) && worth_spinning());
}

void DeviceOwner::about_to_sleep() noexcept {
  for (const std::uint64_t place : open_) clients_[place].host().about_to_sleep();
  sleepy_ = true;
}

bool DeviceOwner::worth_spinning() const noexcept {
  if (!loop_.spins()) return false;
  const std::uint64_t now = loop_.clock().now_ns();
  return std::any_of(open_.begin(), open_.end(),
                     [&](std::uint64_t place) { return clients_[place].worth_spinning(now); });
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

void DeviceOwner::carry_out(std::uint64_t place, const DeviceCommand& command) noexcept {
  if (command.kind >= Kind::count_devices) return answer(place, command);
  DeviceClient& client = clients_[place];
  const Busy busy(offered_, kCallNs);
  switch (command.kind) {
    case Kind::load:
      return client.load(command);
    case Kind::unload:
      return client.unload(command.table);
    case Kind::start:
      return client.start(command);
    case Kind::abort:
      return client.abort(command.channel);
    default:
      return;  // a sign of life
  }
}

bool DeviceOwner::works() const noexcept {
  return std::any_of(open_.begin(), open_.end(), [this](std::uint64_t place) { return clients_[place].works(); });
}

/// How long a call may take that has to do with so many bytes: the driver may wait for all that works.
std::uint64_t DeviceOwner::driver_ns(std::uint64_t bytes) const noexcept {
  std::uint64_t works_ns = 0;
  for (const std::uint64_t place : open_) works_ns = std::max(works_ns, clients_[place].device().patience_ns());
  return kCallNs + bytes * kByteNs + works_ns;
}

/// Gives back what has waited for it, when nothing works.
bool DeviceOwner::end_retired() noexcept {
  if ((retired_.empty() && !memory_.has_returned()) || works()) return false;
  const Busy busy(offered_, driver_ns(0));
  note_hanging();
  if (hangs_)
    for (const DeviceClient& each : retired_) each.device().abandon();
  retired_.clear();
  memory_.end_returned(hangs_);
  return true;
}

/// Ends a device of a rank that has died, when its streams rest; one that hangs stays. Memory of the GPU and of the
/// rank stays: peers may be using it.
bool DeviceOwner::close_of_lost() noexcept {
  // seq_cst: pairs with the launcher's addition, after the phases and before it rings.
  if (region_.losses().load(std::memory_order_seq_cst) == 0) return false;
  const auto is_over = [this](std::uint64_t place) {
    const DeviceClient& client = clients_[place];
    // acquire: pairs with the launcher's store
    return rank_of(place).phase.load(std::memory_order_acquire) == RankPhase::lost && !client.works() &&
           !client.device().hangs();
  };
  const auto found = std::find_if(open_.begin(), open_.end(), is_over);
  if (found == open_.end()) return false;
  const Busy busy(offered_, driver_ns(0));
  close_device(*found);
  return true;
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
    answer.code = to_wire(error.code());
    copy_text(answer.text, error.what());
  } catch (const std::bad_alloc&) {
    answer.code = ENOMEM;
    answer.status = kOutOfMemory;
    copy_text(answer.text, "cuda: the owner of the GPUs has no memory");
  } catch (const std::exception& error) {
    answer.code = EINVAL;
    answer.status = kInvalidValue;
    copy_text(answer.text, error.what());
  }
  answer.call.store(command.call, std::memory_order_release);  // pairs with OwnerLink::await_answer()
  ::syscall(SYS_futex, &answer.call, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

Status DeviceOwner::carry_out_call(std::uint64_t place, const DeviceCommand& command, std::uint64_t& value) {
  DeviceClient& client = clients_[place];
  value = 0;
  switch (command.kind) {
    case Kind::open_device:
      open_device(place, *reinterpret_cast<const CudaOptions*>(command.address));
      return kSuccess;
    case Kind::close_device:
      close_device(place);
      return kSuccess;
    case Kind::load_module:
      value =
          reinterpret_cast<std::uint64_t>(client.device().load_module(reinterpret_cast<const void*>(command.address)));
      return kSuccess;
    case Kind::find_kernel:
      value = reinterpret_cast<std::uint64_t>(client.device().find_kernel(
          reinterpret_cast<Module>(command.count), reinterpret_cast<const char*>(command.address)));
      return kSuccess;
    case Kind::load_kernels:
      value = client.load_kernels(command);
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
      return memory_.allocate(command, value);
    case Kind::allocate_pinned:
      return memory_.allocate_pinned(command.count, value);
    case Kind::release:
    case Kind::release_pinned:
      if (!works()) return memory_.give_back(command);
      memory_.put_off(command);
      return kSuccess;
    case Kind::register_host:
      return api_.register_host(reinterpret_cast<void*>(command.address), command.count);
    default:
      return kNotSupported;
  }
}

void DeviceOwner::open_device(std::uint64_t place, const CudaOptions& options) {
  close_device(place);
  open_.reserve(clients_.size());
  retired_.reserve(retired_.size() + clients_.size());  // so that close_device() has room
  clients_[place].open(loop_, api_, options);
  open_.push_back(place);
}

void DeviceOwner::note_hanging() noexcept {
  hangs_ = hangs_ || std::any_of(open_.begin(), open_.end(),
                                 [this](std::uint64_t place) { return clients_[place].device().hangs(); });
}

void DeviceOwner::close_device(std::uint64_t place) noexcept {
  if (!clients_[place].is_open()) return;
  note_hanging();
  std::erase(open_, place);
  DeviceClient closed = clients_[place].close();
  if (hangs_)
    closed.device().abandon();  // or the driver might hang, and all ranks with it
  else if (works())
    retired_.push_back(std::move(closed));
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
