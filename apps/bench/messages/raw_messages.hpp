// RawMessages: what messages between two ranks take without the library: flags, and copies out of the sender's memory.
#pragma once

#include "apps/bench/measure/raw.hpp"
#include "apps/bench/messages/messages.hpp"

namespace coracle::internals::bench {

/// The batches of Messages by plain loads and stores. Throws Error where ranks don't share memory.
class RawMessages {
 public:
  RawMessages(Rank& self, const Messages& messages, std::uint32_t partner);
  /// Collective; before the first batch.
  Task<> meet();

  void ping_pong(std::size_t bytes, std::uint64_t count) const;
  void stream(std::uint64_t count);

 private:
  Rank& self_;
  const Messages& messages_;
  std::uint32_t partner_;  // of rank 0
  Slab<RawFlag> flag_;
  Slab<RawStream> stream_;
  const std::byte* their_out_ = nullptr;
  RawFlag* raw_flag_ = nullptr;
  RawStream* raw_stream_ = nullptr;
  std::uint64_t streamed_ = 0;
};

}  // namespace coracle::internals::bench
