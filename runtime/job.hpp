// The job's shared region: what all ranks of a job on this machine share: its shape, one control block per rank, the
// inboxes and the segments. The launcher makes it (anonymous memory in the shared address space for `pvas`, a memfd
// otherwise) and every rank reaches it at the same address, so pointers into it may be passed between ranks.
//
//     [JobHeader][RankBlock x size][inbox x size][segment x size]
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/doorbell.hpp"
#include "runtime/event_loop.hpp"

namespace coracle {

/// What a rank is. See docs/design.md.
enum class Placement : std::uint32_t { pvas, process, thread, sim };

const char* to_string(Placement placement) noexcept;
/// "pvas", "process", "thread", "sim"; nothing for another word.
std::optional<Placement> parse_placement(std::string_view word) noexcept;

/// What the launcher decides about a job.
struct JobShape {
  Placement placement = Placement::thread;
  std::uint32_t size = 1;                    ///< Ranks.
  std::uint32_t nodes = 1;                   ///< Groups of consecutive ranks; at most `size`.
  std::uint64_t segment_bytes = 1ULL << 30;  ///< Per rank, reserved; memory is taken when touched.
  std::uint64_t inbox_bytes = 0;             ///< Per rank; the transport that uses the inboxes says how much.
  std::uint64_t seed = 1;                    ///< `sim`: repeats a schedule.
  std::array<char, 256> network_file{};      ///< `sim`: path of the network model, or "".
  IdlePolicy idle;
};

/// How far a rank has come; written by the rank, read by the launcher.
enum class RankPhase : std::uint32_t { starting, attached, finished };

/// Memory outside the segment that a rank has exposed; see Rank::expose.
struct ExposedMemory {
  std::atomic<std::uint64_t> address{0};
  std::atomic<std::uint64_t> bytes{0};  // 0: free
};

/// One rank's part of the control area.
struct alignas(4096) RankBlock {
  Doorbell doorbell;
  alignas(64) std::atomic<RankPhase> phase{RankPhase::starting};
  std::atomic<std::int32_t> pid{0};
  /// Counts reports of live coroutines that the rank has written to its standard error (see report.hpp).
  std::atomic<std::uint32_t> reports{0};
  /// Length of crash_text, once the rank has described its crash there.
  std::atomic<std::uint32_t> crash_bytes{0};
  /// The same for where the rank was running when it reported last, if it was not asleep.
  std::atomic<std::uint32_t> running_bytes{0};
  static constexpr std::size_t kExposedMax = 128;
  std::array<ExposedMemory, kExposedMax> exposed;
  std::array<char, 5120> crash_text;
};

struct JobHeader {
  static constexpr std::uint64_t kMagic = 0x436f7261636c6531;  // "Coracle1"
  /// Raised with every change of layout: launcher and program must have been built from the same version.
  static constexpr std::uint32_t kVersion = 2;

  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t rank_block_bytes = sizeof(RankBlock);
  JobShape shape;
  std::uint64_t region_bytes = 0;
  std::uint64_t blocks_offset = 0;
  std::uint64_t inboxes_offset = 0;
  std::uint64_t segments_offset = 0;
};

/// A view of the region, and its owner when it was mapped by this object.
class JobRegion {
 public:
  /// Where the memory comes from.
  enum class Backing {
    anonymous,  ///< Shared by all of this address space: `pvas`, and programs started without the launcher.
    memfd,      ///< Inheritable descriptor; mapped at an address that is free in every process.
  };
  static JobRegion create(const JobShape& shape, Backing backing);
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
  RankBlock& block(std::uint32_t rank) const noexcept {
    return *reinterpret_cast<RankBlock*>(base_ + header().blocks_offset + rank * sizeof(RankBlock));
  }
  std::byte* inbox(std::uint32_t rank) const noexcept {
    return base_ + header().inboxes_offset + rank * shape().inbox_bytes;
  }
  std::byte* segment(std::uint32_t rank) const noexcept {
    return base_ + header().segments_offset + rank * shape().segment_bytes;
  }
  /// True when the `bytes` at `address` lie inside the region: then every rank of the machine can reach them.
  bool contains(const void* address, std::size_t bytes) const noexcept {
    const auto* start = static_cast<const std::byte*>(address);
    return start >= base_ && bytes <= region_bytes_ && start + bytes <= base_ + region_bytes_;
  }

  /// First rank of `node` and the node of `rank`: ranks are split as evenly as can be, the first nodes being the
  /// larger.
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

  std::byte* base_;
  std::size_t region_bytes_;
  int fd_;
  bool owner_;
};

/// The rank number that the launcher gave this process ("CORACLE_RANK"), or 0.
std::uint32_t rank_from_environment();

}  // namespace coracle
