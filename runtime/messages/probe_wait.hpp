// ProbeWait: the wait of a probe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/messages/arrivals.hpp"
#include "runtime/messages/matcher.hpp"
#include "runtime/messages/message_waits.hpp"

namespace coracle::internals {

/// Ends when a message is there that it accepts, which others may have taken by the time it goes on.
class ProbeWait final : public MessageWait {
 public:
  ProbeWait(Arrivals& arrivals, Team& team, const Envelope& envelope, int peer) noexcept
      : MessageWait(arrivals, team, envelope.source, peer, "probe"), wanted_(envelope) {}

  bool accepts(const Envelope& envelope) const noexcept { return Matcher::accepts(wanted_, envelope); }
  void message_is_there() noexcept { end(); }

 private:
  void enter() override { arrivals().probes().push_back(this); }
  std::optional<std::uint64_t> wanted_tag() const noexcept override { return wanted_.tag; }
  void retire() noexcept override { std::erase(arrivals().probes(), this); }

  Envelope wanted_;
};

}  // namespace coracle::internals
