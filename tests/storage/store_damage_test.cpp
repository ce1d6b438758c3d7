// What a store says of files that are damaged, foreign, in use, or on devices that fail: the right error, and no harm
// to other pages.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "storage/store/store_format.hpp"
#include "tests/storage/fake_disk.hpp"
#include "tests/storage/store_fixture.hpp"

namespace store_damage_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::storage;
using namespace coracle::internals::test;

TEST_CASE_FIXTURE(StoreFixture, "store: a damaged page is told by its number and no other page is affected") {
  StoreImage image(path);
  image.flip(image.plan.slot_at(image.latest_slot(5)) + 1000);
  image.save();
  CHECK(open_error() == "");
  const auto failure = failure_of(loop, read_page(*store, 5));
  CHECK(failure.code == Errc::page_damaged);
  mentions(failure.text, "page 5 of " + path);
  for (const std::uint64_t page : {0U, 4U, 6U}) CHECK(failure_of(loop, read_page(*store, page)).text == "");
  loop.run(store->close());
  const StoreReport found = report();
  REQUIRE(found.faults.size() >= 1);
  CHECK(found.faults[0].page == 5);
  // Written anew, it is well again.
  CHECK(open_error() == "");
  loop.run(write_page(*store, 5));
  CHECK(failure_of(loop, read_page(*store, 5)).text == "");
  loop.run(store->flush());
  loop.run(store->close());
}

TEST_CASE_FIXTURE(StoreFixture, "store: one copy of the superblock is enough and the check tells of the other") {
  StoreImage image(path);
  image.flip(StorePlan::superblock_at(0) + 100);
  image.save();
  CHECK(open_error() == "");
  loop.run(store->close());
  REQUIRE(report().faults.size() == 1);
  mentions(report().faults[0].what, "copy 0 of the superblock");
}

TEST_CASE_FIXTURE(StoreFixture, "store: with its page table damaged the checkpoints can still be gone back to") {
  StoreImage image(path);
  REQUIRE(image.manifest().base != image.manifest().checkpoints[0].table);
  image.flip(image.plan.table_at(image.manifest().base.place) + 200);
  image.save();
  mentions(open_error(), "the page table, block 0");
  CHECK(code == Errc::page_damaged);
  CHECK(!report().faults.empty());
  CHECK(open_error(image.manifest().checkpoints[0].info.epoch) == "");
  CHECK(failure_of(loop, read_page(*store, 5)).text == "");
  loop.run(store->flush());
  loop.run(store->close());
  CHECK(report().faults.empty());
}

TEST_CASE_FIXTURE(StoreFixture, "store: a lost newest manifest is not taken for an older state") {
  StoreImage image(path);
  image.flip(StorePlan::manifest_at(image.manifest_which()) + 50);
  image.save();
  mentions(open_error(), "newest manifest is lost");
  mentions(report().faults.front().what, "newest manifest is lost");
}

TEST_CASE_FIXTURE(StoreFixture,
                  "store: a page that rots after its flush has returned is an error and not an older page") {
  loop.run(open_store(loop.io(), path, PageStore::kLatest, store));
  loop.run(write_page(*store, 3));
  loop.run(store->flush());
  loop.run(store->close());
  StoreImage image(path);
  image.flip(image.plan.slot_at(image.latest_slot(3)) + 8);
  image.save();
  CHECK(open_error() == "");
  CHECK(failure_of(loop, read_page(*store, 3)).code == Errc::page_damaged);
  loop.run(store->close());
}

namespace {

Task<> first_byte(PageStore& store, std::uint64_t page, int& value) {
  AlignedBuffer buffer(store.shape().page_bytes);
  co_await store.read(page, buffer.span());
  value = std::to_integer<int>(buffer.span()[0]);
}

}  // namespace

TEST_CASE_FIXTURE(StoreFixture, "store: a flush that one opening has taken for unfinished never comes back") {
  int value = 0;
  const StoreImage before(path);
  loop.run(open_store(loop.io(), path, PageStore::kLatest, store));
  loop.run(write_page(*store, 3));
  loop.run(store->flush());
  loop.run(store->close());
  // As a crash leaves it: the log is there, and nothing says that the flush had returned. The page can't be read well.
  StoreImage image(path);
  const auto mark = std::span(before.bytes).subspan(StorePlan::mark_at(), kBlockBytes);
  std::copy(mark.begin(), mark.end(), image.bytes.begin() + StorePlan::mark_at());
  const std::uint64_t place = image.plan.slot_at(image.latest_slot(3)) + 8;
  image.flip(place);
  image.save();
  CHECK(open_error() == "");
  loop.run(first_byte(*store, 3, value));
  CHECK(value == 2);
  loop.run(store->close());
  // What was read once stays, also when the device gives the page whole after all.
  StoreImage well(path);
  well.flip(place);
  well.save();
  CHECK(open_error() == "");
  loop.run(first_byte(*store, 3, value));
  CHECK(value == 2);
  loop.run(store->close());
}

