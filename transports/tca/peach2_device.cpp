#include "transports/tca/peach2_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "runtime/core/assert.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals::tca {

namespace {

std::uint32_t owner_of(const DeviceHost& host, const Descriptor& descriptor) noexcept {
  const std::span<std::byte> targets = descriptor.targets();
  return host.owner_of(targets.data(), targets.size());
}

void check(const DeviceHost& host, Chain chain) {
  if (chain.empty()) throw Error(Errc::bad_input, "a table of DMA descriptors is empty");
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Descriptor& descriptor = chain[i];
    const auto refuse = [&](const char* what) {
      throw Error(Errc::bad_input,
                  fmt::format("descriptor {} of {} (from {} to {}, {} blocks of {} bytes, strides {} and {}) {}", i,
                              chain.size(), fmt::ptr(descriptor.source), fmt::ptr(descriptor.target), descriptor.count,
                              descriptor.block_bytes, descriptor.source_stride, descriptor.target_stride, what));
    };
    if (descriptor.bytes() == 0) refuse("copies nothing");
    const auto aligned = [](auto value) { return static_cast<std::uint64_t>(value) % Peach2Device::kAlignment == 0; };
    if (!aligned(reinterpret_cast<std::uintptr_t>(descriptor.source)) ||
        !aligned(reinterpret_cast<std::uintptr_t>(descriptor.target)) || !aligned(descriptor.block_bytes) ||
        (descriptor.count > 1 && (!aligned(descriptor.source_stride) || !aligned(descriptor.target_stride))))
      refuse("is not of whole 16 bytes");
    for (const std::uint64_t block : {std::uint64_t{0}, descriptor.count - 1}) {
      if (!host.is_source(descriptor.source_block(block), descriptor.block_bytes))
        refuse("reads memory that is not registered");
    }
    if (owner_of(host, descriptor) == DeviceHost::kNobody) refuse("writes memory that is not registered");
  }
}

/// The last words of a descriptor become visible after all before them, as a flag there must.
void move_blocks(const Descriptor& descriptor) noexcept {
  for (std::uint64_t block = 0; block < descriptor.count; ++block) {
    const std::byte* source = descriptor.source_block(block);
    std::byte* target = descriptor.target_block(block);
    const std::uint64_t body = descriptor.block_bytes - Peach2Device::kAlignment;
    std::memcpy(target, source, body);
    for (std::uint64_t at = body; at < descriptor.block_bytes; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, source + at, sizeof word);
      // release: pairs with the acquire by which a receiver looks at words that it polls.
      __atomic_store_n(reinterpret_cast<std::uint64_t*>(target + at), word, __ATOMIC_RELEASE);
    }
  }
}

/// Neither end has been withdrawn since the table was started: it may have been freed.
bool may_move(const DeviceHost& host, const Descriptor& descriptor, std::uint32_t owner) noexcept {
  for (const std::uint64_t block : {std::uint64_t{0}, descriptor.count - 1})
    if (!host.is_source(descriptor.source_block(block), descriptor.block_bytes)) return false;
  const std::span<std::byte> targets = descriptor.targets();
  return host.is_target_of(owner, targets.data(), targets.size());
}

}  // namespace

void StoredWords::add(std::uint64_t* target, std::uint64_t word) noexcept {
  const std::uint32_t owner = host_.owner_of(reinterpret_cast<std::byte*>(target), sizeof *target);
  const Passage passage = host_.passage_to(owner);
  double due_ns = static_cast<double>(host_.now_ns() + passage.delay_ns) + store_ns_;
  if (!on_way_.empty()) due_ns = std::max(due_ns, on_way_.back().due_ns);
  on_way_.push_back({due_ns, target, word, owner});
}

/// A word gets to its target, also when that is given up, since it may tell so; or waits for the way there. Where the
/// target has been withdrawn nobody looks for it.
void StoredWords::land(const Stored& stored) noexcept {
  auto* target = reinterpret_cast<std::byte*>(stored.target);
  if (host_.passage_to(stored.owner).blocked) {
    held_.push_back(stored);
    return;
  }
  if (!host_.is_target_of(stored.owner, target, sizeof *stored.target)) return;
  __atomic_store_n(stored.target, stored.word, __ATOMIC_RELEASE);  // pairs with the acquire of whoever polls it
  host_.landed(target);
}

