// The ways of messages.
#include "apps/bench/ddt/ddt_way.hpp"

#include <algorithm>
#include <iterator>

namespace coracle::internals::bench {
namespace {

struct NamedWay {
  DdtWay way;
  const char* name;
  std::optional<MessageWay> message = std::nullopt;
};

constexpr NamedWay kNamedWays[] = {
    {DdtWay::automatic, "automatic", MessageWay::automatic},
    {DdtWay::one_sided, "one-sided", MessageWay::one_sided},
    {DdtWay::cooperative, "cooperative", MessageWay::cooperative},
    {DdtWay::shm, "shm", MessageWay::shm},
    {DdtWay::cma, "cma", MessageWay::cma},
    {DdtWay::by_hand, "by-hand"},
    {DdtWay::by_library, "by-library"},
};

const NamedWay& find(DdtWay way) noexcept {
  return *std::find_if(std::begin(kNamedWays), std::end(kNamedWays),
                       [way](const NamedWay& each) { return each.way == way; });
}

}  // namespace

std::optional<MessageWay> message_way(DdtWay way) noexcept {
  return find(way).message;
}

const char* to_string(DdtWay way) noexcept {
  return find(way).name;
}

}  // namespace coracle::internals::bench
