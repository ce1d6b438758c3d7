// How choices are written: "competitive,ring,chunk=64K,depth=4" for broadcasts, "ring" for other collectives; in the
// environment, in reports, and in what a job's ranks are told.
#pragma once

#include <functional>
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

/// For texts of words "name=value" with blanks between them. Throws Error (bad_input) of others.
void for_each_setting(std::string_view text, std::string_view where,
                      const std::function<void(std::string_view name, std::string_view value)>& take);

}  // namespace coracle::internals
