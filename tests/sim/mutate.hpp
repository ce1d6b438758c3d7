// Damage done to the texts that users write for the simulator.
#pragma once

#include <string>
#include <string_view>

#include "transports/sim/schedule.hpp"

namespace coracle::internals::test {

/// `text`, not empty, with up to nine small changes; new letters are mostly among `letters`.
inline std::string mutate(std::string text, coracle::internals::sim::Random& random, std::string_view letters) {
  for (std::uint64_t i = 0; i <= random.below(8) && !text.empty(); ++i) {
    const std::size_t place = random.below(text.size());
    switch (random.below(4)) {
      case 0:
        text[place] = static_cast<char>(random.next());
        break;
      case 1:
        text[place] = letters[random.below(letters.size())];
        break;
      case 2:
        text.erase(place, 1 + random.below(20));
        break;
      default:
        text.insert(place, text.substr(random.below(text.size()), random.below(40)));
    }
  }
  return text;
}

}  // namespace coracle::internals::test