void StoredWords::advance(double now_ns) noexcept {
  const std::vector<Stored> waited = std::exchange(held_, {});
  for (const Stored& stored : waited) land(stored);
  while (!on_way_.empty() && on_way_.front().due_ns <= now_ns) {
    const Stored stored = on_way_.front();
    on_way_.pop_front();
    land(stored);
  }
}

Peach2Device::Peach2Device(const Peach2Model& model, DeviceHost& host)
    : host_(host), times_(model), words_(host, model.store_ns) {
  for (unsigned i = 0; i < Peach2Model::kChannels; ++i) {
    if (model.tags[i] == 0) continue;
    rules_.rates[used_.size()] = model.rate(i, model.read_bytes);
    used_.push_back(i);
  }
  rules_.channels = model.channels();
  rules_.alignment = kAlignment;
  rules_.granule = model.read_bytes;
  rules_.table_ns = model.start_ns + model.stop_ns;
}

/// Whose memory the table writes to: asked for here, since where that has been withdrawn nobody could tell any more
/// whom it keeps out. The same address may have become another rank's between two runs, not during one.
void Peach2Device::find_owners(Table& table) noexcept {
  for (std::size_t i = 0; i < table.chain.size(); ++i) {
    const std::uint32_t owner = owner_of(host_, table.chain[i]);
    if (owner != DeviceHost::kNobody) table.owners[i] = owner;
  }
}

TableId Peach2Device::load(Chain chain) {
  check(host_, chain);
  const std::uint32_t number = tables_.take();
  Table& table = tables_[number];
  table.chain.assign(chain.begin(), chain.end());
  table.owners.assign(chain.size(), DeviceHost::kNobody);
  find_owners(table);
  table.pieces.clear();
  table.landed = 0;
  for (const Descriptor& descriptor : chain) table.pieces.push_back({descriptor.bytes(), descriptor.block_bytes});
  return {number};
}

void Peach2Device::unload(TableId id) noexcept {
  CORACLE_ASSERT(!tables_[id.number].in_use, "table {} is unloaded while a channel works on it", id.number);
  tables_.give_back(id.number);
}

void Peach2Device::start(unsigned index, TableId id, std::uint64_t sequence) noexcept {
  Channel& channel = channels_[index];
  Table& table = tables_[id.number];
  CORACLE_ASSERT(stopped(index), "channel {} is started before its controller has stopped", index);
  CORACLE_ASSERT(!table.in_use, "table {} is started twice at a time", id.number);
  const std::uint64_t now = host_.now_ns();
  advance(now);
  channel.stopped.store(false, std::memory_order_relaxed);  // of this thread
  channel.table = id.number;
  channel.sequence = sequence;
  channel.started_ns = static_cast<double>(now);
  channel.first = table.landed;
  channel.delay_ns = 0;
  if (table.landed == 0) channel.left_out = false;  // else it goes on with what was begun
  find_owners(table);
  if (table.landed == table.chain.size()) {  // only its completion word was missing
    channel.stopped.store(true, std::memory_order_relaxed);
    return complete(channel, sequence);
  }
  table.in_use = true;
  times_.start(used_[index], std::span(table.pieces).subspan(table.landed), static_cast<double>(now));
  channel.stalls_at = kNoDescriptor;
  if (is_to_stall()) channel.stalls_at = (table.landed + table.chain.size()) / 2;
  if (channel.stalls_at == table.landed) times_.stall(used_[index], true);
  set_alarm();
}

/// The table that is being started.
bool Peach2Device::is_to_stall() noexcept {
  ++started_;
  if (faults_.stalls > 0) {
    --faults_.stalls;
    return true;
  }
  return faults_.tables_per_stall > 0 && started_ % faults_.tables_per_stall == 0;
}

std::uint64_t Peach2Device::completed(unsigned channel) const noexcept {
  return channels_[channel].word.load(std::memory_order_acquire);  // pairs with the release in take()
}

bool Peach2Device::stopped(unsigned channel) const noexcept {
  return channels_[channel].stopped.load(std::memory_order_acquire);  // pairs with the release in take()
}

