// copy_short: memcpy for what is mostly a word, without a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace coracle::internals {

/// As memcpy; `source` may be empty, and null then.
inline void copy_short(std::span<const std::byte> source, std::byte* target) noexcept {
  if (source.size() == sizeof(std::uint64_t)) [[likely]] {
    std::memcpy(target, source.data(), sizeof(std::uint64_t));
  } else if (!source.empty()) {
    std::memcpy(target, source.data(), source.size());
  }
}

}  // namespace coracle::internals
