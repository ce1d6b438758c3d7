// What `coracle run` does with the standard files of ranks, from its words.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "runtime/launch/job_options.hpp"

namespace coracle::internals {

struct StreamWords {
  bool label = false;
  std::string output;
  std::string input = "0";
};

void add_options_of_streams(CLI::App& app, StreamWords& words);

/// Shape, nodes and hosts of `options` are known. Throws CLI::ValidationError for what can't be meant.
void set_streams(const StreamWords& words, JobOptions& options);

}  // namespace coracle::internals
