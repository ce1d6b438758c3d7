// LocalRanks: the ranks of one node: their memory, what they inherit, and how their processes are started.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/process.hpp"
#include "runtime/launch/device_owner_process.hpp"
#include "runtime/launch/guardian.hpp"
#include "runtime/launch/job_options.hpp"
#include "runtime/launch/labelled_output.hpp"
#include "runtime/launch/library_check.hpp"
#include "runtime/launch/mpi_libraries.hpp"
#include "runtime/launch/rank_files.hpp"
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
  /// Makes the node's region, and finds the programs of its ranks. `part`: of all nodes when the job is not split.
  /// `options` must outlive this. Throws Error.
  explicit LocalRanks(const JobOptions& options, const NodePart& part = {});
  ~LocalRanks();
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  JobRegion& region() noexcept { return region_; }
  /// Gives every rank a socket at which ranks of other nodes can reach it, at one or all addresses of the machine
  /// (open_listener).
  void listen_at(const NodeAddress& address);
  /// Before start_all; default: the machine has no other ranks.
  void set_share(const MachineShare& share);

  /// If the user wants labels: puts them before the ranks' lines, which go to `sink`. Before start_all; both must
  /// outlive this, and this what is spawned into `services`.
  void label_output(Io& io, Scope& services, OutputSink& sink);
  /// Once all ranks have ended: the last of their lines.
  void finish_output();
  /// The rank that reads standard input reads from `fd` instead. Before start_all.
  void read_input_from(FileDescriptor fd) noexcept { input_fd_ = std::move(fd); }

  /// For the Supervisor of these ranks.
  Supervisor::Options supervision(const Guardian& guardian);
  /// For Supervisor::run: starts all ranks, unless the job is ending. An error of the first is thrown; that another
  /// can't be started ends the job.
  Task<> start_all(Supervisor& supervisor, Guardian& guardian);

  /// "pvas (rlimit: ...)"
  std::string placement_text() const;
  std::size_t cores() const noexcept { return cores_.size(); }
  /// True when one process holds all ranks of the node, so that a program without Coracle runs only once.
  bool one_process() const noexcept { return processes() < region_.ranks(); }

 private:
  std::uint32_t processes() const noexcept;
  void make_event_fds();
  pid_t start(std::uint32_t rank, const Guardian& guardian);
  void reaped(pid_t pid);
  const ProgramPart& program(std::uint32_t rank) const noexcept {
    return options_.programs[program_of(options_, rank)];
  }
  void find_programs();
  bool copies_by_kernel() const;
  /// Ranks of each process.
  std::uint32_t held() const noexcept { return region_.ranks() / processes(); }
  SpawnOptions describe(std::uint32_t rank) const;
  int input_of(std::uint32_t rank) const noexcept;
  void open_files(std::uint32_t rank, RankFiles& files);
  pid_t start_device_owner(pvas::AddressSpace& space);

  const JobOptions& options_;
  std::optional<LibraryNotes> libraries_;  ///< Where this node's ranks run several programs.
  MpiLibraries mpi_;
  std::vector<std::string> paths_;     ///< Of the job's programs; "" for one that no rank of this node runs.
  std::vector<std::string> preloads_;  ///< Of the same (MpiLibraries::preload_for).
  bool readable_ = true;               ///< All of the same, by their users.
  std::vector<std::vector<int>> cores_;
  JobRegion region_;
  std::optional<pvas::AddressSpace> space_;
  std::optional<DeviceOwnerProcess> device_owner_;  ///< Of `pvas`.
  MachineShare share_;
  std::vector<FileDescriptor> listeners_;  ///< By local rank; none: its process has it.
  std::unique_ptr<LabelledOutput> labelled_;
  FileDescriptor null_fd_;
  FileDescriptor input_fd_;  ///< None: the launcher's own.
  bool huge_pages_;
};

/// Throws Error where the machine has no shared address space.
void check_pvas();

}  // namespace coracle::internals
