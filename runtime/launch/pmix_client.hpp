// PmixClient: the resource manager's side of launching (mpirun, srun --mpi=pmix): who takes part, and an exchange of
// business cards. The PMIx library is loaded when a process finds itself started so, and not otherwise: programs of
// Coracle don't depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/job/job.hpp"

namespace coracle::internals {

/// One per process. The library runs a thread of its own from connect() on.
class PmixClient {
 public:
  /// True when a resource manager that speaks PMIx has started this process, and not a launcher of Coracle.
  static bool is_wanted() noexcept;
  /// Throws Error, which says how to mend it.
  static std::unique_ptr<PmixClient> connect();

  struct Support {
    bool available;
    std::string detail;
    std::string remedy;
  };
  static Support probe();

  virtual ~PmixClient() = default;

  /// This process's number among all that were started with it, and how many they are.
  virtual std::uint32_t rank() const noexcept = 0;
  virtual std::uint32_t size() const noexcept = 0;
  /// Which of the job's programs this process runs, counted from 0.
  virtual std::uint32_t program() const = 0;
  /// True when all of them are on one machine.
  virtual bool one_machine() const = 0;

  /// Leaves `bytes` for the others; they can have them after the next fence.
  virtual void publish(const std::string& key, std::span<const std::byte> bytes) = 0;
  /// Waits for all.
  virtual void fence() = 0;
  /// Does not wait: when all have come to the fence, one byte is written to `fd`.
  virtual void fence_then_write(int fd) = 0;
  /// What `from` has published.
  virtual std::vector<std::byte> fetch(std::uint32_t from, const std::string& key) = 0;
  /// Ends the whole job, this process too in a while.
  virtual void abort(int exit_status, const std::string& why) = 0;
  /// Says that this process has ended well; nothing else may be called any more.
  virtual void finish() = 0;
};

/// What all processes of such a job need first: a key that only they know, and what they choose alike
/// (`shape.choices`). Those of rank 0 are everyone's. Contains a fence.
void agree(PmixClient& client, JobShape& shape);

/// From getrandom.
JobKey random_job_key();

}  // namespace coracle::internals
