// How choices are written: "competitive,ring,chunk=64K,depth=4" for broadcasts, "ring" for other collectives; in the
// environment, in reports, and in what a job's ranks are told.
#pragma once

#include <string>
#include <string_view>

#include "collectives/choice/model.hpp"

namespace coracle::internals {

/// `where`: what the text is, for messages ("CORACLE_BROADCAST"). "" and "automatic" leave all to the model. Throws
/// Error (bad_input): what is wrong, where, and what may stand there.
BroadcastChoice parse_broadcast_choice(std::string_view text, std::string_view where);
Algorithm parse_algorithm(std::string_view text, Collective collective, std::string_view where);

/// What parse_broadcast_choice understands; what is automatic is left out ("automatic" when all is).
std::string to_words(const BroadcastChoice& choice);

/// Takes the first word out of a text of words "name=value" with blanks between them; false when there is none. Throws
/// Error (bad_input) of other words.
bool next_setting(std::string_view& text, std::string_view where, std::string_view& name, std::string_view& value);
/// Calls `take(name, value)` for each of them.
template <class Take>
void for_each_setting(std::string_view text, std::string_view where, const Take& take) {
  std::string_view name;
  std::string_view value;
  while (next_setting(text, where, name, value)) take(name, value);
}

}  // namespace coracle::internals
