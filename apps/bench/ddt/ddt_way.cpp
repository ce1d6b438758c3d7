// The ways of messages.
#include "apps/bench/ddt/ddt_way.hpp"

namespace coracle::internals::bench {

std::optional<MessageWay> message_way(DdtWay way) noexcept {
  switch (way) {
    case DdtWay::automatic:
      return MessageWay::automatic;
    case DdtWay::one_sided:
      return MessageWay::one_sided;
    case DdtWay::cooperative:
      return MessageWay::cooperative;
    case DdtWay::shm:
      return MessageWay::shm;
    case DdtWay::cma:
      return MessageWay::cma;
    case DdtWay::by_hand:
    case DdtWay::by_library:
      break;
  }
  return std::nullopt;
}

const char* to_string(DdtWay way) noexcept {
  switch (way) {
    case DdtWay::automatic:
      return "automatic";
    case DdtWay::one_sided:
      return "one-sided";
    case DdtWay::cooperative:
      return "cooperative";
    case DdtWay::shm:
      return "shm";
    case DdtWay::cma:
      return "cma";
    case DdtWay::by_hand:
      return "by-hand";
    case DdtWay::by_library:
      break;
  }
  return "by-library";
}

}  // namespace coracle::internals::bench
