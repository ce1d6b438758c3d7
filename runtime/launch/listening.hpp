// Where the ranks of a node listen, if the user does not say: at the one address by which all others reach it, so that
// nobody else's network can.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "runtime/launch/node_interfaces.hpp"

namespace coracle::internals {

/// The local address from which this machine would send to another; of family `none` when there is no way.
using RouteTo = std::function<NodeAddress(const NodeAddress&)>;

/// The addresses of node `own`, of `nodes`, at which others shall look for it. One: all others reach it there. More:
/// none of them is reached by all, and it must listen at all. Throws Error when it has none.
std::vector<NodeAddress> listening_addresses(const std::vector<NodeInterfaces>& nodes, std::size_t own,
                                             const RouteTo& route);

/// For who asks where a node listens.
std::string describe_listening(const NodeRecord& record);

}  // namespace coracle::internals
