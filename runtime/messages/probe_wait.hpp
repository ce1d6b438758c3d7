// ProbeWait: the wait of a probe for a message that has not come yet.
#pragma once

#include "runtime/messages/matcher.hpp"
#include "runtime/messages/message_waits.hpp"
#include "runtime/team/envelope.hpp"

namespace coracle::internals {

/// A probe that waits: ends when a message is there that it accepts, which others may have taken by the time it goes
/// on.
class ProbeWait final : public MessageWait {
 public:
  ProbeWait(Arrivals& arrivals, Team& team, const Envelope& envelope) noexcept
      : MessageWait(arrivals, team, envelope.source, "probe"), wanted_(envelope) {}

  bool accepts(const Envelope& envelope) const noexcept { return Matcher::accepts(wanted_, envelope); }
  void message_is_there() noexcept { end(); }

 private:
  void enter() override;
  void retire() noexcept override;

  Envelope wanted_;
};

}  // namespace coracle::internals
