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
using Kind = Request::Kind;

/// Of one rank, before others have their turn.
constexpr unsigned kRequestsAtOnce = 64;
/// Numbers of tables beyond are no rank's.
constexpr std::uint32_t kTablesMax = 1 << 24;

/// Zeroed memory is a desk's first state; those that no rank uses take none.
Desk* map_desks(std::size_t count) {
  void* const memory =
      ::mmap(nullptr, count * sizeof(Desk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw_errno(errno, fmt::format("can't map {} desks of {} bytes", count, sizeof(Desk)));
  return static_cast<Desk*>(memory);
}

/// What the driver may take for any call, and for a byte that it is to pin or to set up: 500 MB/s.
constexpr std::uint64_t kCallNs = 60'000'000'000;
constexpr std::uint64_t kByteNs = 2;

/// Of requests that take the driver long.
std::uint64_t bytes_of(const Request& request) noexcept {
  switch (request.kind) {
    case Kind::allocate:
    case Kind::allocate_pinned:
    case Kind::register_host:
      return std::min(request.count, std::uint64_t{1} << 48);
    default:
      return 0;
  }
}

/// Tells ranks while it lives that they are to wait.
class Busy {
 public:
  Busy(Desks& desks, std::uint64_t ns) noexcept : desks_(desks) {
    desks_.busy_until_ns.store(real_clock().now_ns() + ns, std::memory_order_relaxed);
  }
  ~Busy() { desks_.busy_until_ns.store(0, std::memory_order_relaxed); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Desks& desks_;
};

bool is_ours(const std::error_code& code) noexcept {
  return code.category() == make_error_code(Errc::bad_input).category();
}

}  // namespace

DeviceOwner::DeviceOwner(const JobRegion& region, CudaApi& api)
    : region_(region),
      api_(api),
      loop_(real_clock(), &region.device_owner().doorbell),
      seats_(region.ranks() * Desks::kOfRank),
      calling_((seats_.size() + 63) / 64),
      desks_(map_desks(seats_.size())),
      offered_{seats_.size(), desks_, calling_.data()} {
  IdlePolicy idle = region.shape().idle;
  if (std::thread::hardware_concurrency() <= region.ranks()) idle.spins = 0;  // a rank needs the core
  loop_.set_idle_policy(idle);
  loop_.add_poller(*this);
  DeviceOwnerRecord& record = region.device_owner();
  record.desks.store(reinterpret_cast<std::uint64_t>(&offered_), std::memory_order_relaxed);
  State none = State::none;
  // release: pairs with OwnerLink's acquire. Not if the launcher is through already.
  record.state.compare_exchange_strong(none, State::serving, std::memory_order_release);
}

DeviceOwner::~DeviceOwner() {
  loop_.remove_poller(*this);
  for (Seat& seat : seats_) close_device(seat);
  end_retired();
  ::munmap(desks_, seats_.size() * sizeof(Desk));
}

void DeviceOwner::run() noexcept {
  loop_.run(until_the_end());
}

Task<> DeviceOwner::until_the_end() {
  co_await coracle::internals::Event::Wait(over_);
}

RankBlock& DeviceOwner::rank_of(std::uint64_t place) const noexcept {
  return region_.block(region_.first_rank() + static_cast<std::uint32_t>(place / Desks::kOfRank));
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
  for (const std::uint64_t place : open_) seats_[place].host->about_to_sleep();
  sleepy_ = true;
}

bool DeviceOwner::worth_spinning() const noexcept {
  if (!loop_.spins()) return false;
  const std::uint64_t now = loop_.clock().now_ns();
  for (const std::uint64_t place : open_)
    for (unsigned i = 0; i < CudaDevice::kChannelsMax; ++i)
      if (seats_[place].working[i] != 0 && seats_[place].device->spin_ns(i, now) > 0) return true;
  return false;
}

bool DeviceOwner::Seat::works_on(std::uint32_t table) const noexcept {
  for (std::size_t i = 0; i < working.size(); ++i)
    if (working[i] != 0 && working_on[i] == table) return true;
  return false;
}

bool DeviceOwner::serve(std::uint64_t place) noexcept {
  Desk& desk = desks_[place];
  unsigned taken = 0;
  for (const Request* request = desk.requests.front(); request != nullptr; request = desk.requests.front()) {
    if (taken++ == kRequestsAtOnce) {
      calling_[place / 64].fetch_or(std::uint64_t{1} << (place % 64), std::memory_order_relaxed);
      break;
    }
    carry_out(place, *request);
    desk.requests.pop();
  }
  // seq_cst: see Desk::starving.
  if (taken > 0 && desk.starving.exchange(false, std::memory_order_seq_cst)) rank_of(place).doorbell.ring();
  return taken > 0;
}

/// A rank that has gone astray must not take the others' owner with it: what makes no sense is left undone.
void DeviceOwner::carry_out(std::uint64_t place, const Request& request) noexcept {
  if (request.kind >= Kind::count_devices) return answer(place, request);
  Seat& seat = seats_[place];
  const Busy busy(offered_, kCallNs);
  switch (request.kind) {
    case Kind::load:
      return load(seat, request);
    case Kind::unload:
      return unload(seat, request.table);
    case Kind::start:
      return start(place, request);
    case Kind::abort:
      if (request.channel < CudaDevice::kChannelsMax && seat.working[request.channel] != 0)
        seat.device->abort(request.channel);
      return;
    default:
      return;  // a sign of life
  }
}

void DeviceOwner::load(Seat& seat, const Request& request) noexcept {
  if (seat.device == nullptr || request.table >= kTablesMax || seat.has(request.table)) return;
  try {
    if (request.table >= seat.tables.size()) seat.tables.resize(request.table + 1);
    Table& table = seat.tables[request.table];
    table = {};
    try {
      const tca::Chain chain(reinterpret_cast<const tca::Descriptor*>(request.address), request.count);
      table.id = seat.device->load(chain, request.way);
    } catch (const Error& error) {
      table.refusal = error.what();
    }
  } catch (const std::bad_alloc&) {
    // Starts find no table.
  }
}

CudaDevice& DeviceOwner::device_of(Seat& seat) {
  if (seat.device == nullptr) throw Error(Errc::bad_input, "cuda: the rank has no device open");
  return *seat.device;
}

std::uint64_t DeviceOwner::load_kernels(Seat& seat, const Request& request) {
  CudaDevice& device = device_of(seat);
  if (request.table >= kTablesMax || seat.has(request.table))
    throw Error(Errc::bad_input, fmt::format("cuda: {} is not the number of a table to be loaded", request.table));
  const std::span asked(reinterpret_cast<const Launch*>(request.address), request.count);
  check_launches(asked);
  std::vector<Launch> launches(asked.begin(), asked.end());
  std::vector<std::byte> parameters(launches.size() * kParameterRoom);
  for (std::size_t i = 0; i < launches.size(); ++i)
    launches[i].parameter = {parameters.data() + i * kParameterRoom, launches[i].parameter.size()};
  if (request.table >= seat.tables.size()) seat.tables.resize(request.table + 1);
  Table& table = seat.tables[request.table];
  table = {device.load_kernels(std::move(launches)), {}, std::move(parameters)};
  return reinterpret_cast<std::uint64_t>(table.parameters.data());
}

void DeviceOwner::unload(Seat& seat, std::uint32_t number) noexcept {
  if (number >= seat.tables.size() || seat.works_on(number)) return;
  const tca::TableId id = std::exchange(seat.tables[number], {}).id;
  if (id.valid()) seat.device->unload(id);
}

void DeviceOwner::start(std::uint64_t place, const Request& request) noexcept {
  Seat& seat = seats_[place];
  const unsigned channel = request.channel;
  if (channel >= CudaDevice::kChannelsMax || seat.working[channel] != 0) return;
  if (seat.has(request.table) && channel < seat.device->rules().channels && seat.device->stopped(channel)) {
    seat.working[channel] = request.sequence;
    seat.working_on[channel] = request.table;
    return seat.device->start(channel, seat.tables[request.table].id, request.sequence);
  }
  const bool refused = request.table < seat.tables.size() && !seat.tables[request.table].refusal.empty();
  tell(place, channel, request.sequence,
       refused ? seat.tables[request.table].refusal : "cuda: the owner of the GPUs had no memory for a table");
}

/// What is over.
bool DeviceOwner::publish(std::uint64_t place) noexcept {
  Seat& seat = seats_[place];
  bool progress = false;
  for (unsigned i = 0; i < CudaDevice::kChannelsMax; ++i) {
    const std::uint64_t sequence = seat.working[i];
    if (sequence == 0 || seat.device->completed(i) != sequence || !seat.device->stopped(i)) continue;
    seat.working[i] = 0;
    desks_[place].channels[i].elapsed_ns = seat.device->elapsed_ns(i);
    tell(place, i, sequence, seat.device->failure(i));
    progress = true;
  }
  return progress;
}

bool DeviceOwner::works() const noexcept {
  return std::any_of(open_.begin(), open_.end(), [this](std::uint64_t place) {
    const auto& working = seats_[place].working;
    return std::any_of(working.begin(), working.end(), [](std::uint64_t each) { return each != 0; });
  });
}

/// How long a call may take that has to do with so many bytes: the driver may wait for all that works.
std::uint64_t DeviceOwner::driver_ns(std::uint64_t bytes) const noexcept {
  std::uint64_t works_ns = 0;
  for (const std::uint64_t place : open_) works_ns = std::max(works_ns, seats_[place].device->patience_ns());
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
    for (const Request& each : returned_) (void)give_back(each);
  returned_.clear();
  return true;
}

/// Ends a device of a rank that has died, when its streams rest; one that hangs stays. Memory of the GPU and of the
/// rank stays: peers may be using it.
bool DeviceOwner::close_of_lost() noexcept {
  // seq_cst: pairs with the launcher's addition, after the phases and before it rings.
  if (region_.losses().load(std::memory_order_seq_cst) == 0) return false;
  const auto is_over = [this](std::uint64_t place) {
    const Seat& seat = seats_[place];
    return rank_of(place).phase.load(std::memory_order_acquire) ==
               RankPhase::lost &&  // pairs with the launcher's store
           std::all_of(seat.working.begin(), seat.working.end(), [](std::uint64_t each) { return each == 0; }) &&
           !seat.device->hangs();
  };
  const auto found = std::find_if(open_.begin(), open_.end(), is_over);
  if (found == open_.end()) return false;
  const Busy busy(offered_, driver_ns(0));
  close_device(seats_[*found]);
  return true;
}

void DeviceOwner::tell(std::uint64_t place, unsigned channel, std::uint64_t sequence,
                       const std::string& failure) noexcept {
  ChannelWord& word = desks_[place].channels[channel];
  copy_text(word.failure, failure);
  word.over.store(sequence, std::memory_order_seq_cst);  // pairs with OwnedDevice::settle(); before the doorbell
  rank_of(place).doorbell.ring();
}

void DeviceOwner::answer(std::uint64_t place, const Request& request) noexcept {
  Answer& answer = desks_[place].answer;
  answer.text[0] = '\0';
  try {
    const Busy busy(offered_, driver_ns(bytes_of(request)));  // no more when the answer is there
    answer.status = carry_out_call(place, request, answer.value);
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
  answer.call.store(request.call, std::memory_order_release);  // pairs with OwnerLink::await_answer()
  ::syscall(SYS_futex, &answer.call, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

Status DeviceOwner::carry_out_call(std::uint64_t place, const Request& request, std::uint64_t& value) {
  Seat& seat = seats_[place];
  value = 0;
  switch (request.kind) {
    case Kind::open_device:
      open_device(place, *reinterpret_cast<const CudaOptions*>(request.address));
      return kSuccess;
    case Kind::close_device:
      close_device(seat);
      return kSuccess;
    case Kind::load_module:
      value =
          reinterpret_cast<std::uint64_t>(device_of(seat).load_module(reinterpret_cast<const void*>(request.address)));
      return kSuccess;
    case Kind::find_kernel:
      value = reinterpret_cast<std::uint64_t>(device_of(seat).find_kernel(
          reinterpret_cast<Module>(request.count), reinterpret_cast<const char*>(request.address)));
      return kSuccess;
    case Kind::load_kernels:
      value = load_kernels(seat, request);
      return kSuccess;
    default:
      return carry_out_driver_call(request, value);
  }
}

/// What needs no device of the rank's.
Status DeviceOwner::carry_out_driver_call(const Request& request, std::uint64_t& value) {
  switch (request.kind) {
    case Kind::count_devices: {
      int count = 0;
      const Status status = api_.device_count(count);
      value = static_cast<std::uint64_t>(count);
      return status;
    }
    case Kind::allocate:
      return allocate(request, value);
    case Kind::allocate_pinned:
      return allocate_pinned(request.count, value);
    case Kind::release:
    case Kind::release_pinned:
      if (!works()) return give_back(request);
      returned_.push_back(request);
      return kSuccess;
    case Kind::register_host:
      return api_.register_host(reinterpret_cast<void*>(request.address), request.count);
    default:
      return kNotSupported;
  }
}

Status DeviceOwner::allocate(const Request& request, std::uint64_t& value) {
  const auto attempt = [&] {
    void* memory = nullptr;
    Status status = api_.use_device(request.device);
    if (status == kSuccess) status = api_.allocate(memory, request.count);
    value = reinterpret_cast<std::uint64_t>(memory);
    return status;
  };
  const Status status = attempt();
  if (status != kOutOfMemory || returned_.empty()) return status;
  // Then all have to wait.
  for (const Request& each : std::exchange(returned_, {})) (void)give_back(each);
  return attempt();
}

Status DeviceOwner::give_back(const Request& request) {
  if (request.kind == Kind::release_pinned) return release_pinned(request.address);
  return api_.release(reinterpret_cast<void*>(request.address));
}

void DeviceOwner::open_device(std::uint64_t place, const CudaOptions& options) {
  Seat& seat = seats_[place];
  close_device(seat);
  Desk& desk = desks_[place];
  for (ChannelWord& word : desk.channels) word.over.store(0, std::memory_order_relaxed);  // before the answer
  CudaOptions own = options;
  own.placement = Placement::process;  // all calls are this process's
  open_.reserve(seats_.size());
  retired_.reserve(retired_.size() + seats_.size());  // so that close_device() has room
  seat.host = std::make_unique<LoopHost>(loop_);
  seat.device = std::make_unique<CudaDevice>(api_, *seat.host, own);
  seat.host->serve(*seat.device);
  open_.push_back(place);
  desk.answer.rules = seat.device->rules();
  copy_text(desk.answer.name, seat.device->model());
}

void DeviceOwner::note_hanging() noexcept {
  hangs_ = hangs_ || std::any_of(open_.begin(), open_.end(),
                                 [this](std::uint64_t place) { return seats_[place].device->hangs(); });
}

void DeviceOwner::close_device(Seat& seat) noexcept {
  if (seat.device == nullptr) return;
  seat.host->stop();
  note_hanging();
  std::erase(open_, static_cast<std::uint64_t>(&seat - seats_.data()));
  if (hangs_)
    seat.device->abandon();  // or the driver might hang, and all ranks with it
  else if (works())
    retired_.push_back({std::move(seat.host), std::move(seat.device), std::move(seat.tables)});
  seat.device.reset();
  seat.host.reset();
  seat.tables.clear();
  seat.working.fill(0);
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
