// One question to all nodes, and their answers put together.
#include "runtime/launch/node_states.hpp"

#include <algorithm>
#include <utility>

#include "runtime/core/combinators.hpp"

namespace coracle::internals {
namespace {

using namespace std::chrono_literals;

constexpr auto kNodePatience = 4s;  // for a node's launcher to ask its ranks, and to find places by addr2line

}  // namespace

Task<> NodeStates::ask(ControlFrameType type, std::vector<std::byte> payload) {
  for (NodePeer& peer : peers_) {
    peer.states.reset();
    if (peer.stream && !peer.done()) peer.stream->send(type, payload);
  }
  const auto answered = [this] {
    return std::ranges::all_of(peers_, [](const NodePeer& peer) { return peer.states || peer.done(); });
  };
  co_await finishes_within(kNodePatience, changed_.wait(answered));
}

/// Of a node that does not answer nothing is known, so that its ranks may be doing anything.
std::vector<insight::RankState> NodeStates::gathered() const {
  std::vector<insight::RankState> states(size_);
  for (std::uint32_t rank = 0; rank < size_; ++rank) states[rank].rank = rank;
  for (const NodePeer& peer : peers_) {
    if (!peer.states) continue;
    for (const insight::RankState& state : *peer.states)
      if (state.rank < size_) states[state.rank] = state;
  }
  return states;
}

Task<std::vector<insight::RankState>> NodeStates::look() {
  co_await ask(ControlFrameType::look, {});
  co_return gathered();
}

Task<std::vector<insight::RankState>> NodeStates::locate(std::vector<std::uint32_t> wanted) {
  co_await ask(ControlFrameType::locate, encode(std::move(wanted)));
  co_return gathered();
}

void NodeStates::forget_times() {
  for (NodePeer& peer : peers_)
    if (peer.stream && !peer.done()) peer.stream->send(ControlFrameType::forget_times);
}

}  // namespace coracle::internals
