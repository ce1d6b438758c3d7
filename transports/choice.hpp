// Which transport joins which ranks, and why, in words for the user.
#pragma once

#include <string>
#include <vector>

#include "runtime/job/job.hpp"

namespace coracle::internals {

/// One line per class of pairs that a job of this shape has: ranks of one node, ranks of two. `sim` has none. What is
/// said of two nodes is this machine's view: that of the node where the job is started.
std::vector<std::string> describe_transports(const JobShape& shape);

/// "tcp" or "verbs", as seen from this machine.
const char* transport_between_nodes(const JobShape& shape);

}  // namespace coracle::internals