TEST_CASE_FIXTURE(StoreFixture, "store: files that are none or in use or there already are refused with the reason") {
  CHECK(open_error() == "");
  std::unique_ptr<PageStore> second;
  mentions(failure_of(loop, open_store(loop.io(), path, PageStore::kLatest, second)).text, "is in use");
  StoreReport unused;
  mentions(failure_of(loop, check(loop.io(), path, unused)).text, "is in use");
  const StoreShape shape = store->shape();
  mentions(failure_of(loop, create_store(loop.io(), path, shape, false, second)).text, "exists already");
  mentions(failure_of(loop, create_store(loop.io(), path, shape, true, second)).text, "is in use");
  mentions(failure_of(loop, open_store(loop.io(), folder.file("none"), PageStore::kLatest, second)).text,
           "No such file or directory");
  mentions(failure_of(loop, open_store(loop.io(), "/dev/null", PageStore::kLatest, second)).text,
           "/dev/null is not a file but a device");
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  for (const char* name : {"pipe", ""}) {
    const std::string odd = folder.file(name);
    const std::string words = odd + " is not a file but " + (*name == 'p' ? "a pipe" : "a folder");
    mentions(failure_of(loop, open_store(loop.io(), odd, PageStore::kLatest, second)).text, words);
    mentions(failure_of(loop, check(loop.io(), odd, unused)).text, words);
    mentions(failure_of(loop, create_store(loop.io(), odd, shape, true, second)).text, words);
  }
  loop.run(store->close());
  mentions(open_error(77), "has no checkpoint of epoch 77 (it has:");
  CHECK(code == Errc::bad_input);
  mentions(
      failure_of(loop, create_store(loop.io(), folder.file("odd"), StoreShape{.page_bytes = 5000}, false, second)).text,
      "pages are powers of two");
  REQUIRE(::truncate(path.c_str(), 100) == 0);
  mentions(open_error(), "is not a page store: it has only 100 bytes");
  REQUIRE(::truncate(path.c_str(), 0) == 0);
  REQUIRE(::truncate(path.c_str(), 1 << 20) == 0);
  mentions(open_error(), "is not a page store: it does not begin as one");
}

TEST_CASE_FIXTURE(StoreFixture, "store: a file that was cut short is told from one that is none") {
  REQUIRE(::truncate(path.c_str(), 40'000) == 0);
  mentions(open_error(), "was cut short");
  CHECK(code == Errc::page_damaged);
}

TEST_CASE("store: a full device fails the write alone and says what to do") {
  EventLoop loop;
  FakeDisk disk(1);
  loop.add_poller(disk);
  const TemporaryFolder folder;
  std::unique_ptr<PageStore> store;
  loop.run(create_store(disk, folder.file("home.0"), StoreShape{.page_bytes = 4096, .pages = 10}, false, store));
  loop.run(write_page(*store, 1));
  disk.faults.write_error = 1;
  std::string text;
  while (text.find("No space") == std::string::npos) {
    const auto failure = failure_of(loop, write_page(*store, 2));
    REQUIRE(failure.code);
    text = failure.text;
  }
  mentions(text, "writing page 2 of " + folder.file("home.0"));
  mentions(text, "make room on its file system");
  CHECK(store->empty(2));
  CHECK(failure_of(loop, store->flush()).code);
  disk.faults = {};
  CHECK(failure_of(loop, read_page(*store, 1)).text == "");
  CHECK(failure_of(loop, write_page(*store, 2)).text == "");
  CHECK(failure_of(loop, store->flush()).text == "");
  loop.run(store->close());
  loop.remove_poller(disk);
}

TEST_CASE("store: after a failed sync nothing more is promised and reads go on") {
  EventLoop loop;
  FakeDisk disk(2);
  loop.add_poller(disk);
  const TemporaryFolder folder;
  std::unique_ptr<PageStore> store;
  loop.run(create_store(disk, folder.file("home.0"), StoreShape{.page_bytes = 4096, .pages = 10}, false, store));
  loop.run(write_page(*store, 1));
  disk.faults.sync_error = 1;
  const auto first = failure_of(loop, store->flush());
  CHECK(first.code == std::errc::io_error);
  disk.faults = {};
  const std::uint64_t syncs = disk.syncs();
  mentions(failure_of(loop, store->flush()).text, "takes no more changes, because an earlier sync failed");
  mentions(failure_of(loop, write_page(*store, 2)).text, "takes no more changes");
  mentions(failure_of(loop, store->checkpoint("late", 1)).text, "takes no more changes");
  CHECK(disk.syncs() == syncs);
  CHECK(failure_of(loop, read_page(*store, 1)).text == "");
  loop.run(store->close());
  loop.remove_poller(disk);
}

}  // namespace store_damage_test
