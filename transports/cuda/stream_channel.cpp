#include "transports/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <thread>

#include "runtime/core/timer.hpp"
#include "transports/cuda/failure.hpp"

namespace coracle::internals::cuda {
namespace {

/// Between looks at a word that nothing will ring for.
constexpr std::uint64_t kPollPause = 50'000;
/// Between questions to the driver: doubled from the first to the last.
constexpr std::uint64_t kFirstAskPause = 1'000'000;
constexpr std::uint64_t kLastAskPause = 100'000'000;
/// A table takes so many times what was expected before it may count as stuck.
constexpr std::uint64_t kPatience = 100;
/// What handing over one copy costs, roughly.
constexpr std::uint64_t kCopyCost = 1'000;

std::uint64_t expected_of(const Table& table, const CudaOptions& options) noexcept {
  if (table.measured_ns() != 0) return table.measured_ns();
  return options.start_ns + kCopyCost * table.copies() +
         static_cast<std::uint64_t>(static_cast<double>(table.bytes()) / options.bytes_per_ns);
}

}  // namespace

StreamChannel::StreamChannel(StreamContext& device, void* room) : device_(device), shared_(new(room) Shared) {
  shared_->host = &device.host;
  try {
    require(device.api, device.api.create_stream(stream_), "cuda: making a stream");
    if (!device.options.timed_by_events) return;
    require(device.api, device.api.create_event(begin_), "cuda: making an event");
    require(device.api, device.api.create_event(end_), "cuda: making an event");
  } catch (...) {
    destroy();
    throw;
  }
}

StreamChannel::~StreamChannel() {
  if (!abandoned_) destroy();
}

void StreamChannel::destroy() noexcept {
  // After an error of the device these fail too; the objects went with the device.
  if (end_ != nullptr) (void)device_.api.destroy_event(end_);
  if (begin_ != nullptr) (void)device_.api.destroy_event(begin_);
  if (stream_ != nullptr) (void)device_.api.destroy_stream(stream_);
  shared_->~Shared();
}

bool StreamChannel::end(std::uint64_t until_ns) noexcept {
  while (!rests()) {
    if (const Status status = ask(device_.host.now_ns()); status != kSuccess) lose(status);
    if (rests() || device_.host.now_ns() >= until_ns) break;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  const std::lock_guard lock(shared_->mutex);
  shared_->host = nullptr;
  abandoned_ = !rests();
  return !abandoned_;
}

// --- starting ---

/// On a thread of the driver, when all before it on the stream is over.
void StreamChannel::rung(void* data) noexcept {
  auto& shared = *static_cast<Shared*>(data);
  shared.rung_ns.store(real_clock().now_ns(), std::memory_order_relaxed);  // read after the acquire of rings or word
  // release: pairs with settle()'s acquire, by which the copies' bytes are seen too.
  if (shared.value != 0) shared.word.store(shared.value, std::memory_order_release);
  const std::lock_guard lock(shared.mutex);
  shared.rings.fetch_add(1, std::memory_order_release);  // pairs with has_rung()
  if (shared.host != nullptr) shared.host->ring();
}

Status StreamChannel::add_ring(std::uint64_t value) noexcept {
  shared_->value = value;
  const Status status = device_.api.call_host(stream_, &StreamChannel::rung, shared_);
  if (status != kSuccess) return status;
  wakes_ = true;
  ++rings_;
  ++device_.statistics.rings;
  return kSuccess;
}

Status StreamChannel::hand_over() noexcept {
  CudaApi& api = device_.api;
  Status status = api.use_device(device_.options.device);
  if (status == kSuccess && begin_ != nullptr) status = api.record_event(begin_, stream_);
  if (status == kSuccess) status = table_->enqueue(stream_);
  if (status == kSuccess && end_ != nullptr) status = api.record_event(end_, stream_);
  // Also after an error: what was handed over is over when the word comes.
  Status said = kNotSupported;
  if (device_.info.stream_words)
    said = api.write_word(stream_, reinterpret_cast<std::uint64_t*>(&shared_->word), sequence_);
  if (said == kNotSupported)
    said = add_ring(sequence_);
  else if (said == kSuccess && expected_ns_ >= device_.options.ring_from_ns)
    said = add_ring(0);
  return status != kSuccess ? status : said;
}

Status StreamChannel::start(Table& table, std::uint64_t sequence) noexcept {
  before_ = completed();
  sequence_ = sequence;
  if (state_ == State::stuck) {
    give_up(kNotReady, State::stuck);
    return kSuccess;
  }
  table_ = &table;
  awaited_ = sequence;
  started_ns_ = device_.host.now_ns();
  expected_ns_ = expected_of(table, device_.options);
  elapsed_ns_ = 0;
  wakes_ = unsure_ = false;
  error_ = kSuccess;
  state_ = State::working;
  if (lost_ != kSuccess) {
    give_up(lost_, State::stopped);
    return kSuccess;
  }
  const Status status = hand_over();
  if (ends_context(status)) return status;
  if (status != kSuccess) give_up(status, State::failing);
  pause_ns_ = kFirstAskPause;
  look_ns_ = started_ns_ + (wakes_ ? std::max(kFirstAskPause, 2 * expected_ns_) : std::max(kPollPause, expected_ns_));
  return kSuccess;
}

// --- ending ---

void StreamChannel::finish(std::uint64_t elapsed_ns) noexcept {
  elapsed_ns_ = elapsed_ns;
  if (state_ == State::working) table_->note_time(elapsed_ns);
  state_ = State::stopped;
}

/// Whether all functions that were put on the stream have been called.
bool StreamChannel::has_rung() const noexcept {
  // acquire: pairs with rung(): what it reads may be changed by the next start.
  return shared_->rings.load(std::memory_order_acquire) == rings_;
}

/// Notes that the word has come, if it has.
void StreamChannel::settle() noexcept {
  // acquire: pairs with the stream's write, behind the copies' bytes (in the host function's case: rung()'s release).
  if (!works() || shared_->word.load(std::memory_order_acquire) != awaited_) return;
  // It stays so until it can be started: stopped() has said so already.
  if (state_ == State::stuck && !has_rung()) return;
  float milliseconds = 0;
  if (end_ != nullptr && error_ == kSuccess && device_.api.elapsed_ms(milliseconds, begin_, end_) == kSuccess)
    return finish(static_cast<std::uint64_t>(std::llround(static_cast<double>(milliseconds) * 1e6)));
  std::uint64_t seen = device_.host.now_ns();
  const std::uint64_t rung = shared_->rung_ns.load(std::memory_order_relaxed);
  if (wakes_ && rung > started_ns_) seen = std::min(seen, rung);
  finish(seen - started_ns_);
}

std::uint64_t StreamChannel::completed() noexcept {
  settle();
  return state_ == State::working || state_ == State::failing ? before_ : sequence_;
}

bool StreamChannel::stopped() noexcept {
  settle();
  return state_ == State::stuck || rests();
}

void StreamChannel::give_up(Status error, State state) noexcept {
  ++device_.statistics.failures;
  error_ = error;
  state_ = state;
}

void StreamChannel::give_up_stuck(std::uint64_t now_ns) noexcept {
  gave_up_after_ns_ = now_ns - started_ns_;
  give_up(kNotReady, State::stuck);
}

void StreamChannel::abort() noexcept {
  settle();
  if (state_ == State::working || state_ == State::failing) give_up_stuck(device_.host.now_ns());
}

void StreamChannel::lose(Status error) noexcept {
  lost_ = error;
  settle();
  if (works()) give_up(error, State::stopped);
}

/// Asks the stream itself.
Status StreamChannel::ask(std::uint64_t now_ns) noexcept {
  ++device_.statistics.queries;
  Status status = device_.api.use_device(device_.options.device);
  if (status == kSuccess) status = device_.api.query_stream(stream_);
  settle();
  if (rests()) return kSuccess;
  if (status == kSuccess) {
    look_ns_ = now_ns + kPollPause;
    if (!works()) return kSuccess;  // the function has been called, and is about to say so
    // All is over, the word included; it may be on its way to this core.
    if (!unsure_) {
      unsure_ = true;
      return kSuccess;
    }
    ++device_.statistics.missed_words;
    finish(now_ns - started_ns_);
    return kSuccess;
  }
  if (status != kNotReady) return status;
  if (state_ != State::stuck && now_ns - started_ns_ >= patience_ns()) {
    give_up_stuck(now_ns);
    device_.host.ring();
  }
  look_ns_ = now_ns + pause_ns_;
  pause_ns_ = std::min(2 * pause_ns_, kLastAskPause);
  return kSuccess;
}

Status StreamChannel::look(std::uint64_t now_ns) noexcept {
  settle();
  if (rests() || now_ns < look_ns_) return kSuccess;
  if (!wakes_ && state_ == State::working) {
    look_ns_ = now_ns + kPollPause;
    if (now_ns - started_ns_ < device_.options.ring_from_ns) return kSuccess;
    // Refused: the question says why.
    if (device_.api.use_device(device_.options.device) == kSuccess) (void)add_ring(0);
  }
  return ask(now_ns);
}

std::uint64_t StreamChannel::patience_ns() const noexcept {
  return std::max(device_.options.stuck_after_ns, kPatience * expected_ns_);
}

std::uint64_t StreamChannel::spin_ns(std::uint64_t now_ns) const noexcept {
  if (state_ != State::working || expected_ns_ > device_.options.spin_max_ns) return 0;
  const std::uint64_t until = started_ns_ + device_.options.spin_max_ns;
  return now_ns < until ? until - now_ns : 0;
}

std::string StreamChannel::failure(unsigned index) const {
  if (error_ == kSuccess || state_ == State::working || state_ == State::failing) return {};
  const std::string where =
      fmt::format("cuda: device {} ({}), channel {}", device_.options.device, device_.info.name, index);
  if (error_ == kNotReady)
    return fmt::format(
        "{}: a table that should take {} us has not ended after {} ms, and holds the channel: the device or "
        "its link hangs; look for NVRM and Xid in dmesg, and end the job",
        where, expected_ns_ / 1000, gave_up_after_ns_ / 1'000'000);
  const char* remedy = remedy_of(error_);
  return fmt::format("{}: {}{}{}", where, describe(device_.api, error_), *remedy == '\0' ? "" : "; ", remedy);
}

}  // namespace coracle::internals::cuda
