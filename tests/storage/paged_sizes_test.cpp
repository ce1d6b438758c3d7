// Sizes, places and names of paged segments that can't be: too large for 64 bits, or cut short by the kernel.
#include <doctest/doctest.h>

#include <coracle/coracle.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/segment/paged_array.hpp"
#include "storage/store/page_store.hpp"
#include "tests/storage/mapped_job.hpp"
#include "tests/storage/store_image.hpp"
#include "tests/storage/temporary_folder.hpp"

namespace paged_sizes_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

constexpr std::uint64_t kMost = ~std::uint64_t{0};

struct Folder : test::TemporaryFolder {
  PagedOptions options(std::uint64_t bytes) const {
    PagedOptions options;
    options.path = file("pages");
    options.bytes = bytes;
    options.page_bytes = 4096;
    options.cache_bytes = 8 * 4096;
    return options;
  }
};

using Body = Task<> (*)(Rank&, Folder&);

void run_in_folder(Body body) {
  Folder folder;
  test::Job job;
  job.run(body(job.self, folder));
}

Task<> create_only(Rank& self, PagedOptions options) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  co_await segment.close();
}
Task<> open_only(Rank& self, PagedOptions options, std::string checkpoint) {
  PagedSegment segment = co_await PagedSegment::open(self.world(), options, checkpoint);
  co_await segment.close();
}

/// What is said of it when it fails with that code.
Task<std::string> words_of(Task<> task, std::error_code expected = make_error_code(Errc::bad_input)) {
  const Result<> result = co_await as_result(std::move(task));
  CHECK(result.code() == expected);
  co_return result.ok() ? std::string() : std::string(result.error().what());
}
Task<std::string> words_outside(Task<> task) {
  return words_of(std::move(task), make_error_code(Errc::out_of_segment));
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

Task<> sizes(Rank& self, Folder& in) {
  for (const std::uint64_t bytes : {kMost, kMost - 4095, kMost - 4096, (std::uint64_t{1} << 62) + 1}) {
    CAPTURE(bytes);
    has(co_await words_of(create_only(self, in.options(bytes))), "it may have at most 2^62 (PagedOptions::bytes)");
    PagedOptions modelled = in.options(bytes);
    modelled.model.emplace();
    has(co_await words_of(create_only(self, modelled)), "it may have at most 2^62");
    has(co_await words_of(open_only(self, in.options(bytes), "")), "it may have at most 2^62");
  }
  has(co_await words_of(create_only(self, in.options(std::uint64_t{1} << 62))), "a home has at most");
  PagedOptions options = in.options(std::uint64_t{1} << 60);
  options.cache_bytes = kMost;
  options.model.emplace();
  has(co_await words_of(create_only(self, options)), "it may hold at most 4294967294");
  CHECK(std::filesystem::is_empty(in.file("")));
}

Task<> places(Rank& self, Folder& in) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), in.options(64 * 4096));
  std::byte bytes[16] = {};
  has(co_await words_outside(as_task(segment.put(kMost - 7, bytes))),
      "bytes 18446744073709551608 to 18446744073709551615");
  has(co_await words_outside(as_task(segment.get(8, {bytes, kMost - 4}))), "outside the paged segment");
  const Layout later = Layout::structure({{1, 16, Layout::bytes(8)}});
  const Layout here = Layout::bytes(8);
  has(co_await words_outside(segment.put({bytes, here}, kMost - 7, later)), "at offset 18446744073709551608");
  has(co_await words_outside(segment.get(kMost - 7, later, 1, {bytes, here})), "at offset 18446744073709551608");
  segment.prefetch(0, kMost);
  segment.prefetch(kMost, kMost);
  co_await segment.close();
}

Task<> create_array(Rank& self, PagedOptions options, std::uint64_t count) {
  auto array = co_await PagedArray<std::uint64_t>::create(self.world(), options, count);
  co_await array.close();
}

