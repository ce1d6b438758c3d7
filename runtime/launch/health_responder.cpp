// One datagram in, one out.
#include "runtime/launch/health_responder.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace coracle::internals {

HealthResponder::HealthResponder(const NodeAddress& address, const JobKey& key)
    : socket_(open_datagram_socket(address)), key_(key) {}

HealthResponder::~HealthResponder() {
  ::close(socket_.fd);
}

Task<> HealthResponder::serve(Io& io, HealthSource& source) {
  for (;;) {
    co_await io.wait_readable(socket_.fd);
    answer_all(source);
  }
}

void HealthResponder::answer_all(HealthSource& source) noexcept {
  constexpr int kMost = 256;  // then others have their turn
  for (int i = 0; i < kMost; ++i) {
    std::array<std::byte, 2 * kHealthPingBytes> datagram;
    sockaddr_storage from{};
    socklen_t from_bytes = sizeof from;
    const ssize_t bytes =
        ::recvfrom(socket_.fd, datagram.data(), datagram.size(), 0, reinterpret_cast<sockaddr*>(&from), &from_bytes);
    if (bytes < 0 && errno != EINTR) return;  // nothing more
    if (bytes < 0) continue;
    const auto ping = decode_health_ping(std::span(datagram).first(static_cast<std::size_t>(bytes)), key_);
    if (!ping) continue;
    HealthAnswer answer = source.health(ping->rank);
    answer.rank = ping->rank;
    answer.nonce = ping->nonce;
    const auto text = encode(answer, key_);
    // One that is lost is asked for again.
    ::sendto(socket_.fd, text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&from), from_bytes);
  }
}

}  // namespace coracle::internals
