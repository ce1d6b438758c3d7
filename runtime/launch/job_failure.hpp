// JobFailure: how a job, or a node's part of it, has failed.
#pragma once

#include <cstdint>
#include <string>

namespace coracle::internals {

/// What becomes known first need not be the first: the one that outweighs the others is told, and gives the exit
/// status.
struct JobFailure {
  std::string text;  ///< "rank 3 (pid 123) exited with status 7"
  int exit_status = 1;
  bool crashed = false;     ///< A signal ended the rank: likelier to be the cause than an exit at about the same time.
  bool asked = false;       ///< A signal to the launcher, or the time limit: no failure of a rank, and final.
  bool for_others = false;  ///< The rank says that it fails because another one has.
  std::uint64_t when_ns = 0;  ///< As the rank has noted it, by the clock of its machine; 0: it could not.
  std::uint64_t machine = 0;  ///< See NodeCard; only the head tells them apart.

  /// True when this is likelier to be the cause than `other`, which is known already: what was asked for before all,
  /// what others have caused after all. Between these the earlier where both times are known (of one machine), else
  /// crashes before exits.
  bool outweighs(const JobFailure& other) const noexcept;
};

}  // namespace coracle::internals
