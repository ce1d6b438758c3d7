// The programs of a job, from the words of `coracle run`: `-n 1 ./a x : -n 3 ./b`; and what is done with the standard
// files of their ranks.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "runtime/launch/job_options.hpp"

namespace coracle::internals {

/// What is said of one program. An empty word: the option was not given.
struct ProgramWords {
  std::string ranks;
  std::vector<std::string> environment;  ///< "NAME=value", or "NAME", which is there anyway.
  std::string directory;
  std::vector<std::string> command;  ///< Program and arguments.
};

/// The options that each program of a job may have.
void add_options_of_program(CLI::App& app, ProgramWords& words);

/// `first`: of the first program, with all that follows the others' colons in its command. `run`: the parser, which
/// knows the options of the whole job. A program for which no number is given has no ranks yet if it is the only one,
/// and else one rank. Throws WrongUsage for what can't be meant.
std::vector<ProgramPart> programs_of(const CLI::App& run, const ProgramWords& first);

/// Ranks share an address space unless they can't: where a program must lie at one address, or is one that starts
/// others in its own place, as a shell, the job's placement becomes `process`, and one line says so. For a user who has
/// not chosen.
void suit_programs(JobOptions& options);

/// What is said of the standard files of ranks.
struct StreamWords {
  bool label = false;
  std::string output;
  std::string input = "0";
};

void add_options_of_streams(CLI::App& app, StreamWords& words);

/// Shape, nodes and hosts of `options` are known. Throws WrongUsage for what can't be meant.
void set_streams(const StreamWords& words, JobOptions& options);

}  // namespace coracle::internals
