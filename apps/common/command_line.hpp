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
/// Of text that has been checked.
std::uint64_t bytes_of(const std::string& size);

/// From 0 to 2^53, more than which none of the applications could use.
CLI::Validator any_count();

}  // namespace coracle
