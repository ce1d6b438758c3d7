// The ways of messages.
#include "apps/bench/ddt/ddt_way.hpp"

#include <algorithm>
#include <iterator>

namespace coracle::internals::bench {
namespace {

struct NamedWay {
  DdtWay way;
  const char* name;
  std::optional<RendezvousScheme> message = std::nullopt;
};

constexpr NamedWay kNamedWays[] = {
    {DdtWay::automatic, "automatic", RendezvousScheme::automatic},
    {DdtWay::one_sided, "one-sided", RendezvousScheme::one_sided},
    {DdtWay::cooperative, "cooperative", RendezvousScheme::cooperative},
    {DdtWay::shm, "shm", RendezvousScheme::shm},
    {DdtWay::cma, "cma", RendezvousScheme::cma},
    {DdtWay::by_hand, "by-hand"},
    {DdtWay::by_library, "by-library"},
};

const NamedWay& find(DdtWay way) noexcept {
  return *std::find_if(std::begin(kNamedWays), std::end(kNamedWays),
                       [way](const NamedWay& each) { return each.way == way; });
}

}  // namespace

std::optional<RendezvousScheme> rendezvous_scheme(DdtWay way) noexcept {
  return find(way).message;
}

const char* to_string(DdtWay way) noexcept {
  return find(way).name;
}

}  // namespace coracle::internals::bench
