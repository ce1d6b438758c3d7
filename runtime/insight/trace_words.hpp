// What a span of a trace is called, and what is told of it: the same in all formats.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/insight/trace_spans.hpp"

namespace coracle::internals {

struct TraceWords {
  std::string name;
  const char* category;
};

TraceWords words_of(const TraceSpan& span, const RankEvents& rank);

/// One thing that is told of a span.
struct TraceArgument {
  std::string_view name;
  std::variant<std::uint64_t, bool> value;
};

/// Without its place in the program's source.
std::vector<TraceArgument> arguments_of(const TraceSpan& span);

/// Which way data goes in a collective with a root.
enum class Flow { none, from_root, to_root };

Flow flow_of(std::string_view collective) noexcept;

}  // namespace coracle::internals
