// Windows of several ranks on one segment, for `coracle run` in every placement that has threads: mapped-stripes FOLDER
// SEED. Each rank stores to bytes between those of the others, again and again; all see all after two syncs.
#include <fmt/core.h>

#include <coracle/coracle.hpp>
#include <coracle/mapped.hpp>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "runtime/core/thread_sanitizer.hpp"
#include "storage/segment/paged_segment.hpp"

using namespace coracle;
using namespace coracle::internals;

namespace {

constexpr std::uint64_t kRounds = 3;

std::byte content(std::uint64_t offset, std::uint64_t round) {
  return static_cast<std::byte>(offset * 31 + round * 101 + 1);
}

void store_own(Rank& self, std::span<std::byte> bytes, std::uint64_t round) {
  for (std::uint64_t i = self.id(); i < bytes.size(); i += self.size()) bytes[i] = content(i, round);
}

std::uint64_t count_wrong(std::span<const std::byte> bytes, std::uint64_t round) {
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < bytes.size(); ++i) wrong += bytes[i] != content(i, round) ? 1 : 0;
  return wrong;
}

Task<> stripes(Rank& self, std::string folder) {
  PagedOptions options;
  options.path = folder + "/stripes";
  options.bytes = 30 * 4096 + 11;
  options.page_bytes = 4096;
  options.cache_bytes = 8 * 4096;
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  MappedOptions mapped;
  mapped.window_bytes = 5 * 4096;
  MappedSegment window = co_await MappedSegment::map(self, segment, mapped);
  const std::span<std::byte> bytes = window.as<std::byte>();
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    co_await window.run([&self, bytes, round] { store_own(self, bytes, round); });
    co_await window.sync();
    co_await self.world().barrier();
    co_await window.sync();
    const std::uint64_t wrong = co_await window.run([bytes, round] { return count_wrong(bytes, round); });
    if (wrong > 0)
      throw std::runtime_error(fmt::format("{} bytes of {} are wrong in round {}", wrong, bytes.size(), round));
    co_await self.world().barrier();
  }
  co_await window.unmap();
  co_await segment.close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: mapped-stripes FOLDER SEED\n");
    return 2;
  }
  if (const IoSupport support = storage::probe_userfaultfd(); !support.available) {
    fmt::print(stderr, "skipped: {}\n", support.reason);
    return 77;
  }
#ifdef CORACLE_THREAD_SANITIZER
  fmt::print(stderr,
             "skipped: ThreadSanitizer can't see that write protection orders stores before the loop's reads\n");
  return 77;
#endif
  const std::string folder = argv[1];
  return coracle::run(argc, argv, [folder](Rank& self) { return stripes(self, folder); });
}
