// owning_range: what has elements of its own, which end with it; not a span or another view.
#pragma once

#include "runtime/core/std_parts.hpp"

namespace coracle::internals::detail {

template <class Range>
concept owning_range =
    std::ranges::contiguous_range<Range> && !std::ranges::view<Range> && !std::ranges::borrowed_range<Range>;

}  // namespace coracle::internals::detail
