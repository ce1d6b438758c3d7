// Placement: what the ranks of a job are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::internals {

/// What a rank is. See docs/design.md.
enum class Placement : std::uint32_t { pvas, process, thread, sim };

const char* to_string(Placement placement) noexcept;
/// "pvas", "process", "thread", "sim"; nothing for another word.
std::optional<Placement> parse_placement(std::string_view word) noexcept;

}  // namespace coracle::internals
