// The job's shared region: what all ranks of one node share: the job's shape and directory, and for each rank of the
// node a control block, an inbox and a segment. The node's launcher makes it (anonymous memory in the shared address
// space for `pvas`, a memfd otherwise) and every rank of the node reaches it at the same address, so pointers into it
// may be passed between them. (`sim` has all nodes in one region.)
//
//     [JobHeader][DeviceOwnerRecord][first rank x nodes + 1][NodeRecord x nodes][port x size]
//     [RankBlock x local][inbox x local][node area x local][bounce x local][rooms x local][trace x local]
//     [summary x local][segment x local]
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/core/doorbell.hpp"
#include "runtime/core/scheduler.hpp"
#include "runtime/job/copy_claims.hpp"
#include "runtime/job/directory.hpp"
#include "runtime/job/exposed_memory.hpp"

namespace coracle::internals {

/// What a rank is. See docs/design.md.
enum class Placement : std::uint32_t { pvas, process, thread, sim };

const char* to_string(Placement placement) noexcept;
/// "pvas", "process", "thread", "sim"; nothing for another word.
std::optional<Placement> parse_placement(std::string_view word) noexcept;

/// How a message that is not sent at once gets from its sender's memory to its receiver's.
enum class RendezvousScheme : std::uint32_t {
  automatic,    ///< The quickest known for such a message (see docs/design.md).
  one_sided,    ///< The receiver copies straight from the sender's memory. Needs a shared address space.
  cooperative,  ///< Both copy, each a part. Needs a shared address space, or else the kernel, and a row of bytes.
  shm,          ///< Piece by piece through a buffer that both share: two copies, made at the same time.
  cma,          ///< The kernel copies between the processes (process_vm_readv). The last that a job can ask for.
  // Those that only the receiver chooses, by where both sides lie:
  get,            ///< As a get of the transport's.
  device,         ///< A GPU's engines copy.
  device_pieces,  ///< Piece by piece, and each from host memory to a GPU.
};

/// What the launcher decides about a job's messages.
struct MessageOptions {
  static constexpr std::uint32_t kEagerBytesDefault = 8192;
  static constexpr std::uint64_t kUnexpectedBytesDefault = 64 << 20;

  RendezvousScheme scheme = RendezvousScheme::automatic;  ///< Where it can't be, the message goes as with `automatic`.
  std::uint32_t eager_bytes = kEagerBytesDefault;         ///< Longer messages wait at their sender.
  std::uint64_t unexpected_bytes = kUnexpectedBytesDefault;  ///< Room of all senders together at one receiver; no
                                                             ///< sender gets more than a 64th. See ShortOffers for
                                                             ///< those that would wait.
};

/// Where the ranks of a node, their launcher and the process that owns the node's devices meet. Under `pvas` drivers
/// that bind their files to one process (CUDA) can serve one process only: the owner. In the job's region; zeroed
/// memory is its first state.
struct DeviceOwnerRecord {
  enum class State : std::uint32_t {
    none,     ///< Not started, or not yet ready.
    serving,  ///< `queues` is set.
    ending,   ///< By the launcher: all ranks have ended.
    ended,    ///< By the launcher: it has died, or could not be started; `reason` says how.
  };

  enum class LauncherRequest : std::uint32_t {
    none,
    start,  ///< By the first rank that needs it.
    kill,   ///< By a rank that gets no answer: from an owner that has ended it can take back what the owner would read.
  };

  /// The environment of the owner's process has it.
  static constexpr const char* kVariable = "CORACLE_DEVICE_OWNER";

