// Several nodes in one process: a region each, their ranks as threads, joined by real sockets on the loopback address.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "collectives/collectives.hpp"
#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "runtime/launch/boot.hpp"
#include "transports/connect.hpp"

namespace coracle::internals::test {

/// What a rank's program ended with: "" or the error's text.
using Outcomes = std::vector<std::string>;

class Nodes {
 public:
  explicit Nodes(std::vector<std::uint32_t> ranks_per_node, coracle::internals::NetworkOptions network = {},
                 coracle::internals::IdlePolicy idle = {.spins = 0})
      : ranks_per_node_(std::move(ranks_per_node)) {
    coracle::internals::JobShape shape;
    shape.placement = coracle::internals::Placement::thread;
    shape.nodes = static_cast<std::uint32_t>(ranks_per_node_.size());
    shape.size = 0;
    for (const std::uint32_t ranks : ranks_per_node_) shape.size += ranks;
    shape.segment_bytes = 64 << 20;
    shape.inbox_bytes = coracle::internals::transport_inbox_bytes(shape.size);
    shape.idle = idle;
    shape.network = network;
    shape.key.bytes[0] = 42;
    for (std::uint32_t node = 0; node < shape.nodes; ++node)
      regions_.push_back(coracle::internals::JobRegion::create(shape, coracle::internals::JobRegion::Backing::anonymous,
                                                               {node, ranks_per_node_}));
    for (std::uint32_t rank = 0; rank < shape.size; ++rank) listen_for(rank);
    for (auto& region : regions_) {
      for (std::uint32_t node = 0; node < shape.nodes; ++node) {
        coracle::internals::NodeRecord& record = region.node(node);
        record.addresses[0].family = coracle::internals::NodeAddress::Family::ipv4;
        record.addresses[0].bytes = {127, 0, 0, 1};
        std::snprintf(record.host.data(), record.host.size(), "node %u", node);
      }
    }
  }
  ~Nodes() {
    for (const int fd : listen_fds_)
      if (fd >= 0) ::close(fd);
  }

  coracle::internals::JobRegion& region_of(std::uint32_t rank) { return regions_[regions_[0].node_of(rank)]; }
  std::uint16_t port(std::uint32_t rank) { return regions_[0].port(rank); }

  /// Runs `app` on every rank to its end.
  Outcomes run(const coracle::internals::App& app) {
    static constexpr coracle::internals::Wiring wiring{coracle::internals::transport_inbox_bytes,
                                                       coracle::internals::connect_transports,
                                                       coracle::internals::finalize_job, nullptr};
    const std::uint32_t size = regions_[0].shape().size;
    Outcomes outcomes(size);
    std::vector<std::thread> threads;
    for (std::uint32_t id = 0; id < size; ++id)
      threads.emplace_back([this, id, &app, &outcomes] { outcomes[id] = run_rank(id, app, wiring); });
    for (auto& thread : threads) thread.join();
    return outcomes;
  }

 private:
  std::string run_rank(std::uint32_t id, const coracle::internals::App& app, const coracle::internals::Wiring& wiring) {
    coracle::internals::JobRegion& region = region_of(id);
    try {
      coracle::internals::EventLoop loop(coracle::internals::real_clock(), &region.block(id).doorbell);
      loop.set_idle_policy(region.shape().idle);
      coracle::internals::WholeRank rank(region, id, loop);
      wiring.connect(rank);
      loop.run(coracle::internals::live(rank, app, wiring));
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  void listen_for(std::uint32_t rank) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), bytes) != 0 || ::listen(fd, 128) != 0 ||
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
      coracle::internals::throw_errno(errno, "no socket for a test");
    listen_fds_.push_back(fd);
    for (auto& region : regions_) region.port(rank) = ntohs(address.sin_port);
    region_of(rank).block(rank).listen_fd = fd;
  }

  std::vector<std::uint32_t> ranks_per_node_;
  std::vector<coracle::internals::JobRegion> regions_;
  std::vector<int> listen_fds_;
};

}  // namespace coracle::internals::test
