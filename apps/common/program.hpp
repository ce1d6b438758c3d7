// What the main functions of the applications have in common.
#pragma once

#include <fmt/core.h>
#include <coracle/coracle.hpp>

#include <variant>

#include "apps/common/command_line.hpp"
#include "apps/common/file.hpp"

namespace coracle {

/// Runs `program(rank, options)` at every rank, or leaves with the status that the command line has given instead.
/// Where the results shall be written is tried first: they may take hours.
template <class Options, class Program>
int start(int argc, char** argv, const std::variant<Options, int>& parsed, Program program) {
  if (const int* const status = std::get_if<int>(&parsed)) return leave(argc, argv, *status);
  const Options& options = std::get<Options>(parsed);
  return run(argc, argv, [&](Rank& self) {
    if (self.id() == 0 && !options.json_path.empty()) check_writable(options.json_path);
    return program(self, options);
  });
}

/// Rank 0 prints the report, unless `options.quiet`, and writes it to `options.json_path`, if there is one.
template <class Report, class Options>
void tell(Rank& self, const Report& report, const Options& options) {
  if (self.id() != 0) return;
  if (!options.quiet) fmt::print("{}", to_text(report));
  if (!options.json_path.empty()) write_whole(to_json(report), options.json_path);
}

}  // namespace coracle
