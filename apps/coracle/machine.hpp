// What is known of this machine: what works on it (`coracle info`), and what a job's ranks are told here of how its
// collectives go: measured costs, and the user's choices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/choice/tuning_file.hpp"
#include "runtime/launch/job_options.hpp"

namespace coracle::internals {

/// Something that works here, or the reason why not and what the user can do.
struct Ability {
  std::string name;
  bool available = false;
  std::string detail;  ///< How it works here, or the reason why it doesn't.
  std::string remedy;  ///< Empty when nothing is to be done.
};

/// Abilities of one kind.
struct Section {
  const char* title;
  const char* key;  ///< In JSON.
  std::vector<Ability> abilities;
  const char* yes = "yes";
  const char* no = "NO";
};

struct Machine {
  std::string kernel;                   ///< "Linux 6.1.0-18-amd64 x86_64"
  std::string processor;                ///< Model name.
  std::vector<std::vector<int>> cores;  ///< Usable ones; see usable_cores().
  int numa_nodes = 1;
  std::uint64_t memory_bytes = 0;
  std::vector<Section> sections;
};

/// Looks at the machine; takes some milliseconds. What can't be found out is said in the text.
Machine look_at_machine();

/// Of a job as `options` describe it, on this machine.
TuningQuery tuning_query(const JobOptions& options);

/// Fills in `options.shape.choices`, and a note. Warns on standard error of a file of costs that can't be used. Throws
/// Error (bad_input) for a choice that can't be meant.
void set_choices(JobOptions& options);

}  // namespace coracle::internals
