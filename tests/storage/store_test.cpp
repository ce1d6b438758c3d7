// PageStore on real files: what is written is read, survives closing, and errors say what and where.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "runtime/core/scope.hpp"
#include "storage/store/aligned_buffer.hpp"
#include "storage/store/checksum.hpp"
#include "storage/store/page_store.hpp"
#include "storage/store/store_format.hpp"
#include "tests/runtime/io_fixture.hpp"
#include "tests/storage/temporary_folder.hpp"

namespace store_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::storage;
using coracle::internals::test::LoopWith;
using coracle::internals::test::TemporaryFolder;

namespace {

using coracle::internals::test::Epoll;
using coracle::internals::test::Uring;

StoreShape shape_of(std::uint32_t page_bytes, std::uint64_t pages) {
  StoreShape shape;
  shape.page_bytes = page_bytes;
  shape.pages = pages;
  shape.home = 1;
  shape.homes = 3;
  shape.segment_bytes = 3 * pages * page_bytes;
  shape.distribution = 2;
  return shape;
}

/// A page's content is told by one number.
void fill(std::span<std::byte> bytes, std::uint64_t number) {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = number * 0x9e3779b97f4a7c15 + i;
    std::memcpy(bytes.data() + i, &word, 8);
  }
}
Task<> put(PageStore& store, std::uint64_t page, std::uint64_t number) {
  AlignedBuffer buffer(store.shape().page_bytes);
  fill(buffer.span(), number);
  co_await store.write(page, buffer.span());
}
/// 0: the page must be zero.
Task<> expect(PageStore& store, std::uint64_t page, std::uint64_t number) {
  AlignedBuffer buffer(store.shape().page_bytes);
  AlignedBuffer wanted(store.shape().page_bytes);
  if (number != 0) fill(wanted.span(), number);
  std::memset(buffer.data(), 0xee, buffer.size());
  co_await store.read(page, buffer.span());
  CAPTURE(page);
  CAPTURE(number);
  CHECK(std::memcmp(buffer.data(), wanted.data(), buffer.size()) == 0);
}

Task<> first_life(Io& io, std::string path, StoreShape shape) {
  auto store = co_await PageStore::create(io, path, shape);
  CHECK(store->empty(3));
  co_await expect(*store, 3, 0);
  for (std::uint64_t page = 0; page < shape.pages; page += 2) co_await put(*store, page, 100 + page);
  for (std::uint64_t page = 0; page < shape.pages; page += 4) co_await put(*store, page, 200 + page);
  CHECK(!store->empty(2));
  co_await expect(*store, 2, 102);
  co_await store->flush();
  co_await put(*store, 2, 1002);
  co_await store->flush();
  co_await store->close();
}
Task<> second_life(Io& io, std::string path, StoreShape shape) {
  auto store = co_await PageStore::open(io, path);
  CHECK(store->shape().page_bytes == shape.page_bytes);
  CHECK(store->shape().pages == shape.pages);
  CHECK(store->shape().home == 1);
  CHECK(store->shape().homes == 3);
  CHECK(store->shape().segment_bytes == shape.segment_bytes);
  CHECK(store->shape().distribution == 2);
  CHECK(store->checkpoints().empty());
  for (std::uint64_t page = 0; page < shape.pages; ++page)
    co_await expect(*store, page, page == 2 ? 1002 : page % 4 == 0 ? 200 + page : page % 2 == 0 ? 100 + page : 0);
  co_await store->close();
  const StoreReport report = co_await check_store(io, path);
  CHECK(report.faults.empty());
  CHECK(report.pages_written == (shape.pages + 1) / 2);
  CHECK(report.pages_checked == report.pages_written);
}

