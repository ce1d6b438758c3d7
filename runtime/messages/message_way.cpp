// The ways' names.
#include "runtime/messages/message_way.hpp"

#include <array>

namespace coracle {
namespace {

constexpr std::array<const char*, 5> kNames = {"automatic", "one-sided", "cooperative", "shm", "cma"};

}  // namespace

const char* to_string(MessageWay way) noexcept {
  return kNames[static_cast<std::size_t>(way)];
}

std::optional<MessageWay> parse_message_way(std::string_view word) noexcept {
  for (std::size_t way = 0; way < kNames.size(); ++way)
    if (word == kNames[way]) return static_cast<MessageWay>(way);
  return std::nullopt;
}

}  // namespace coracle
