// The command line of `coracle bench`: the options of all benchmarks, and those that each of them has.
#pragma once

#include "apps/bench/benchmarks.hpp"

namespace coracle::internals::bench {

/// Parses the user's words: in the command, and by the same words in each rank; `argv[0]` is skipped. The benchmarks
/// keep what they read of their own options. Throws CLI::ParseError; for --help, too.
Request parse(CLI::App& app, const Benchmarks& benchmarks, int argc, const char* const* argv);

}  // namespace coracle::internals::bench
