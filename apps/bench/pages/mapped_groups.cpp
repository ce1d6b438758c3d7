#include "apps/bench/pages/mapped_groups.hpp"

#include "runtime/error.hpp"

namespace coracle::internals::bench {

MappedGroups::MappedGroups(std::uint64_t memory_bytes, bool with_rival) {
  try {
    own_.emplace("own", memory_bytes + own_bytes_of_rank(memory_bytes));
    mmap_.emplace("mmap", memory_bytes + kOwnBytesOfReader);
    if (with_rival) rival_.emplace("rival", memory_bytes + own_bytes_of_rank(memory_bytes));
    stay_.emplace(*own_);
  } catch (const Error& error) {
    rival_.reset();
    mmap_.reset();
    own_.reset();
    reason_ = error.what();
  }
}

nlohmann::json MappedGroups::told() const {
  const auto folder = [](const std::optional<MemoryGroup>& group) { return group ? group->folder() : std::string(); };
  return {{"own", folder(own_)}, {"mmap", folder(mmap_)}, {"rival", folder(rival_)}, {"none", reason_}};
}

}  // namespace coracle::internals::bench
