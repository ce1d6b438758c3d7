// Making and reaching the job's shared region.
#include "runtime/job/job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <new>
#include <numeric>
#include <utility>

#include "runtime/core/assert.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/ticks.hpp"
#include "runtime/job/memory_room.hpp"
#include "runtime/job/node_area_part.hpp"

namespace coracle::internals {
namespace {

// Free in ordinary processes: above where the kernel puts programs, below where it puts mappings; and outside the
// shadow and the heap of ASan, which ends at 0x640000000000.
constexpr std::uintptr_t kCommonAddress = 0x680000000000;
constexpr const char* kPlacements[] = {"pvas", "process", "thread", "sim"};  // in the order of Placement
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kHugePage = 2ULL << 20;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::uint32_t sum(std::span<const std::uint32_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint32_t{0});
}

/// First rank of `node`, or of the end.
std::uint32_t first_rank(std::uint32_t node, const JobShape& shape, const NodePart& part) {
  return part.ranks_per_node.empty() ? JobRegion::first_rank_of(node, shape) : sum(part.ranks_per_node.first(node));
}

JobHeader layout(JobShape shape, const NodePart& part) {
  JobHeader header;
  const bool all = part.node == NodePart::kAllNodes;
  header.node = all ? 0 : part.node;
  header.first_rank = all ? 0 : first_rank(part.node, shape, part);
  header.ranks = all ? shape.size : first_rank(part.node + 1, shape, part) - header.first_rank;
  shape.segment_bytes = round_up(shape.segment_bytes, kPage);
  shape.inbox_bytes = round_up(shape.inbox_bytes, kPage);
  shape.trace_bytes = round_up(shape.trace_bytes, kPage);
  shape.summary_bytes = round_up(shape.summary_bytes, kPage);
  header.shape = shape;
  header.device_owner_offset = round_up(sizeof(JobHeader), 64);
  header.first_ranks_offset = round_up(header.device_owner_offset + sizeof(DeviceOwnerRecord), 64);
  header.nodes_offset =
      round_up(header.first_ranks_offset + (std::uint64_t{shape.nodes} + 1) * sizeof(std::uint32_t), 64);
  header.ports_offset = header.nodes_offset + shape.nodes * sizeof(NodeRecord);
  header.blocks_offset = round_up(header.ports_offset + shape.size * sizeof(std::uint16_t), kPage);
  header.inboxes_offset = header.blocks_offset + header.ranks * sizeof(RankBlock);
  header.node_areas_offset = header.inboxes_offset + header.ranks * shape.inbox_bytes;
  header.node_area_bytes = round_up(NodeAreaPart::bytes_for(NodeAreaPart::kArenaBytes), kPage);
  std::uint64_t end = header.node_areas_offset + header.ranks * header.node_area_bytes;
  if (shape.placement == Placement::process) {
    header.bounce_offset = end;
    end += header.ranks * JobRegion::kBounceBytes;
  }
  if (shape.placement != Placement::sim) {
    header.message_rooms_offset = end;
    end += header.ranks * JobRegion::kMessageRooms * JobRegion::kMessageRoomBytes;
  }
  header.traces_offset = end;
  end += header.ranks * shape.trace_bytes;
  header.summaries_offset = end;
  end += header.ranks * shape.summary_bytes;
  header.segments_offset = round_up(end, kHugePage);
  header.region_bytes = header.segments_offset + header.ranks * shape.segment_bytes;
  header.ticks_of_processor = processor_counts();
  const TickSample now = TickSample::take(header.ticks_of_processor);
  header.start_ticks = now.ticks;
  header.start_ns = now.ns;
  return header;
}

/// Ranks that are processes of their own must see the region at one address; where all are in one process any will do
/// (and TSan allows few).
bool wants_common_address(Placement placement) noexcept {
  return placement == Placement::process;
}

constexpr std::uint64_t kAddressSpace = 1ULL << 47;  // of a process

/// What follows counts in 64 bits.
void check_sizes(const JobShape& shape, std::uint32_t ranks) {
  if (shape.segment_bytes <= kAddressSpace / ranks) return;
  throw Error(std::make_error_code(std::errc::not_enough_memory),
              fmt::format("{} segment{} of {} are more than a process can have in its address space ({}); start fewer "
                          "ranks (-n), or with a smaller --segment",
                          ranks, ranks == 1 ? "" : "s", bytes_text(shape.segment_bytes), bytes_text(kAddressSpace)));
}

/// What takes how much, for who must take less of it.
std::string parts_of(const JobHeader& header) {
  return fmt::format(" ({} segments of {}, and {} for collectives inside a node, which more --nodes make less)",
                     header.ranks, bytes_text(header.shape.segment_bytes),
                     bytes_text(header.ranks * header.node_area_bytes));
}

std::byte* map(std::size_t bytes, int fd, bool common, const char* whose, const std::string& parts = "") {
  const bool shared = fd >= 0;
  void* wanted = common ? reinterpret_cast<void*>(kCommonAddress) : nullptr;
  const int flags =
      MAP_NORESERVE | (shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS) | (common ? MAP_FIXED_NOREPLACE : 0);
  // An anonymous region is over-mapped by a huge page so that segments can start at a multiple of one.
  void* base = ::mmap(wanted, shared ? bytes : bytes + kHugePage, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (base == MAP_FAILED || (common && base != wanted)) {
    throw_errno(
        base == MAP_FAILED ? errno : EEXIST,
        fmt::format("can't map the job's {:.1f} GiB{} into {}; fewer ranks or a smaller --segment may help (a process "
                    "has 128 TiB of addresses; `ulimit -v` and vm.overcommit_memory limit it further)",
                    static_cast<double>(bytes) / (1 << 30), parts, whose));
  }
  auto* start = static_cast<std::byte*>(base);
  if (shared) return start;
  auto* aligned = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(start), kHugePage));
  if (aligned != start) ::munmap(start, static_cast<std::size_t>(aligned - start));
  ::munmap(aligned + bytes, static_cast<std::size_t>(start + kHugePage - aligned));
  return aligned;
}

