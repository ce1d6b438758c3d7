// Loops over flags.
#include "apps/bench/messages/raw_messages.hpp"

#include "collectives/collectives.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals::bench {

RawMessages::RawMessages(Rank& self, const Messages& messages, std::uint32_t partner)
    : self_(self),
      messages_(messages),
      partner_(partner),
      flag_(self.allocate<RawFlag>(1)),
      stream_(self.allocate<RawStream>(1)) {}

Task<> RawMessages::meet() {
  const auto flags = co_await self_.world().gather_all(flag_.remote());
  const auto streams = co_await self_.world().gather_all(stream_.remote());
  their_out_ = self_.reach(messages_.their_out(), Messages::kLargest);
  raw_flag_ = self_.reach(flags[0]);
  raw_stream_ = self_.reach(streams[partner_]);
  if (their_out_ == nullptr || raw_flag_ == nullptr || raw_stream_ == nullptr)
    throw Error(Errc::unsupported, "the limits of benchmarks of messages need ranks that share memory");
}

void RawMessages::ping_pong(std::size_t bytes, std::uint64_t count) const {
  if (self_.id() == 0 || self_.id() == partner_)
    raw_ping_pong(*raw_flag_, self_.id() == 0, their_out_, messages_.in().data(), bytes, count);
}

void RawMessages::stream(std::uint64_t count) {
  if (self_.id() == 0) {
    raw_stream_->send(streamed_, count);
    spin_until([&] { return raw_stream_->received.load() == streamed_ + count; });
  } else if (self_.id() == partner_) {
    static_cast<void>(opaque(raw_stream_->receive(streamed_, count)));
  }
  streamed_ += count;
}

}  // namespace coracle::internals::bench
