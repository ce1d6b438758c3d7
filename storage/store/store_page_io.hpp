// Pages against their checksums, outside the quick path of an open store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/task.hpp"
#include "storage/store/store_file.hpp"
#include "storage/store/store_format.hpp"

namespace coracle::internals::storage {

/// Reads the page (twice, if need be) and says whether it is what it was. A page that can't be read is not. Throws only
/// when cancelled.
Task<bool> page_matches(StoreFile& file, const StorePlan& plan, PageEntry entry, std::span<std::byte> buffer);

}  // namespace coracle::internals::storage
