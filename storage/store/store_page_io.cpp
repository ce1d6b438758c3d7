#include "storage/store/store_page_io.hpp"

#include "runtime/core/error.hpp"
#include "runtime/core/scope.hpp"
#include "storage/store/checksum.hpp"

namespace coracle::internals::storage {

Task<bool> page_matches(StoreFile& file, const StorePlan& plan, PageEntry entry, std::span<std::byte> buffer) {
  PromiseBase& self = co_await this_coroutine();
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      co_await file.read_all(buffer.data(), buffer.size(), plan.slot_at(entry.slot()), "a page");
    } catch (const Error&) {
      if (self.scope().cancelled()) throw;
      continue;
    }
    if (checksum(buffer.data(), buffer.size()) == entry.checksum) co_return true;
  }
  co_return false;
}

}  // namespace coracle::internals::storage
