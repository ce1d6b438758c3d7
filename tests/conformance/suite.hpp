// The parts of the conformance suite, and its check.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>

#include "tests/brief.hpp"
#include "tests/pattern.hpp"

namespace coracle::internals::conformance {

struct Part {
  const char* name;
  Task<> (*run)(Rank&);
};

Task<> transfers(Rank& self);
Task<> handles(Rank& self);
Task<> signals(Rank& self);
Task<> atomics(Rank& self);
Task<> more_atomics(Rank& self);
Task<> messages(Rank& self);
Task<> tagged(Rank& self);
Task<> scattered(Rank& self);
Task<> calls(Rank& self);
Task<> collectives(Rank& self);
Task<> broadcasts(Rank& self);
Task<> family(Rank& self);
Task<> elements(Rank& self);
Task<> scattered_transfers(Rank& self);
Task<> exchanges(Rank& self);
Task<> pairs(Rank& self);
Task<> values(Rank& self);
Task<> tells(Rank& self);
Task<> distributed_objects(Rank& self);
Task<> errors(Rank& self);
Task<> missing_places(Rank& self);

/// Asked for by the tests whose network is slow or emulated, and before a commit: every kind of transfer once, not many
/// times at random.
using test::is_brief;

using test::holds_pattern;
using test::pattern;
using test::write_pattern;

/// Ends the job with a message when `condition` does not hold.
void check(bool condition, Rank& self, const char* what, int line);

}  // namespace coracle::internals::conformance

#define CHECK_HERE(condition) ::coracle::internals::conformance::check((condition), self, #condition, __LINE__)
