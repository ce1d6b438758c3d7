// Lists of runs for the kernel.
#include "runtime/messages/direct_copies.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>

#include "runtime/core/other_memory.hpp"
#include "runtime/layout/cursor.hpp"

namespace coracle::internals {
namespace {

/// Runs for one call; the kernel takes 1024.
struct Runs {
  std::array<iovec, 1024> list;
  std::size_t count = 0;
  std::uint64_t bytes = 0;

  void add(std::byte* data, std::uint64_t length) noexcept {
    list[count++] = {data, length};
    bytes += length;
  }
  std::span<const iovec> runs() const noexcept { return std::span(list).first(count); }
  bool full() const noexcept { return count == list.size(); }
};

/// What follows byte `position`, of at most `bytes`.
template <class Byte>
void collect(const MessageMemory<Byte>& memory, std::uint64_t position, std::uint64_t bytes, Runs& runs) noexcept {
  runs.count = 0;
  runs.bytes = 0;
  auto* const origin = const_cast<std::byte*>(memory.origin());  // an iovec knows no const
  if (!memory.is_scattered()) return runs.add(origin + position, bytes);
  layouts::Cursor cursor(memory.scattered().layout, memory.scattered().count, position);
  while (!runs.full() && runs.bytes < bytes) {
    const layouts::Group& group = cursor.group();
    const std::uint64_t block = group.starts != nullptr ? group.starts[1] - group.starts[0] : group.block_bytes;
    const std::uint64_t length = std::min(block, bytes - runs.bytes);
    runs.add(origin + group.first_block(), length);
    if (length == block)
      cursor.advance_blocks(1);
    else
      cursor.advance_bytes(length);
  }
}

}  // namespace

std::error_code copy_from_process(pid_t pid, const MessageTarget& target, const MessageSource& source,
                                  std::uint64_t bytes) noexcept {
  Runs here;
  Runs there;
  for (std::uint64_t done = 0; done < bytes;) {
    collect(target, done, bytes - done, here);
    collect(source, done, here.bytes, there);
    // It moves as much as the shorter of the two lists has, or less.
    const ssize_t moved = read_other_memory(pid, here.runs(), there.runs());
    if (moved < 0) return {errno, std::generic_category()};
    if (moved == 0) return {EFAULT, std::generic_category()};
    done += static_cast<std::uint64_t>(moved);
  }
  return {};
}

}  // namespace coracle::internals
