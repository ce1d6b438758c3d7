#include "transports/tca/dma_engine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/assert.hpp"

namespace coracle::internals::tca {

DmaEngine::DmaEngine(DmaDevice& device, const Clock& clock, const DmaOptions& options)
    : device_(device),
      clock_(clock),
      options_(options),
      cache_(device, options.patterns_max, options.channels_max),
      channels_(device.rules().channels) {
  CORACLE_ASSERT(channels_ > 0 && channels_ <= queues_.size(), "a device of {} channels", channels_);
}

DmaEngine::~DmaEngine() {
  for (unsigned i = 0; i < channels_; ++i)
    if (queues_[i].sequence != 0) device_.abort(i);
}

void DmaEngine::copy(const Descriptor& whole, DmaTransfer& transfer) {
  const std::uint64_t gone = cache_.counts().evictions;
  TransferPattern* found = nullptr;
  try {
    found = &cache_.find(whole);
  } catch (...) {
    forget_patterns();
    throw;
  }
  if (cache_.counts().evictions != gone) forget_patterns();
  TransferPattern& pattern = *found;
  transfer.pattern_ = &pattern;
  transfer.times_ns_.fill(0);
  transfer.worked_ = true;
  transfer.left_out_ = false;
  pattern.begin();
  ++in_flight_;
  transfer.pending_ = 1;  // so that it does not end while its parts are given out
  const auto& parts = pattern.parts();
  for (unsigned i = 0; i < channels_; ++i)
    if (parts[i].table.valid()) enqueue(i, {.transfer = &transfer, .table = parts[i].table});
  --transfer.pending_;
}

/// Some are no more.
void DmaEngine::forget_patterns() noexcept {
  for (Queue& queue : queues_) queue.before = nullptr;
}

void DmaEngine::run(Chain chain, unsigned channel, DmaTransfer& transfer) {
  run({.transfer = &transfer, .table = device_.load(chain), .unloads = true}, channel);
}

void DmaEngine::run_table(TableId table, unsigned channel, DmaTransfer& transfer) noexcept {
  run({.transfer = &transfer, .table = table}, channel);
}

void DmaEngine::run(const Part& part, unsigned channel) noexcept {
  part.transfer->pattern_ = nullptr;
  part.transfer->worked_ = true;
  part.transfer->left_out_ = false;
  part.transfer->pending_ = 0;
  ++in_flight_;
  enqueue(channel, part);
}

void DmaEngine::enqueue(unsigned channel, const Part& what) noexcept {
  Part& part = what.transfer->parts_[channel];
  part = what;
  ++part.transfer->pending_;
  Queue& queue = queues_[channel];
  (queue.first == nullptr ? queue.first : queue.last->next) = &part;
  queue.last = &part;
  if (queue.first == &part) start_next(channel);
}

bool DmaEngine::start_next(unsigned channel) noexcept {
  Queue& queue = queues_[channel];
  if (queue.first == nullptr || queue.sequence != 0) return false;
  if (!device_.stopped(channel)) {
    if (queue.waits_since_ns == 0) queue.waits_since_ns = clock_.now_ns();
    return false;
  }
  queue.started_ns = clock_.now_ns();
  if (queue.waits_since_ns != 0 && queue.before != nullptr)
    queue.before->delayed_next(queue.started_ns - queue.waits_since_ns);
  queue.waits_since_ns = 0;
  queue.sequence = ++sequence_;
  ++counts_.doorbells;
  if (events_ != nullptr) [[unlikely]]
    tell(CORACLE_DMA_BEGIN, channel);
  device_.start(channel, queue.first->table, queue.sequence);
  return true;
}

[[gnu::cold]] void DmaEngine::tell(coracle_event_kind kind, unsigned channel) noexcept {
  coracle_event event = events_->event(kind);
  event.task = 0;
  event.id = reinterpret_cast<std::uint64_t>(&queues_[channel]);
  event.number = channel;
  event.name = device_.name();
  events_->tell(event);
}

void DmaEngine::end_part(unsigned channel, bool worked) noexcept {
  if (events_ != nullptr) [[unlikely]]
    tell(CORACLE_DMA_END, channel);
  Queue& queue = queues_[channel];
  Part& part = *queue.first;
  DmaTransfer& transfer = *part.transfer;
  queue.first = part.next;
  queue.sequence = 0;
  queue.before = transfer.pattern_;
  if (part.unloads) device_.unload(part.table);
  transfer.times_ns_[channel] = device_.elapsed_ns(channel);
  transfer.worked_ &= worked;
  transfer.left_out_ |= device_.left_out(channel);
  if (--transfer.pending_ > 0) return;
  if (transfer.pattern_ != nullptr) transfer.pattern_->end(transfer.times_ns_);
  --in_flight_;
  transfer.ended(transfer.worked_);
}

/// The first of a channel has failed: once more, or no more.
bool DmaEngine::retry(unsigned channel, std::string failure) noexcept {
  Queue& queue = queues_[channel];
  last_failure_ = std::move(failure);
  if (++queue.first->tries >= options_.tries_max) {
    end_part(channel, false);
    return true;
  }
  if (events_ != nullptr) tell(CORACLE_DMA_END, channel);
  queue.sequence = 0;
  return start_next(channel);
}

bool DmaEngine::finish_first(unsigned channel) noexcept {
  Queue& queue = queues_[channel];
  if (queue.sequence == 0) return false;
  if (device_.completed(channel) == queue.sequence) {
    std::string failure = device_.failure(channel);
    if (!failure.empty()) return retry(channel, std::move(failure));
    end_part(channel, true);
    return true;
  }
  const std::uint64_t now_ns = clock_.now_ns();
  if (now_ns - queue.started_ns < options_.stall_limit_ns) return false;
  if (device_.held(channel)) {  // whoever watches over the peers ends that
    queue.started_ns = now_ns;
    return false;
  }
  device_.abort(channel);
  if (device_.completed(channel) == queue.sequence) {  // it was only this thread that did not look
    end_part(channel, true);
    return true;
  }
  ++counts_.stalls;
  return retry(channel, fmt::format("channel {} of {} has not come to the end of its table in {} ms", channel,
                                    device_.name(), options_.stall_limit_ns / 1'000'000));
}

bool DmaEngine::poll() noexcept {
  if (in_flight_ == 0) return false;
  bool progress = false;
  for (unsigned i = 0; i < channels_; ++i) {
    progress |= finish_first(i);
    progress |= start_next(i);
  }
  return progress;
}

std::uint64_t DmaEngine::deadline_ns() const noexcept {
  std::uint64_t least = ~std::uint64_t{0};
  for (unsigned i = 0; i < channels_; ++i)
    if (queues_[i].sequence != 0) least = std::min(least, queues_[i].started_ns + options_.stall_limit_ns);
  return least;
}

}  // namespace coracle::internals::tca