Task<> checkpoints(Io& io, std::string path) {
  auto store = co_await PageStore::create(io, path, shape_of(4096, 600));
  for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) {
    for (std::uint64_t page = epoch; page < 600; page += 3) co_await put(*store, page, epoch * 1000 + page);
    co_await store->checkpoint("number " + std::to_string(epoch), epoch);
    CHECK(store->checkpoints().back().epoch == epoch);
    CHECK(store->checkpoints().size() == std::min<std::size_t>(epoch, 2));
    if (epoch < 5) store->confirm(epoch);
  }
  co_await put(*store, 7, 77);
  co_await store->flush();
  co_await put(*store, 8, 88);
  co_await store->close();
  StoreReport report = co_await check_store(io, path);
  CHECK(report.faults.empty());
  CHECK(report.checkpoints.size() == 2);

  store = co_await PageStore::open(io, path);
  co_await expect(*store, 7, 77);
  co_await expect(*store, 8, 5008);
  CHECK(store->checkpoints()[0].name == "number 4");
  CHECK(store->checkpoints()[1].name == "number 5");
  co_await store->close();

  store = co_await PageStore::open(io, path, 4);
  co_await expect(*store, 7, 4007);
  co_await expect(*store, 8, 2008);
  CHECK(store->checkpoints().size() == 1);
  co_await put(*store, 9, 99);
  co_await store->close();
  store = co_await PageStore::open(io, path, 5);  // nothing was committed after going back: epoch 5 is still there
  co_await expect(*store, 8, 5008);
  co_await store->close();
  store = co_await PageStore::open(io, path, 4);
  co_await put(*store, 9, 99);
  co_await store->flush();
  co_await store->close();
  store = co_await PageStore::open(io, path);
  CHECK(store->checkpoints().size() == 1);
  co_await expect(*store, 7, 4007);
  co_await expect(*store, 9, 99);
  co_await store->checkpoint("another 5", 5);
  co_await store->close();
  report = co_await check_store(io, path);
  CHECK(report.faults.empty());
  CHECK(report.checkpoints[1].name == "another 5");
}

std::vector<std::uint64_t> epochs_of(const PageStore& store) {
  std::vector<std::uint64_t> epochs;
  for (const CheckpointInfo& each : store.checkpoints()) epochs.push_back(each.epoch);
  return epochs;
}

using Epochs = std::vector<std::uint64_t>;

Task<> unconfirmed_checkpoints(Io& io, std::string path) {
  auto store = co_await PageStore::create(io, path, shape_of(4096, 40));
  for (std::uint64_t epoch = 1; epoch <= 6; ++epoch) {
    for (std::uint64_t page = 0; page < 40; ++page) co_await put(*store, page, epoch * 100 + page);
    co_await store->checkpoint("kept", epoch);
    if (epoch == 2) store->confirm(2);
    CHECK(epochs_of(*store) == (epoch == 1 ? Epochs{1} : epoch == 2 ? Epochs{2} : Epochs{2, epoch}));
    if (epoch != 4) continue;
    co_await store->close();
    store = co_await PageStore::open(io, path);
    CHECK(epochs_of(*store) == Epochs{2, 4});
  }
  co_await store->close();
  StoreSummary summary = co_await PageStore::look(io, path);
  CHECK(summary.checkpoints.size() == 2);
  CHECK(summary.checkpoints[0].epoch == 2);
  store = co_await PageStore::open(io, path, 2);
  for (std::uint64_t page = 0; page < 40; ++page) co_await expect(*store, page, 200 + page);
  co_await store->go_back(7);
  CHECK(epochs_of(*store) == Epochs{2});
  co_await store->close();
  summary = co_await PageStore::look(io, path);
  CHECK(summary.checkpoints.size() == 1);
  CHECK(summary.back.times == 7);
  CHECK(summary.back.epoch == 2);
  store = co_await PageStore::open(io, path);
  for (std::uint64_t page = 0; page < 40; ++page) co_await expect(*store, page, 200 + page);
  co_await store->close();
}

}  // namespace

