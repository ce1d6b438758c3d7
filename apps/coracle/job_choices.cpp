// Read once, by the launcher where the job is started: so all ranks choose alike.
#include "apps/coracle/job_choices.hpp"

#include <algorithm>

#include "collectives/choice/tuning.hpp"
#include "runtime/core/assert.hpp"
#include "runtime/launch/interfaces.hpp"
#include "runtime/launch/job_options.hpp"
#include "runtime/launch/pmix_client.hpp"
#include "runtime/launch/say.hpp"
#include "transports/choice.hpp"

namespace coracle::internals {

TuningQuery tuning_query(const JobOptions& options) {
  const JobShape& shape = options.shape;
  const auto cores = static_cast<std::uint32_t>(usable_cores().size());
  // Without hosts all nodes are on this machine.
  std::uint32_t ranks = shape.size;
  if (!options.hosts.empty()) {
    ranks = (shape.size + shape.nodes - 1) / shape.nodes;
    for (const std::uint32_t count : options.ranks_per_node) ranks = std::max(ranks, count);
  }
  const bool has_link = shape.nodes > 1 || PmixClient::is_wanted();
  return {host_name(), cores, to_string(shape.placement), has_link ? transport_between_nodes(shape) : "",
          ranks > cores};
}

void set_choices(JobOptions& options) {
  JobShape& shape = options.shape;
  const UserChoices choices = UserChoices::of_environment();
  std::string costs;
  if (shape.placement != Placement::sim && shape.size > 1) {  // the simulated network is known
    std::vector<std::string> warnings;
    costs = measured_costs(tuning_query(options), warnings);
    for (const std::string& warning : warnings) say("warning: {}", warning);
  }
  const std::string words = job_words(costs, choices);
  CORACLE_ASSERT(words.size() < shape.choices.size(), "the job's choices take {} bytes", words.size());
  words.copy(shape.choices.data(), words.size());
  if (!words.empty()) options.notes.push_back("collectives: " + words);
}

}  // namespace coracle::internals
