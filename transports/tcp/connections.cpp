// What connections do with this rank.
#include "transports/tcp/tcp.hpp"

#include <fmt/format.h>

#include "runtime/core/error.hpp"
#include "runtime/job/directory.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/read_exposures.hpp"

namespace coracle::internals::tcp {

Outgoing::Outgoing(ConnectionOwner& owner, Rank& rank, std::uint32_t peer)
    : owner_(owner),
      rank_(rank),
      peer_(peer),
      channel_(*this, owner, {rank.core().region().shape().key, rank.id(), peer}) {
  channel_.hold();  // until there is a connection
}

void Outgoing::leave() {
  channel_.leave();
  if (stream_) stream_->output_ready();
}

void Outgoing::on_reply(const MessageHeader& header, std::span<const std::byte> payload) noexcept {
  rank_.core().deliver(header, Message(owner_, peer_, header, payload));
}

Incoming::Incoming(ConnectionOwner& owner, Rank& rank, std::string address, std::uint64_t accepted_ns)
    : owner_(owner),
      rank_(rank),
      address_(std::move(address)),
      accepted_ns_(accepted_ns),
      channel_(*this, owner, frame_check(rank.core().region().shape().key)) {}

void Incoming::leave() {
  left_ = true;
  channel_.leave();
  stream_->output_ready();
}

std::string Incoming::on_hello(const Hello& hello) noexcept {
  const JobRegion& region = rank_.core().region();
  if (!same_key(hello.key, region.shape().key)) return "it does not have the key of this job";
  if (hello.source >= rank_.size() || region.is_local(hello.source))
    return fmt::format("it says that it is rank {}, which no other node has", hello.source);
  if (hello.target != rank_.id()) return fmt::format("this is rank {}, not rank {}", rank_.id(), hello.target);
  if (hello.program != program_digest())
    return fmt::format(
        "rank {} runs another build of the program, or of the library that programs share, than rank {}: the same must "
        "be on all nodes",
        hello.source, rank_.id());
  if (rank_.lost(hello.source)) return fmt::format("rank {} has been given up as lost", hello.source);
  peer_ = hello.source;
  return owner_.welcome(*this) ? std::string() : fmt::format("rank {} is connected already", hello.source);
}

std::byte* Incoming::resolve(const RemoteAddress& place, std::uint64_t bytes, bool to_write,
                             std::error_code& error) noexcept {
  const RemoteAddress own{place.offset, rank_.id(), place.segment};
  if (place.segment == RemoteAddress::kWholeMemory) {
    if (to_write || !rank_.core().read_exposures().covers(place.offset, bytes)) error = Errc::out_of_segment;
  } else {
    error = rank_.core().addresses().check(own, bytes);
  }
  if (error) return nullptr;
  return reinterpret_cast<std::byte*>(rank_.core().addresses().address_there(own));
}

void Incoming::raise_signal(std::byte* place, std::uint64_t add) noexcept {
  local::raise_signal(place, add, rank_.core().region().block(rank_.id()).doorbell);
}

void Incoming::on_message(const MessageHeader& header, std::span<const std::byte> payload) noexcept {
  owner_.count_message();
  rank_.core().deliver(header, Message(owner_, peer_, header, payload));
}

}  // namespace coracle::internals::tcp