TEST_CASE_TEMPLATE("store: pages survive closing after a flush", BackEnd, Uring, Epoll) {
  if (!coracle::internals::test::can_run<BackEnd>()) return;
  LoopWith<BackEnd> with;
  for (const std::uint32_t page_bytes : {4096U, 65536U, 4U << 20}) {
    CAPTURE(page_bytes);
    const TemporaryFolder folder;
    const StoreShape shape = shape_of(page_bytes, page_bytes > 65536 ? 9 : 301);
    with.loop.run(first_life(with.io(), folder.file("home.1"), shape));
    with.loop.run(second_life(with.io(), folder.file("home.1"), shape));
  }
}

namespace {

/// What is verified when.
struct Arrivals final : ReadObserver {
  void arrived(const std::byte* target) noexcept override { targets.push_back(target); }
  std::vector<const std::byte*> targets;
};

Task<> count_turns(std::uint32_t& turns, const bool& stop) {
  while (!stop) {
    ++turns;
    co_await turn();
  }
}

Task<> read_and_note(PageStore& store, const Arrivals& arrivals, std::uint64_t page, std::span<std::byte> target,
                     const std::uint32_t& turn, std::vector<std::uint32_t>& turns) {
  co_await store.read(page, target);
  CHECK(std::ranges::count(arrivals.targets, target.data()) == 1);
  turns.push_back(turn);
}

Task<> read_all_and_note(Scope& scope, PageStore& store, const Arrivals& arrivals, AlignedBuffer& buffer,
                         std::vector<std::uint32_t>& turns) {
  PromiseBase& self = co_await this_coroutine();
  const std::size_t bytes = store.shape().page_bytes;
  std::uint32_t turn = 0;
  bool stop = false;
  scope.spawn(count_turns(turn, stop));
  {
    Scope reads(self.loop(), &scope);
    for (std::uint64_t page = 0; page < store.shape().pages; ++page)
      reads.spawn(read_and_note(store, arrivals, page, buffer.span().subspan(page * bytes, bytes), turn, turns));
    co_await reads.join();
  }
  stop = true;
  co_await coracle::internals::turn();  // in which it is seen, while it lives
  co_await coracle::internals::turn();
}

Task<> pages_come_over_many_turns(EventLoop& loop, std::string path) {
  constexpr std::uint64_t kPages = 24;
  std::unique_ptr<PageStore> store = co_await PageStore::create(loop.io(), path, shape_of(64 << 10, kPages));
  for (std::uint64_t page = 0; page < kPages; ++page) co_await put(*store, page, page + 1);
  Arrivals arrivals;
  store->observe(&arrivals);
  AlignedBuffer buffer(kPages * (64 << 10));
  std::vector<std::uint32_t> turns;
  co_await with_scope(read_all_and_note, std::ref(*store), std::cref(arrivals), std::ref(buffer), std::ref(turns));
  CHECK(arrivals.targets.size() == kPages);
  // However they came: no two of these pages were verified in one turn, so that others could run between.
  std::ranges::sort(turns);
  CHECK(std::ranges::adjacent_find(turns) == turns.end());
  store->observe(nullptr);
  co_await store->close();
}

}  // namespace

TEST_CASE_TEMPLATE("store: reads are told of before they are verified, and verified over many turns", BackEnd, Uring,
                   Epoll) {
  if (!coracle::internals::test::can_run<BackEnd>()) return;
  const TemporaryFolder folder;
  LoopWith<BackEnd> with;
  with.loop.run(pages_come_over_many_turns(with.loop, folder.file("pages")));
}

TEST_CASE("store: a checkpoint that was not confirmed is the one that the next replaces") {
  LoopWith<Epoll> with;
  const TemporaryFolder folder;
  with.loop.run(unconfirmed_checkpoints(with.io(), folder.file("home.1")));
}

TEST_CASE("store: the last two checkpoints can be gone back to and the first flush after makes that last") {
  LoopWith<Epoll> with;
  const TemporaryFolder folder;
  with.loop.run(checkpoints(with.io(), folder.file("home.1")));
}

}  // namespace store_test