Task<> elements(Rank& self, Folder& in) {
  using Array = PagedArray<std::uint64_t>;
  for (const std::uint64_t count : {std::uint64_t{1} << 61, (std::uint64_t{1} << 61) + 1, kMost})
    has(co_await words_of(create_array(self, in.options(0), count)), "it may have at most 2^62");
  auto array = co_await Array::create(self.world(), in.options(0), 1000);
  std::uint64_t words[2] = {1, 2};
  for (const std::uint64_t index : {std::uint64_t{1} << 61, (std::uint64_t{1} << 61) + 1, kMost}) {
    has(co_await words_outside(as_task(array.put(index, std::span<const std::uint64_t>(words)))), "outside");
    has(co_await words_outside(as_task(array.get(index, std::span(words)))), "outside");
  }
  std::size_t blocks = 0;
  const auto count_blocks = [&blocks](std::uint64_t, std::span<const std::uint64_t>) { ++blocks; };
  has(co_await words_outside(array.for_each_block(10, kMost - 4, count_blocks)), "lie outside the paged array");
  has(co_await words_outside(array.for_each_block(0, 1001, count_blocks)), "1001 elements from 0 on");
  CHECK(blocks == 0);
  co_await array.close();
}

Task<> names(Rank& self, Folder& in) {
  const std::string nul("one\0two", 7);
  PagedOptions cut = in.options(64 * 4096);
  cut.path += nul;
  has(co_await words_of(create_only(self, cut)), "has a NUL");
  CHECK(std::filesystem::is_empty(in.file("")));
  PagedSegment segment = co_await PagedSegment::create(self.world(), in.options(64 * 4096));
  has(co_await words_of(segment.checkpoint("")), "needs a name");
  has(co_await words_of(segment.checkpoint(nul)), "that begins \"one\" has a NUL (a zero byte) at place 3");
  has(co_await words_of(segment.checkpoint(std::string(256, 'x'))), "256 bytes; 255 are allowed");
  // And it goes on.
  const std::byte byte{7};
  co_await segment.put(9, std::span(&byte, 1));
  co_await segment.checkpoint(std::string(255, 'x'));
  co_await segment.close();
  has(co_await words_of(open_only(self, in.options(0), nul)), "has a NUL");
  has(co_await words_of(open_only(self, cut, "")), "has a NUL");
  PagedSegment again = co_await PagedSegment::open(self.world(), in.options(0), std::string(255, 'x'));
  std::byte seen{};
  co_await again.get(9, std::span(&seen, 1));
  CHECK(seen == byte);
  co_await again.close();
}

/// Under seals that fit.
void rewrite_superblock(const std::string& path, const storage::StoreShape& shape) {
  test::StoreImage image(path);
  std::string why;
  const storage::ConstBlockSpan first(image.bytes.data(), storage::kBlockBytes);
  std::optional<storage::Superblock> superblock = storage::read_superblock(first, why);
  REQUIRE(superblock.has_value());
  superblock->shape = shape;
  for (unsigned copy = 0; copy < 2; ++copy)
    storage::write_superblock(
        storage::BlockSpan(image.bytes.data() + storage::StorePlan::superblock_at(copy), storage::kBlockBytes),
        *superblock);
  image.save();
}

Task<> files(Rank& self, Folder& in) {
  const PagedOptions options = in.options(64 * 4096);
  co_await create_only(self, options);
  PagedOptions any = options;
  any.bytes = any.page_bytes = 0;
  for (const std::uint64_t bytes : {kMost, std::uint64_t{0}, std::uint64_t{63 * 4096}, std::uint64_t{64 * 4096 + 1}}) {
    CAPTURE(bytes);
    storage::StoreShape shape;
    shape.page_bytes = 4096;
    shape.pages = bytes == kMost ? 0 : 64;
    shape.segment_bytes = bytes;
    rewrite_superblock(options.path + ".0", shape);
    has(co_await words_of(open_only(self, any, ""), make_error_code(Errc::page_damaged)), "does not fit itself");
  }
}

Task<> name_modelled(storage::PageStore& store, std::string name) {
  co_await store.checkpoint(std::move(name), 1);
}

}  // namespace

TEST_CASE("paged segments larger than anything are refused in words") {
  run_in_folder(sizes);
}

TEST_CASE("places and lengths that wrap around lie outside a paged segment") {
  run_in_folder(places);
}

TEST_CASE("elements that wrap around lie outside a paged array") {
  run_in_folder(elements);
}

TEST_CASE("a file whose superblock says a segment that it can't be a home of is refused in words") {
  run_in_folder(files);
}

TEST_CASE("names of checkpoints and paths that nobody could find again are refused") {
  run_in_folder(names);
  EventLoop loop;
  storage::StoreShape shape;
  shape.page_bytes = 4096;
  const std::unique_ptr<storage::PageStore> modelled = storage::make_model_store(loop, SsdModel{}, shape);
  CHECK_THROWS_AS(loop.run(name_modelled(*modelled, "")), Error);
}

}  // namespace paged_sizes_test
