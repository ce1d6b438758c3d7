// A node of two ranks whose GPUs have an owner, as threads of one process, on the stand-in.
#pragma once

#include <doctest/doctest.h>

#include <optional>
#include <thread>

#include "tests/cuda/fake_cuda.hpp"
#include "transports/cuda/device_owner.hpp"

namespace coracle::internals::test {

/// The owner of a node of two ranks, on a thread of its own as soon as it works.
struct Node {
  Node() : region(JobRegion::create(shape(), JobRegion::Backing::anonymous)), cuda(machine) {
    owner.emplace(region, cuda);
    CHECK(region.device_owner().state == DeviceOwnerRecord::State::serving);
  }
  ~Node() { end(); }
  static JobShape shape() {
    JobShape shape;
    shape.size = 2;
    shape.segment_bytes = 1 << 20;
    return shape;
  }
  void work() {
    thread = std::thread([this] { owner->run(); });
  }
  /// All ranks have ended.
  void end() {
    leave_ranks_to(DeviceOwnerRecord::State::ending);
    if (thread.joinable()) thread.join();
    owner.reset();
  }
  /// As the launcher does.
  void leave_ranks_to(DeviceOwnerRecord::State state) {
    region.device_owner().state = state;
    region.device_owner().doorbell.ring();
  }

  const JobRegion region;
  FakeMachine machine;
  FakeCuda cuda;
  std::optional<coracle::internals::cuda::DeviceOwner> owner;
  std::thread thread;
};

}  // namespace coracle::internals::test
