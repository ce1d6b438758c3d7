// What the tests of a store's file share: its calls as tasks, and a store to be used.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <system_error>

#include "storage/store/aligned_buffer.hpp"
#include "storage/store/page_store.hpp"
#include "tests/runtime/io_fixture.hpp"
#include "tests/storage/store_image.hpp"
#include "tests/storage/temporary_folder.hpp"

namespace coracle::internals::test {

inline bool mentions(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  const bool there = text.find(part) != std::string::npos;
  CHECK(there);
  return there;
}

inline Task<> read_page(storage::PageStore& store, std::uint64_t page) {
  storage::AlignedBuffer buffer(store.shape().page_bytes);
  co_await store.read(page, buffer.span());
}
inline Task<> write_page(storage::PageStore& store, std::uint64_t page) {
  storage::AlignedBuffer buffer(store.shape().page_bytes);
  std::memset(buffer.data(), static_cast<int>(page + 1), buffer.size());
  co_await store.write(page, buffer.span());
}
inline Task<> open_store(Io& io, std::string path, std::uint64_t epoch, std::unique_ptr<storage::PageStore>& store) {
  store = co_await storage::PageStore::open(io, path, epoch);
}
inline Task<> create_store(Io& io, std::string path, storage::StoreShape shape, bool replace,
                           std::unique_ptr<storage::PageStore>& store) {
  store = co_await storage::PageStore::create(io, path, shape, replace);
}
inline Task<> look(Io& io, std::string path) {
  const storage::StoreSummary unused = co_await storage::PageStore::look(io, path);
}
inline Task<> check(Io& io, std::string path, storage::StoreReport& report) {
  report = co_await storage::check_store(io, path);
}

struct StoreFixture {
  StoreFixture() { StoreImage::make(loop, path); }
  std::string open_error(std::uint64_t epoch = storage::PageStore::kLatest) {
    store.reset();
    const auto failure = failure_of(loop, open_store(loop.io(), path, epoch, store));
    code = failure.code;
    return failure.text;
  }
  storage::StoreReport report() {
    storage::StoreReport found;
    loop.run(check(loop.io(), path, found));
    return found;
  }

  EventLoop loop;
  TemporaryFolder folder;
  std::string path = folder.file("home.0");
  std::unique_ptr<storage::PageStore> store;
  std::error_code code;
};

}  // namespace coracle::internals::test
