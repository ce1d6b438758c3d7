// Pairs of vertices for other ranks, in rounds.
#pragma once

#include <coracle/coracle.hpp>

#include <exception>
#include <vector>

#include "apps/bfs/edge.hpp"

namespace coracle::bfs {

/// `outgoing` of each rank, by receiver, becomes `incoming` of the receivers, in the order of the senders; and is empty
/// afterwards. Collective.
Task<> exchange(Team& team, std::vector<std::vector<Edge>>& outgoing, std::vector<Edge>& incoming);

/// What `work` has thrown, or null.
Task<std::exception_ptr> error_of(Task<> work);

}  // namespace coracle::bfs
