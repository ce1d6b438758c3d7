// Owners of libibverbs' objects. What is made from another must end before it: members are declared in that order.
#pragma once

#include <infiniband/verbs.h>

#include <memory>

namespace coracle::internals::verbs {

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

}  // namespace coracle::internals::verbs
