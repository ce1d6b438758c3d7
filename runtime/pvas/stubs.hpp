// The page of short code pieces in each partition to which rewritten system-call sites jump. A stub steps over the red
// zone, calls the hook and goes back; all its variable parts are data in the control block, so the page is the same
// everywhere and never written again.
#pragma once

#include <cstdint>

#include "runtime/pvas/control.hpp"
#include "runtime/pvas/partition_layout.hpp"

namespace coracle::internals::pvas {

inline constexpr std::uint64_t kStubBytes = 32;
inline constexpr std::uint64_t kStubsOffset = 64;
inline constexpr std::uint64_t kStubReturnOffset =
    10;  ///< Of the address that a stub's call leaves, from the stub's start.

static_assert(kStubsOffset + kRedirectsMax * kStubBytes <= kPageBytes);

inline std::uint64_t stub_address(const PartitionLayout& layout, std::uint64_t index) noexcept {
  return layout.stubs_begin() + kStubsOffset + index * kStubBytes;
}

/// Writes the page for `control`'s partition at `page`, which is writable.
void write_stubs(unsigned char* page, const Control& control) noexcept;

/// The stubs' common target, in the root's text: saves all registers but rax, rcx and r11, as the kernel does.
extern "C" void coracle_pvas_hook_entry() noexcept;

}  // namespace coracle::internals::pvas