  /// The owner sleeps here.
  Doorbell doorbell;
  alignas(64) std::atomic<State> state{State::none};
  /// What ranks want of the launcher; who changes it writes to `call_fd`.
  std::atomic<LauncherRequest> wanted{LauncherRequest::none};
  /// An eventfd that the launcher reads; -1: this job can have no owner.
  std::int32_t call_fd = -1;
  /// What the owner offers to ranks, in its own memory, which stays when it dies.
  std::atomic<std::uint64_t> queues{0};
  std::array<char, 256> reason{};
};

/// What the launcher decides about a job.
struct JobShape {
  Placement placement = Placement::thread;
  std::uint32_t size = 1;                    ///< Ranks.
  std::uint32_t nodes = 1;                   ///< Each holds consecutive ranks; at most `size`.
  std::uint64_t segment_bytes = 1ULL << 30;  ///< Per rank, reserved; memory is taken when touched.
  std::uint64_t inbox_bytes = 0;             ///< Per rank; the transport that uses the inboxes says how much.
  std::uint64_t seed = 1;                    ///< `sim`: repeats a schedule.
  std::array<char, 256> network_file{};      ///< `sim`: path of the network model, or "".
  std::array<char, 256> faults{};            ///< `sim`: path of a fault plan, "random", or "".
  std::array<char, 1024> choices{};          ///< How collectives go, in words of the layer that has them; or "".
  std::uint64_t trace_bytes = 0;             ///< Per rank, for its events; 0: no trace is wanted.
  std::uint64_t summary_bytes = 0;           ///< Per rank, for its sums; 0: no summary is wanted.
  MessageOptions messages;
  IdlePolicy idle;
  NetworkOptions network;
  JobKey key;
};

/// Which part of a job a region holds.
struct NodePart {
  static constexpr std::uint32_t kAllNodes = 0xffffffff;
  std::uint32_t node = kAllNodes;
  /// Of every node; empty: split as evenly as can be.
  std::span<const std::uint32_t> ranks_per_node;
};

/// How far a rank has come; written by the rank, read by the launcher. `lost` is the launcher's word, in jobs that
/// survive: the rank's process has failed, and its peers on the node are to know.
enum class RankPhase : std::uint32_t { starting, attached, finished, lost };

/// How a rank tells its launcher what it awaits. The launcher raises `asked` and rings; a rank whose loop finds nothing
/// to do writes its answer, and then the question's number into `answered`. One that runs does not answer.
struct alignas(64) WaitsAnswer {
  std::atomic<std::uint32_t> asked{0};
  std::atomic<std::uint32_t> answered{0};
  /// How many times the loop has gone to sleep, as far as it has come.
  std::atomic<std::uint64_t> sleeps{0};
  std::uint32_t bytes;  ///< Of the answer: insight::RankWaits, encoded.
  std::array<std::byte, (20 << 10)> answer;
};

/// One rank's part of the control area.
struct alignas(4096) RankBlock {
  Doorbell doorbell;
  /// Seldom written; peers read some of it with every copy that the kernel makes.
  alignas(64) std::atomic<RankPhase> phase{RankPhase::starting};
  std::atomic<std::int32_t> pid{0};
  /// The kernel's number of the thread that attached: where all ranks are one process, what it runs is the rank's.
  std::atomic<std::int32_t> thread{0};
  /// Length of crash_text, once the rank has described its crash there.
  std::atomic<std::uint32_t> crash_bytes{0};
  /// The same for where the rank was running when it reported last, if it was not asleep.
  std::atomic<std::uint32_t> running_bytes{0};
  /// Once `lost`: how its process ended, as the shell has it.
  std::int32_t exit_status = 0;
  /// A listening TCP socket that the rank inherits from its launcher, for connections from other nodes; -1: none.
  std::int32_t listen_fd = -1;
  /// Counts reports of live coroutines that the rank has written to its standard error (see wait_report.hpp).
  std::atomic<std::uint32_t> reports{0};
  /// Written often, by the rank and for itself. Whose exposed memory it, or its DMA device, is reading or writing by
  /// itself now; see ExposedAccess.
  alignas(64) std::atomic<std::uint64_t> accessed{0};
  std::atomic<std::uint64_t> accessed_by_device{0};
  /// Of messages that the rank has offered to others, who have not taken them yet.
  std::atomic<std::uint64_t> offered_bytes{0};
  /// Of messages that the rank receives, while their senders help: while requests for help wait for room, many.
  std::array<CopyClaims, 64> copies;
  alignas(64) ExposedTable exposed;
  std::array<char, 5120> crash_text;
  WaitsAnswer waits;
};

struct JobHeader {
  static constexpr std::uint64_t kMagic = 0x436f7261636c6531;  // "Coracle1"
  /// Raised with every change of layout: launcher and program must have been built from the same version.
  static constexpr std::uint32_t kVersion = 23;

  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t rank_block_bytes = sizeof(RankBlock);
  JobShape shape;
  std::uint32_t node = 0;        ///< Of this region; 0 when it holds all.
  std::uint32_t first_rank = 0;  ///< Of this region.
  std::uint32_t ranks = 0;       ///< In this region.
  std::uint32_t losses = 0;      ///< Ranks of this region that are lost; see JobRegion::losses.
  std::uint64_t region_bytes = 0;
  std::uint64_t device_owner_offset = 0;
  std::uint64_t first_ranks_offset = 0;
  std::uint64_t nodes_offset = 0;
  std::uint64_t ports_offset = 0;
  std::uint64_t blocks_offset = 0;
  std::uint64_t inboxes_offset = 0;
  std::uint64_t node_areas_offset = 0;
  std::uint64_t node_area_bytes = 0;       ///< Of each rank's part in the world's node area (node_area.hpp).
  std::uint64_t bounce_offset = 0;         ///< Where ranks are processes of their own; else 0.
  std::uint64_t message_rooms_offset = 0;  ///< 0 in `sim`.
  std::uint64_t traces_offset = 0;
  std::uint64_t summaries_offset = 0;
  std::uint64_t segments_offset = 0;
  bool kernel_copies = false;       ///< Ranks that share no address space read each other's memory by the kernel.
  bool ticks_of_processor = false;  ///< See read_ticks(); the same moment in ticks and nanoseconds:
  std::uint64_t start_ticks = 0;
  std::uint64_t start_ns = 0;
};

/// A view of the region, and its owner when it was mapped by this object.
class JobRegion {
 public:
  /// Of each rank, for messages that are copied twice (BounceBuffers).
  static constexpr std::uint64_t kBounceBytes = 256 * 1024;
  /// Of each rank, for messages that lie apart from their senders' buffers while they are offered (MessageRooms).
  static constexpr std::uint64_t kMessageRoomBytes = 256 * 1024;
  static constexpr std::uint64_t kMessageRooms = 2;