template <class T>
T parse_number(std::string_view text, int base, const char* variable) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(Errc::bad_input,
                fmt::format("environment variable {} holds '{}', which no launcher has written; unset it, "
                            "or start the program with `coracle run`",
                            variable, text));
  return value;
}

}  // namespace

const char* to_string(Placement placement) noexcept {
  return kPlacements[static_cast<std::size_t>(placement)];
}

std::optional<Placement> parse_placement(std::string_view word) noexcept {
  const auto found = std::ranges::find(kPlacements, word, [](const char* name) { return std::string_view(name); });
  if (found == std::end(kPlacements)) return std::nullopt;
  return static_cast<Placement>(found - std::begin(kPlacements));
}

JobRegion JobRegion::create(const JobShape& shape, Backing backing, const NodePart& part) {
  CORACLE_ASSERT(shape.size > 0 && shape.nodes > 0 && shape.nodes <= shape.size, "{} ranks on {} nodes", shape.size,
                 shape.nodes);
  CORACLE_ASSERT(part.ranks_per_node.empty() ||
                     (part.ranks_per_node.size() == shape.nodes && sum(part.ranks_per_node) == shape.size),
                 "{} ranks on {} nodes, but a list of {} nodes with {} ranks", shape.size, shape.nodes,
                 part.ranks_per_node.size(), sum(part.ranks_per_node));
  const JobHeader header = layout(shape, part);
  check_sizes(shape, header.ranks);
  int fd = -1;
  if (backing == Backing::memfd) {
    fd = ::memfd_create("coracle-job", MFD_CLOEXEC);
    if (fd < 0) throw_errno(errno, "can't make the job's shared memory (memfd_create)");
    if (::ftruncate(fd, static_cast<off_t>(header.region_bytes)) != 0) {
      const int error = errno;
      ::close(fd);
      throw_errno(error, "can't size the job's shared memory (ftruncate)");
    }
  }
  std::byte* base = nullptr;
  try {
    base = map(header.region_bytes, fd, fd >= 0 && wants_common_address(shape.placement), "this process",
               parts_of(header));
  } catch (...) {
    if (fd >= 0) ::close(fd);
    throw;
  }
  new (base) JobHeader(header);
  JobRegion region(base, header.region_bytes, fd, true);
  new (&region.device_owner()) DeviceOwnerRecord;
  for (std::uint32_t rank = header.first_rank; rank < header.first_rank + header.ranks; ++rank) {
    // The memory is zero, which is the initial state of all else: nothing more is touched here, page by page, than is
    // needed.
    region.block(rank).doorbell.event_fd = -1;
    region.block(rank).listen_fd = -1;
  }
  auto* first_ranks = reinterpret_cast<std::uint32_t*>(base + header.first_ranks_offset);
  for (std::uint32_t node = 0; node <= shape.nodes; ++node)
    first_ranks[node] = coracle::internals::first_rank(node, shape, part);
  return region;
}

