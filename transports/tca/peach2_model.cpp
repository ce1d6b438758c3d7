#include "transports/tca/peach2_model.hpp"

#include <algorithm>

#include "runtime/core/assert.hpp"

namespace coracle::internals::tca {

unsigned Peach2Model::channels() const noexcept {
  return static_cast<unsigned>(std::count_if(tags.begin(), tags.end(), [](unsigned count) { return count > 0; }));
}

double Peach2Model::rate(unsigned channel, std::uint64_t block_bytes) const noexcept {
  const std::uint64_t reads = (block_bytes + read_bytes - 1) / read_bytes;
  const double filled = static_cast<double>(block_bytes) / static_cast<double>(reads * read_bytes);
  return tags[channel] * tag_rate[channel] * filled;
}

void ChannelTimes::start(unsigned index, std::span<const Piece> pieces, double time_ns) {
  Channel& channel = channels_[index];
  CORACLE_ASSERT(channel.phase == Phase::stopped && time_ns >= now_ns_ && !pieces.empty() && model_.tags[index] > 0,
                 "channel {} is started at {} ns, while it is {} ns", index, time_ns, now_ns_);
  pass(time_ns - now_ns_);
  std::uint64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  const double window = static_cast<double>(std::min(bytes, model_.tags[index] * model_.read_bytes));
  channel.window_ns = model_.window_share * window / model_.link_bytes_per_ns;
  channel.pieces.assign(pieces.begin(), pieces.end());
  channel.phase = Phase::starting;
  channel.left_ns = model_.start_ns;
}

double ChannelTimes::left_ns(const Channel& channel) const noexcept {
  if (channel.phase == Phase::stopped || channel.stalled) return kNever;
  return channel.phase == Phase::reading ? channel.left_bytes / channel.rate : channel.left_ns;
}

double ChannelTimes::next_ns() const noexcept {
  double least = kNever;
  for (const Channel& channel : channels_) least = std::min(least, left_ns(channel));
  return now_ns_ + least;
}

/// Each at its own pace when that fits; else in proportion to their tags, and what one can't use the others get.
void ChannelTimes::share_link() noexcept {
  double link = model_.link_bytes_per_ns;
  std::array<bool, Peach2Model::kChannels> settled{};
  const auto is_reading = [&](unsigned i) { return channels_[i].phase == Phase::reading && !channels_[i].stalled; };
  for (bool again = true; again;) {
    again = false;
    double tags = 0;
    for (unsigned i = 0; i < channels_.size(); ++i)
      if (is_reading(i) && !settled[i]) tags += model_.tags[i];
    const double of_tag = tags > 0 ? link / tags : 0;
    for (unsigned i = 0; i < channels_.size(); ++i) {
      if (!is_reading(i) || settled[i]) continue;
      Channel& channel = channels_[i];
      const double own = model_.rate(i, channel.pieces[channel.piece].block_bytes);
      channel.rate = std::min(own, of_tag * model_.tags[i]);
      if (own > of_tag * model_.tags[i]) continue;
      settled[i] = again = true;
      link -= own;
    }
  }
}

void ChannelTimes::pass(double duration_ns) noexcept {
  for (Channel& channel : channels_) {
    if (channel.phase == Phase::stopped || channel.stalled) continue;
    if (channel.phase == Phase::reading)
      channel.left_bytes = std::max(0.0, channel.left_bytes - channel.rate * duration_ns);
    else
      channel.left_ns = std::max(0.0, channel.left_ns - duration_ns);
  }
  now_ns_ += duration_ns;
}

void ChannelTimes::read(unsigned index, std::size_t piece) noexcept {
  Channel& channel = channels_[index];
  channel.phase = Phase::reading;
  channel.piece = piece;
  channel.left_bytes = static_cast<double>(channel.pieces[piece].bytes);
  share_link();
}

/// The phase of a channel has come to its end.
std::optional<ChannelTimes::Step> ChannelTimes::end_phase(unsigned index) noexcept {
  Channel& channel = channels_[index];
  const bool last = channel.piece + 1 == channel.pieces.size();
  switch (channel.phase) {
    case Phase::starting:
      read(index, 0);
      return {};
    case Phase::between:
      read(index, channel.piece + 1);
      return {};
    case Phase::reading:
      channel.phase = last ? Phase::draining : Phase::between;
      channel.left_ns = last ? channel.window_ns : model_.descriptor_ns;
      share_link();
      if (last) return {};
      return Step{Step::What::piece, index, channel.piece, now_ns_};
    case Phase::draining:
      stops_until_ns_ = std::max(stops_until_ns_, now_ns_) + model_.stop_ns;
      channel.phase = Phase::stopping;
      channel.left_ns = stops_until_ns_ - now_ns_;
      return Step{Step::What::completed, index, channel.piece, now_ns_};
    default:
      channel.phase = Phase::stopped;
      return Step{Step::What::stopped, index, channel.piece, now_ns_};
  }
}

std::optional<ChannelTimes::Step> ChannelTimes::advance(double until_ns) noexcept {
  for (;;) {
    const auto soonest = std::min_element(channels_.begin(), channels_.end(),
                                          [this](const auto& a, const auto& b) { return left_ns(a) < left_ns(b); });
    const double left = left_ns(*soonest);
    if (left == kNever || now_ns_ + left > until_ns) break;
    pass(left);
    if (const auto step = end_phase(static_cast<unsigned>(soonest - channels_.begin()))) return step;
  }
  if (until_ns > now_ns_) pass(until_ns - now_ns_);
  return {};
}

void ChannelTimes::stall(unsigned channel, bool stalled) noexcept {
  channels_[channel].stalled = stalled;
  share_link();
}

void ChannelTimes::abort(unsigned channel) noexcept {
  channels_[channel].phase = Phase::stopped;
  channels_[channel].stalled = false;
  share_link();
}

}  // namespace coracle::internals::tca