  /// Where the memory comes from.
  enum class Backing {
    anonymous,  ///< Shared by all of this address space: `pvas`, and programs started without the launcher.
    memfd,      ///< Inheritable descriptor; mapped at an address that is free in every process.
  };
  static JobRegion create(const JobShape& shape, Backing backing, const NodePart& part = {});
  /// From the environment that the launcher gave this process; nothing when it was started without the launcher.
  /// Throws Error when the region can't be reached or belongs to another version.
  static std::optional<JobRegion> attach_from_environment();

  JobRegion(JobRegion&& other) noexcept;
  JobRegion& operator=(JobRegion&&) = delete;
  ~JobRegion();

  /// The variable for the environment of a rank: "CORACLE_JOB=...".
  std::string environment() const;
  /// The memfd, or -1.
  int fd() const noexcept { return fd_; }

  JobHeader& header() const noexcept { return *reinterpret_cast<JobHeader*>(base_); }
  const JobShape& shape() const noexcept { return header().shape; }
  DeviceOwnerRecord& device_owner() const noexcept {
    return *reinterpret_cast<DeviceOwnerRecord*>(base_ + header().device_owner_offset);
  }

  // --- of local ranks only ---
  std::uint32_t first_rank() const noexcept { return header().first_rank; }
  std::uint32_t ranks() const noexcept { return header().ranks; }
  bool is_local(std::uint32_t rank) const noexcept { return rank - first_rank() < ranks(); }
  RankBlock& block(std::uint32_t rank) const noexcept {
    return *reinterpret_cast<RankBlock*>(base_ + header().blocks_offset + local_index(rank) * sizeof(RankBlock));
  }
  std::byte* inbox(std::uint32_t rank) const noexcept {
    return base_ + header().inboxes_offset + local_index(rank) * shape().inbox_bytes;
  }
  std::byte* node_area(std::uint32_t rank) const noexcept {
    return base_ + header().node_areas_offset + local_index(rank) * header().node_area_bytes;
  }
  /// BounceBuffers::kBytes, or null.
  std::byte* bounce_memory(std::uint32_t rank) const noexcept {
    if (header().bounce_offset == 0 || !is_local(rank)) return nullptr;
    return base_ + header().bounce_offset + local_index(rank) * kBounceBytes;
  }
  /// kMessageRooms, or null.
  std::byte* message_rooms(std::uint32_t rank) const noexcept {
    if (header().message_rooms_offset == 0 || !is_local(rank)) return nullptr;
    return base_ + header().message_rooms_offset + local_index(rank) * kMessageRooms * kMessageRoomBytes;
  }
  /// For the rank's events (TraceMemory); empty where no trace is wanted.
  std::span<std::byte> trace(std::uint32_t rank) const noexcept {
    return {base_ + header().traces_offset + local_index(rank) * shape().trace_bytes, shape().trace_bytes};
  }
  /// For the rank's sums (SummaryMemory); empty where no summary is wanted.
  std::span<std::byte> summary(std::uint32_t rank) const noexcept {
    return {base_ + header().summaries_offset + local_index(rank) * shape().summary_bytes, shape().summary_bytes};
  }
  std::byte* segment(std::uint32_t rank) const noexcept {
    return base_ + header().segments_offset + local_index(rank) * shape().segment_bytes;
  }

