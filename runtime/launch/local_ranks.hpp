// LocalRanks: the ranks of one node: their memory, what they inherit, and how their processes are started.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/job/job.hpp"
#include "runtime/job/process.hpp"
#include "runtime/launch/device_owner_process.hpp"
#include "runtime/launch/guardian.hpp"
#include "runtime/launch/job_options.hpp"
#include "runtime/launch/supervisor.hpp"
#include "runtime/pvas/address_space.hpp"

namespace coracle::internals {

/// How a node shares its machine with other nodes of the job.
struct MachineShare {
  std::uint32_t first = 0;  ///< Ranks of the machine before those of this node.
  std::uint32_t ranks = 0;  ///< Ranks of the whole machine.
};

class LocalRanks {
 public:
  /// Makes the node's region. `part`: of all nodes when the job is not split. `options` must outlive this. Throws
  /// Error.
  LocalRanks(const JobOptions& options, std::string program, const NodePart& part = {});
  ~LocalRanks();
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  JobRegion& region() noexcept { return region_; }
  /// Gives every rank a socket at which ranks of other nodes can reach it, at one or all addresses of the machine
  /// (open_listener).
  void listen_at(const NodeAddress& address);
  /// Before start_all; default: the machine has no other ranks.
  void set_share(const MachineShare& share);

  /// For the Supervisor of these ranks.
  Supervisor::Options supervision(const Guardian& guardian);
  /// For Supervisor::run: starts all ranks, unless the job is ending. An error of the first is thrown; that another
  /// can't be started ends the job.
  Task<> start_all(Supervisor& supervisor, Guardian& guardian);

  /// "pvas (rlimit: ...)"
  std::string placement_text() const;
  std::size_t cores() const noexcept { return cores_.size(); }
  const std::string& program() const noexcept { return program_; }
  /// True when one process holds all ranks of the node, so that a program without Coracle runs only once.
  bool one_process() const noexcept { return processes() < region_.ranks(); }

 private:
  std::uint32_t processes() const noexcept;
  void make_event_fds();
  void close_listeners(std::size_t from, std::size_t to) noexcept;
  pid_t start(std::uint32_t rank, const Guardian& guardian);
  void reaped(pid_t pid);
  SpawnOptions describe(std::uint32_t rank) const;
  pid_t start_device_owner(pvas::AddressSpace& space);

  const JobOptions& options_;
  std::string program_;
  std::vector<std::vector<int>> cores_;
  JobRegion region_;
  std::optional<pvas::AddressSpace> space_;
  std::optional<DeviceOwnerProcess> device_owner_;  ///< Of `pvas`.
  MachineShare share_;
  std::vector<int> listeners_;  ///< By local rank; -1: its process has it.
  int null_fd_ = -1;
  std::string interface_folders_;
  bool huge_pages_;
};

/// Throws Error where the machine has no shared address space.
void check_pvas();

}  // namespace coracle::internals
