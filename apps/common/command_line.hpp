// What the applications' command lines have in common: complaints that appear once per job, and exit status 2 for them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "apps/common/strict_options.hpp"

namespace coracle {

/// Parses; gives the exit status when the program shall not run: 0 after --help, 2 after wrong usage. Every rank of a
/// job parses the same words; only rank 0's process prints.
std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv);

/// What main() returns in that case. After wrong usage rank 0 ends the job; the others wait for that, since the first
/// that ends takes all with it, and rank 0 might not have spoken yet.
int leave(int argc, char** argv, int status);

/// Checks for a size such as 64K, 1.5M or 1G, from `low` to `high` bytes.
CLI::Validator byte_size(std::uint64_t low, std::uint64_t high);
/// Checks for one that a paged segment's pages may have.
CLI::Validator page_size();
/// From 0 to 2^53, more than which none of the applications could use.
CLI::Validator any_count();
/// A number above 0 and up to `high`.
CLI::Validator positive_number(double high);

/// An option with a value: what the help calls it, what it means, and what it may be. The help tells its default.
template <class Value>
CLI::Option* add_value(CLI::App& app, const std::string& name, Value& value, const std::string& type,
                       const std::string& help, const CLI::Validator& check = {}) {
  return app.add_option(name, value, help)->type_name(type)->check(check)->capture_default_str();
}
/// The same of one that is a size, of which `by_default` is written in the help; "": `bytes` as it is, which is not.
CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& bytes, const std::string& by_default,
                      const std::string& help, const CLI::Validator& check);

}  // namespace coracle
