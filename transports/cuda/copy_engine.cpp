#include "transports/cuda/copy_engine.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "runtime/core/assert.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals::cuda {
namespace {

/// The device gives up by itself what does not come to its end (CudaOptions::stuck_after_ns, and by what it expects):
/// an engine with a limit of its own would only abort what is large and well.
constexpr std::uint64_t kLeftToDevice = 86'400'000'000'000;

tca::DmaOptions engine_options(const CopyOptions& options) noexcept {
  tca::DmaOptions result;
  result.patterns_max = options.patterns_max;
  result.channels_max = options.spread_max;
  result.tries_max = options.tries_max;
  result.stall_limit_ns = kLeftToDevice;
  return result;
}

}  // namespace

void Copy::begin() {
  tca::DmaEngine& engine = engine_.engine();
  if (const auto* whole = std::get_if<tca::Descriptor>(&work_)) return engine.copy(*whole, *this);
  CORACLE_ASSERT(channel_ < engine_.streams().rules().channels, "a {} for channel {} of a device with {}", what(),
                 channel_, engine_.streams().rules().channels);
  if (const auto* chain = std::get_if<tca::Chain>(&work_)) return engine.run(*chain, channel_, *this);
  engine.run_table(std::get<tca::TableId>(work_), channel_, *this);
}

/// True: it is over already, since the device has refused it.
bool Copy::await_ready() noexcept {
  try {
    begin();
  } catch (...) {
    refusal_ = std::current_exception();
  }
  return refusal_ != nullptr;
}

void Copy::ended(bool worked) noexcept {
  if (worked) return complete();
  failure_ = engine_.engine().last_failure();
  complete({EIO, std::generic_category()});
}

std::string Copy::subject() const {
  if (const auto* whole = std::get_if<tca::Descriptor>(&work_))
    return fmt::format("a copy of {} blocks of {} bytes from {} to {}", whole->count, whole->block_bytes,
                       fmt::ptr(whole->source), fmt::ptr(whole->target));
  if (const auto* chain = std::get_if<tca::Chain>(&work_))
    return fmt::format("a chain of {} copies on channel {}", chain->size(), channel_);
  return fmt::format("table {} on channel {}", std::get<tca::TableId>(work_).number, channel_);
}

void Copy::await_resume() const {
  if (refusal_) [[unlikely]]
    std::rethrow_exception(refusal_);
  if (failed()) [[unlikely]]
    throw Error(outcome(), fmt::format("{} failed: {}", subject(), failure_));
}

CopyEngine::CopyEngine(EventLoop& loop, CudaApi& api, const CopyOptions& options)
    : CopyEngine(
          loop, [&](CudaHost& host) { return std::make_unique<CudaDevice>(api, host, options.device); }, options) {}

CopyEngine::CopyEngine(EventLoop& loop, const Maker& make, const CopyOptions& options)
    : loop_(loop),
      host_(loop),
      streams_(make(host_)),
      device_(dynamic_cast<CudaDevice*>(streams_.get())),
      engine_(*streams_, loop.clock(), engine_options(options)) {
  engine_.set_events(loop.events());
  host_.serve(*streams_);
  loop_.add_poller(*this);
}

CopyEngine::~CopyEngine() {
  CORACLE_ASSERT(!engine_.busy(), "a GPU's copy engines are given up while a coroutine awaits a copy");
  host_.stop();
  loop_.remove_poller(*this);
}

CudaDevice& CopyEngine::device() {
  if (device_ != nullptr) return *device_;
  throw Error(Errc::unsupported,
              "cuda: ranks in one address space (--place pvas) have no device of their own, but streams of the process "
              "that owns the GPUs: use streams(), and Gpu::kernels(); or --place process");
}

bool CopyEngine::poll() noexcept {
  const bool sleepy = std::exchange(sleepy_, false);
  return engine_.poll() || (sleepy && worth_spinning());
}

void CopyEngine::about_to_sleep() noexcept {
  host_.about_to_sleep();
  sleepy_ = true;
}

bool CopyEngine::worth_spinning() const noexcept {
  if (!engine_.busy() || !loop_.spins()) return false;
  const std::uint64_t now = loop_.clock().now_ns();
  for (unsigned i = 0; i < streams_->rules().channels; ++i)
    if (streams_->spin_ns(i, now) > 0) return true;
  return false;
}

namespace {

CopyOptions engine_options(const CudaOptions& device) {
  CopyOptions options;
  options.device = device;
  options.device.channels = 1;
  options.tries_max = 1;  // half of the work may be done, and a second time may not give the same
  return options;
}

}  // namespace

Kernels::Kernels(EventLoop& loop, CudaApi& api, const void* code, const CudaOptions& options)
    : Kernels(
          loop, [&api](CudaHost& host, const CudaOptions& own) { return std::make_unique<CudaDevice>(api, host, own); },
          code, options) {}

Kernels::Kernels(EventLoop& loop, const Maker& make, const void* code, const CudaOptions& options)
    : engine_(
          loop, [&](CudaHost& host) { return make(host, engine_options(options).device); }, engine_options(options)),
      module_(engine_.streams().load_module(code)) {}

}  // namespace coracle::internals::cuda
