// Which way a transfer takes over a network.
#include <doctest/doctest.h>

#include "runtime/rank/transfer.hpp"

namespace coracle::internals::scattered::choice_test {

TEST_CASE("scattered transfers: long blocks go by themselves, short ones together; one run always by itself") {
  const TransportTraits slow{15'000, 5, 0, false, 2'000, 2'000};
  const TransportTraits quick{1'500, 10, 0, false, 200, 100};
  const auto blocks_of = [](std::int64_t count, std::int64_t bytes) {
    return Layout::bytes(bytes).vector(count, 1, 2).shape();
  };
  const LayoutShape row = Layout::bytes(1 << 20).shape();
  CHECK(choose_route(slow, row, row) == TransferRoute::blocks);
  CHECK(choose_route(slow, Layout::bytes(8).shape(), Layout::bytes(8).shape()) == TransferRoute::blocks);
  CHECK(choose_route(slow, row, blocks_of(1 << 10, 1 << 10)) == TransferRoute::pieces);
  CHECK(choose_route(quick, row, blocks_of(1 << 10, 1 << 10)) == TransferRoute::blocks);
  CHECK(choose_route(slow, blocks_of(1 << 4, 1 << 16), row) == TransferRoute::blocks);
  CHECK(choose_route(quick, row, blocks_of(1 << 17, 8)) == TransferRoute::pieces);
  CHECK(choose_route(quick, blocks_of(1 << 17, 8), row) == TransferRoute::pieces);
}

}  // namespace coracle::internals::scattered::choice_test
