#include "tests/storage/store_image.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "runtime/core/io.hpp"
#include "storage/store/aligned_buffer.hpp"
#include "storage/store/checksum.hpp"
#include "storage/store/page_store.hpp"

namespace coracle::internals::test {
namespace {

using namespace storage;

constexpr std::uint64_t kImagePages = 40;

Task<> put(PageStore& store, std::uint64_t page, int value) {
  AlignedBuffer buffer(store.shape().page_bytes);
  std::memset(buffer.data(), value, buffer.size());
  co_await store.write(page, buffer.span());
}

Task<> make_image(Io& io, std::string path) {
  StoreShape shape;
  shape.page_bytes = 4096;
  shape.pages = kImagePages;
  shape.segment_bytes = kImagePages * 4096;
  auto store = co_await PageStore::create(io, path, shape);
  for (std::uint64_t page = 0; page < kImagePages; page += 2) co_await put(*store, page, 1);
  co_await store->checkpoint("first", 1);
  for (std::uint64_t page = 0; page < kImagePages; page += 3) co_await put(*store, page, 2);
  co_await put(*store, 5, 2);
  co_await store->checkpoint("second", 2);
  for (int flush = 0; flush < 18; ++flush) {
    co_await put(*store, 4, 3 + flush);
    co_await put(*store, 5, 3 + flush);
    co_await store->flush();
  }
  co_await store->close();
}

ConstBlockSpan block_of(const std::vector<std::byte>& bytes, std::uint64_t offset) {
  return ConstBlockSpan(bytes.data() + offset, kBlockBytes);
}

}  // namespace

void StoreImage::make(EventLoop& loop, const std::string& path) {
  loop.run(make_image(loop.io(), path));
}

StoreImage::StoreImage(const std::string& file) : path(file), bytes(load(file)), plan(superblock()) {}

std::vector<std::byte> StoreImage::load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

void StoreImage::save() const {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("can't write " + path);
}

Superblock StoreImage::superblock() const {
  std::string why;
  const auto found = read_superblock(block_of(bytes, 0), why);
  if (!found) throw std::runtime_error(why);
  return *found;
}

unsigned StoreImage::manifest_which() const {
  const auto first = read_manifest(block_of(bytes, StorePlan::manifest_at(0)), plan.file_id);
  const auto second = read_manifest(block_of(bytes, StorePlan::manifest_at(1)), plan.file_id);
  return first && (!second || first->sequence > second->sequence) ? 0 : 1;
}

Manifest StoreImage::manifest() const {
  return *read_manifest(block_of(bytes, StorePlan::manifest_at(manifest_which())), plan.file_id);
}

std::uint64_t StoreImage::latest_slot(std::uint64_t page) const {
  const TablePlace base = manifest().base;
  std::vector<PageEntry> table(plan.pages);
  const std::uint64_t index = page / kEntriesPerBlock;
  read_table_block(block_of(bytes, plan.table_at(base.place) + index * kBlockBytes), plan.file_id, base.generation,
                   index, std::span(table).subspan(index * kEntriesPerBlock));
  const auto log = std::span(bytes).subspan(StorePlan::log_at(), plan.log_bytes);
  for (const LogGroup& group : parse_log(log, plan, base.generation).groups)
    for (const LogEntry& each : group.entries) table[each.page] = each.entry;
  return table[page].slot();
}

void StoreImage::seal(std::uint64_t offset, const StoreImage& good) {
  std::uint64_t seed = plan.file_id;
  if (offset < StorePlan::manifest_at(0)) seed = 0;
  if (offset >= StorePlan::log_at() && offset < plan.table_at(0)) {
    seed = first_log_seal(plan.file_id, good.manifest().base.generation);
    if (offset > StorePlan::log_at()) std::memcpy(&seed, bytes.data() + offset - kBlockBytes, sizeof seed);
  } else if (offset >= plan.table_at(0) && offset < plan.data_at) {
    std::uint64_t generation = 0;
    std::memcpy(&generation, bytes.data() + offset + 8, sizeof generation);
    seed = table_seed(plan.file_id, generation, (offset - plan.table_at(0)) % plan.table_bytes / kBlockBytes);
  }
  const std::uint64_t sum = checksum(bytes.data() + offset + 8, kBlockBytes - 8, seed);
  std::memcpy(bytes.data() + offset, &sum, sizeof sum);
}

}  // namespace coracle::internals::test
