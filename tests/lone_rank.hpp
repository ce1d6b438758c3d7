// A job of one rank inside a test, for what needs no peers: no launcher, no process of its own.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>

#include "runtime/job/job.hpp"
#include "runtime/launch/boot.hpp"
#include "transports/connect.hpp"

namespace coracle::internals::test {

struct LoneRank {
  LoneRank() { connect_transports(self); }

  static JobShape shape() {
    JobShape shape;
    shape.segment_bytes = 1 << 20;
    shape.inbox_bytes = transport_inbox_bytes(1);
    return shape;
  }

  const JobRegion region = JobRegion::create(shape(), JobRegion::Backing::anonymous);
  EventLoop loop;
  WholeRank self{region, 0, loop};
};

}  // namespace coracle::internals::test