  /// Exposed memory of a local rank, by its number there; null where there is none.
  ExposedMemory* exposed(std::uint32_t rank, std::uint32_t index) const noexcept {
    return block(rank).exposed.find(index, segment(rank));
  }

  // --- the directory: of all ranks and nodes ---
  std::uint32_t node_of(std::uint32_t rank) const noexcept;
  /// For node = nodes: one past the last rank.
  std::uint32_t first_rank_of(std::uint32_t node) const noexcept {
    return reinterpret_cast<const std::uint32_t*>(base_ + header().first_ranks_offset)[node];
  }
  std::uint32_t ranks_of(std::uint32_t node) const noexcept { return first_rank_of(node + 1) - first_rank_of(node); }
  NodeRecord& node(std::uint32_t node) const noexcept {
    return reinterpret_cast<NodeRecord*>(base_ + header().nodes_offset)[node];
  }
  /// TCP port at which the rank listens; 0: it does not.
  std::uint16_t& port(std::uint32_t rank) const noexcept {
    return reinterpret_cast<std::uint16_t*>(base_ + header().ports_offset)[rank];
  }

  /// How many ranks of this node are lost: whoever sees it grow looks for RankPhase::lost. Only in jobs that survive.
  std::atomic_ref<std::uint32_t> losses() const noexcept { return std::atomic_ref(header().losses); }

  /// True when the `bytes` at `address` lie inside the region: then every rank of the machine can reach them.
  bool contains(const void* address, std::size_t bytes) const noexcept {
    const auto* start = static_cast<const std::byte*>(address);
    return start >= base_ && bytes <= region_bytes_ && start + bytes <= base_ + region_bytes_;
  }

  /// The same when ranks are split as evenly as can be, the first nodes being the larger.
  static std::uint32_t first_rank_of(std::uint32_t node, const JobShape& shape) noexcept {
    return static_cast<std::uint32_t>(std::uint64_t{node} * shape.size / shape.nodes +
                                      (std::uint64_t{node} * shape.size % shape.nodes != 0 ? 1 : 0));
  }
  static std::uint32_t node_of(std::uint32_t rank, const JobShape& shape) noexcept {
    return static_cast<std::uint32_t>(std::uint64_t{rank} * shape.nodes / shape.size);
  }

 private:
  JobRegion(std::byte* base, std::size_t bytes, int fd, bool owner) noexcept
      : base_(base), region_bytes_(bytes), fd_(fd), owner_(owner) {}

  std::uint64_t local_index(std::uint32_t rank) const noexcept { return rank - first_rank(); }

  std::byte* base_;
  std::size_t region_bytes_;
  int fd_;
  bool owner_;
};

/// The rank number that the launcher gave this process ("CORACLE_RANK"), or 0.
std::uint32_t rank_from_environment();

}  // namespace coracle::internals