std::uint32_t JobRegion::node_of(std::uint32_t rank) const noexcept {
  const auto* first_ranks = reinterpret_cast<const std::uint32_t*>(base_ + header().first_ranks_offset);
  const auto* end = first_ranks + shape().nodes + 1;
  return static_cast<std::uint32_t>(std::upper_bound(first_ranks + 1, end, rank) - (first_ranks + 1));
}

namespace {

/// A region that ranks share by sharing an address space is not there in a program that one of them has become by exec.
void check_shared(const std::byte* base) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  auto* first = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(base) / page * page);
  if (::mincore(first, 1, &resident) == 0) return;
  throw Error(
      Errc::unsupported,
      "this program was started by another, as by a script's `exec`, and so has left the address space that the "
      "ranks share: start the job with --place process, or name this program to `coracle run` itself");
}

}  // namespace

std::optional<JobRegion> JobRegion::attach_from_environment() {
  const char* variable = std::getenv("CORACLE_JOB");
  if (variable == nullptr) return std::nullopt;
  const std::string_view text(variable);
  const std::size_t colon = text.find(':');
  const std::size_t last = text.rfind(':');
  if (colon == std::string_view::npos || last == colon) parse_number<int>(text, 10, "CORACLE_JOB");
  const auto address = parse_number<std::uintptr_t>(text.substr(0, colon), 16, "CORACLE_JOB");
  const auto bytes = parse_number<std::size_t>(text.substr(colon + 1, last - colon - 1), 10, "CORACLE_JOB");
  const int fd = parse_number<int>(text.substr(last + 1), 10, "CORACLE_JOB");
  auto* base = fd >= 0 ? map(bytes, fd, address != 0, "this rank") : reinterpret_cast<std::byte*>(address);
  if (fd < 0) check_shared(base);
  JobRegion region(base, bytes, fd, fd >= 0);
  const JobHeader& header = region.header();
  if (header.magic != JobHeader::kMagic || header.version != JobHeader::kVersion ||
      header.rank_block_bytes != sizeof(RankBlock))
    throw Error(Errc::unsupported,
                "this program was built with another version of Coracle than the `coracle` command that "
                "started it; rebuild the program");
  return region;
}

JobRegion::JobRegion(JobRegion&& other) noexcept
    : base_(other.base_),
      region_bytes_(other.region_bytes_),
      fd_(std::exchange(other.fd_, -1)),
      owner_(std::exchange(other.owner_, false)) {}

JobRegion::~JobRegion() {
  if (!owner_) return;
  ::munmap(base_, region_bytes_);
  if (fd_ >= 0) ::close(fd_);
}

std::string JobRegion::environment() const {
  const bool anywhere = fd_ >= 0 && !wants_common_address(shape().placement);
  return fmt::format("CORACLE_JOB={:x}:{}:{}", anywhere ? 0 : reinterpret_cast<std::uintptr_t>(base_), region_bytes_,
                     fd_);
}

std::uint32_t rank_from_environment() {
  const char* variable = std::getenv("CORACLE_RANK");
  return variable == nullptr ? 0 : parse_number<std::uint32_t>(variable, 10, "CORACLE_RANK");
}

}  // namespace coracle::internals
