// What /proc and the control groups say.
#include "runtime/job/memory_room.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

std::optional<std::uint64_t> number_in(std::string_view text) noexcept {
  const std::size_t first = text.find_first_of("0123456789");
  if (first == std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + first, text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

/// The number in the line of `path` that begins with `key`; without a key, of the first line.
std::optional<std::uint64_t> number_of(const std::string& path, std::string_view key = "") {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return number_in(std::string_view(line).substr(key.size()));
  return std::nullopt;
}

void take_least(MemoryRoom& room, std::uint64_t free_bytes, const std::string& limit) {
  if (free_bytes >= room.free_bytes) return;
  room.free_bytes = free_bytes;
  room.limit = limit;
}

/// How the two versions of control groups call the same things.
struct GroupWords {
  const char* limit;
  const char* usage;
  const char* cached[2];  // what of the usage the kernel takes back when memory is short
};
constexpr GroupWords kVersion2{"memory.max", "memory.current", {"inactive_file ", "active_file "}};
constexpr GroupWords kVersion1{
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file ", "total_active_file "}};

void look_at_group(MemoryRoom& room, const std::string& folder, const GroupWords& words) {
  const auto limit = number_of(fmt::format("{}/{}", folder, words.limit));  // none: "max"
  const auto usage = number_of(fmt::format("{}/{}", folder, words.usage));
  if (!limit || !usage) return;
  std::uint64_t cached = 0;
  for (const char* word : words.cached) cached += number_of(folder + "/memory.stat", word).value_or(0);
  const std::uint64_t held = *usage - std::min(*usage, cached);
  take_least(room, *limit - std::min(*limit, held), fmt::format("what {}/{} leaves", folder, words.limit));
}

/// The group and all those that it is in: each may set a limit. In a container the path may be one of outside, and the
/// root the group itself.
void look_at_groups(MemoryRoom& room, const std::string& root, std::string path, const GroupWords& words) {
  while (path.size() > 1) {
    look_at_group(room, root + path, words);
    path.resize(path.rfind('/'));
  }
  look_at_group(room, root, words);
}

/// Lines such as "0::/user.slice" (version 2) and "4:memory:/jobs" (version 1).
void look_at_all_groups(MemoryRoom& room, const MemoryFiles& files) {
  std::ifstream own(files.proc + "/self/cgroup");
  for (std::string line; std::getline(own, line);) {
    const std::size_t path = line.find('/');
    if (path == std::string::npos) continue;
    const std::string_view which = std::string_view(line).substr(0, path);
    if (which == "0::")
      look_at_groups(room, files.cgroups, line.substr(path), kVersion2);
    else if (which.ends_with(":memory:"))
      look_at_groups(room, files.cgroups + "/memory", line.substr(path), kVersion1);
  }
}

void look_at_address_space(MemoryRoom& room, std::uint64_t mapped_bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const std::uint64_t most = limit.rlim_cur;
  take_least(room, most - std::min(most, mapped_bytes), "what `ulimit -v` leaves");
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t kGiB = 1ULL << 30;
  constexpr std::uint64_t kMiB = 1ULL << 20;
  if (bytes >= kGiB) return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / kGiB);
  if (bytes >= kMiB) return fmt::format("{} MiB", bytes / kMiB);
  return fmt::format("{} bytes", bytes);
}

std::string MemoryRoom::text() const {
  return fmt::format("{} ({}, with the {} that this process has already)", bytes_text(all_bytes()), limit,
                     bytes_text(used_bytes));
}

MemoryRoom memory_room(const MemoryFiles& files) {
  MemoryRoom room{0, kUnlimited, "nothing"};
  std::uint64_t mapped_pages = 0;
  std::uint64_t resident_pages = 0;
  std::ifstream(files.proc + "/self/statm") >> mapped_pages >> resident_pages;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  room.used_bytes = resident_pages * page;
  const std::string machine = files.proc + "/meminfo";
  if (const auto kilobytes = number_of(machine, "MemAvailable:"))
    take_least(room, (*kilobytes + number_of(machine, "SwapFree:").value_or(0)) << 10, "what this machine has free");
  look_at_all_groups(room, files);
  look_at_address_space(room, mapped_pages * page);
  room.free_bytes = std::min(room.free_bytes, kUnlimited - room.used_bytes);  // so that their sum is none too large
  return room;
}

MemoryUsed::MemoryUsed() noexcept : file_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}

MemoryUsed::~MemoryUsed() {
  if (file_ >= 0) ::close(file_);
}

std::uint64_t MemoryUsed::bytes() const noexcept {
  char text[128];
  const ssize_t length = ::pread(file_, text, sizeof text, 0);
  if (length <= 0) return 0;
  const std::string_view words(text, static_cast<std::size_t>(length));
  const std::size_t second = words.find(' ');  // the resident pages
  if (second == std::string_view::npos) return 0;
  return number_in(words.substr(second)).value_or(0) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void refuse_ranks(std::uint32_t ranks, const MemoryRoom& room) {
  const std::uint64_t most = room.all_bytes() / kSimulatedRankBytes;
  if (ranks <= most) return;
  throw Error(std::make_error_code(std::errc::not_enough_memory),
              fmt::format("{} ranks in one process take {} before their program begins, and there are {}; start at "
                          "most {} (-n), and fewer when they are to do something",
                          ranks, bytes_text(ranks * kSimulatedRankBytes), room.text(), most));
}

}  // namespace coracle::internals