void Peach2Device::take(const ChannelTimes::Step& step) noexcept {
  unsigned index = 0;
  while (used_[index] != step.channel) ++index;
  Channel& channel = channels_[index];
  Table& table = tables_[channel.table];
  if (step.what == ChannelTimes::Step::What::stopped) {
    channel.stopped.store(true, std::memory_order_release);  // pairs with stopped()
    return host_.progressed();
  }
  const std::size_t place = channel.first + step.piece;
  const Descriptor& descriptor = table.chain[place];
  const std::uint32_t owner = table.owners[place];
  const Passage passage = host_.passage_to(owner);
  if (hold(channel, step, passage)) return;
  table.landed = place + 1;
  if (!passage.given_up) {
    std::optional<ExposedAccess> access;  // begins before the look
    if (auto* mark = host_.access_mark(); mark != nullptr) access.emplace(*mark, owner);
    if (may_move(host_, descriptor, owner)) {
      move_blocks(descriptor);
      host_.landed(descriptor.target);
    } else {
      channel.left_out = true;
    }
  }
  if (step.what == ChannelTimes::Step::What::piece) {
    if (table.landed == channel.stalls_at) times_.stall(step.channel, true);
    return;
  }
  channel.elapsed_ns = static_cast<std::uint64_t>(std::llround(step.time_ns - channel.started_ns));
  table.in_use = false;
  if (faults_.late_words > 0) {
    --faults_.late_words;
    late_.push_back({step.time_ns + static_cast<double>(faults_.late_ns), index, channel.sequence});
    return;
  }
  complete(channel, channel.sequence);
}

/// True when the bytes can't land yet. The channel then waits with them: nothing of it may overtake.
bool Peach2Device::hold(Channel& channel, const ChannelTimes::Step& step, const Passage& passage) noexcept {
  if (passage.given_up || (!passage.blocked && passage.delay_ns <= channel.delay_ns)) return false;
  channel.held = step;
  channel.held_until_ns = ChannelTimes::kNever;
  if (!passage.blocked) {
    channel.held_until_ns = step.time_ns + static_cast<double>(passage.delay_ns - channel.delay_ns);
    channel.delay_ns = passage.delay_ns;
  }
  times_.stall(step.channel, true);
  return true;
}

/// Tries again what waits, where its time has come or the links have changed.
void Peach2Device::let_go(double now_ns) noexcept {
  for (Channel& channel : channels_) {
    if (!channel.held || (channel.held_until_ns != ChannelTimes::kNever && channel.held_until_ns > now_ns)) continue;
    ChannelTimes::Step step = *std::exchange(channel.held, std::nullopt);
    step.time_ns = now_ns;
    times_.stall(step.channel, false);
    take(step);
  }
}

void Peach2Device::complete(Channel& channel, std::uint64_t sequence) noexcept {
  tables_[channel.table].landed = 0;                        // the next time it begins anew
  channel.word.store(sequence, std::memory_order_release);  // pairs with completed()
  host_.progressed();
}

void Peach2Device::complete_late(double now_ns) noexcept {
  for (std::size_t i = 0; i < late_.size();) {
    if (late_[i].due_ns > now_ns) {
      ++i;
      continue;
    }
    const Late late = late_[i];
    late_[i] = late_.back();
    late_.pop_back();
    complete(channels_[late.channel], late.sequence);
  }
}

void Peach2Device::store(std::uint64_t* target, std::uint64_t word) noexcept {
  if (faults_.lost_stores > 0) {
    --faults_.lost_stores;
    return;
  }
  words_.add(target, word);
  set_alarm();
}

void Peach2Device::abort(unsigned index) noexcept {
  advance(host_.now_ns());
  Channel& channel = channels_[index];
  times_.abort(used_[index]);
  channel.held.reset();
  std::erase_if(late_, [index](const Late& late) { return late.channel == index; });
  tables_[channel.table].in_use = false;
  channel.stopped.store(true, std::memory_order_release);  // pairs with stopped()
}

void Peach2Device::advance(std::uint64_t now_ns) noexcept {
  const auto now = static_cast<double>(now_ns);
  for (;;) {
    const auto step = times_.advance(now);
    if (!step) break;
    take(*step);
  }
  let_go(now);
  words_.advance(now);
  complete_late(now);
  set_alarm();
}

void Peach2Device::set_alarm() noexcept {
  double next = std::min(times_.next_ns(), words_.next_ns());
  for (const Late& late : late_) next = std::min(next, late.due_ns);
  for (const Channel& channel : channels_)
    if (channel.held) next = std::min(next, channel.held_until_ns);
  if (next < ChannelTimes::kNever) host_.alarm(static_cast<std::uint64_t>(std::ceil(next)));
}

}  // namespace coracle::internals::tca
