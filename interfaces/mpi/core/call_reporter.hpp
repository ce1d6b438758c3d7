// CallReporter: what a rank of MPI says of itself when one asks what it is doing, as a hang report does: the function
// that its program is in, what that awaits and since when, and messages that nobody has received.
#pragma once

#include "runtime/core/signal_text.hpp"
#include "runtime/job/diagnostics.hpp"

namespace coracle::internals {
class Rank;
}

namespace coracle::mpi {

class CallLock;
class Progress;

class CallReporter final : public internals::RankReporter {
 public:
  /// From now on it tells what this rank awaits, too, and not only its function. Both live as long as reports may come.
  void begin(internals::Rank& rank, const Progress& progress) noexcept;
  void report(internals::SignalText& text, int rank, const void* context) const noexcept override;
  void add_call(internals::SignalText& text) const noexcept override;

 private:
  void add_headline(internals::SignalText& text, const char* function) const noexcept;
  void add_waits(internals::SignalText& text) const noexcept;
  void add_waits_of_others(internals::SignalText& text, const CallLock& lock) const noexcept;
  void add_unreceived(internals::SignalText& text) const noexcept;

  internals::Rank* rank_ = nullptr;
  const Progress* progress_ = nullptr;
};

}  // namespace coracle::mpi
