// Port: the RDMA device, its port and the address (GID) by which peers reach it, chosen without the user's help where
// possible.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "transports/verbs/support.hpp"

namespace coracle::internals::verbs {

// Owners of libibverbs' objects. What is made from another must end before it: members are declared in that order.

template <auto kEnd>
struct Ender {
  template <class T>
  void operator()(T* object) const noexcept {
    kEnd(object);
  }
};

using Context = std::unique_ptr<ibv_context, Ender<ibv_close_device>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, Ender<ibv_dealloc_pd>>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, Ender<ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, Ender<ibv_destroy_cq>>;
using SharedReceiveQueue = std::unique_ptr<ibv_srq, Ender<ibv_destroy_srq>>;
using MemoryRegion = std::unique_ptr<ibv_mr, Ender<ibv_dereg_mr>>;
using RawQueuePair = std::unique_ptr<ibv_qp, Ender<ibv_destroy_qp>>;

struct Port {
  Context context;
  ProtectionDomain domain;
  ibv_device_attr device{};
  ibv_port_attr attributes{};
  std::string name;
  std::uint8_t number = 1;
  int gid_index = 0;
  ibv_gid gid{};
  bool software = false;  ///< The kernel plays the device (soft-RoCE), over an ordinary network card.

  bool ethernet() const noexcept { return attributes.link_layer == IBV_LINK_LAYER_ETHERNET; }
  /// "rxe0 port 1, GID 1 ::ffff:10.77.0.1 (RoCE v2)"
  std::string describe() const;
};

/// One element of CORACLE_VERBS_DEVICE: "mlx5_0", "mlx5_0:1" or "mlx5_0:1:3". Empty parts are chosen.
struct PortSelection {
  std::string device;
  std::optional<std::uint8_t> port;
  std::optional<int> gid_index;
};
/// `text` has selections separated by commas; the ranks of a node take them in turn. Nothing when it is malformed.
std::optional<PortSelection> parse_selection(std::string_view text, std::uint32_t local_index);

/// The port that fits the environment's CORACLE_VERBS_DEVICE, else the first active one. `local_index`: number of the
/// rank in its node. Nothing when there is none: then `support` has the reason and the remedy, else how it is reached.
std::optional<Port> open_port(std::uint32_t local_index, Support& support);

}  // namespace coracle::internals::verbs
