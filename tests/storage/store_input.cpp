#include "tests/storage/store_input.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/core/error.hpp"
#include "runtime/core/io.hpp"
#include "storage/store/aligned_buffer.hpp"
#include "storage/store/page_store.hpp"

namespace coracle::internals::test {
namespace {

using namespace storage;

constexpr std::size_t kEditBytes = 12;

Task<> use_file(Io& io, std::string path, std::uint64_t epoch) {
  auto store = co_await PageStore::open(io, path, epoch);
  AlignedBuffer buffer(store->shape().page_bytes);
  for (std::uint64_t page = 0; page < std::min<std::uint64_t>(store->shape().pages, 64); ++page) {
    try {
      co_await store->read(page, buffer.span());
    } catch (const Error&) {
      continue;
    }
  }
  if (store->shape().pages > 0) co_await store->write(0, buffer.span());
  co_await store->flush();
  co_await store->close();
}

Task<> check_and_use(Io& io, std::string path) {
  std::uint64_t epoch = PageStore::kLatest;
  try {
    const StoreReport report = co_await check_store(io, path);
    if (!report.checkpoints.empty()) epoch = report.checkpoints.front().epoch;
  } catch (const Error&) {
    epoch = 1;
  }
  for (const std::uint64_t each : {PageStore::kLatest, epoch}) {
    try {
      co_await use_file(io, path, each);
    } catch (const Error&) {
      continue;
    }
  }
}

}  // namespace

void take_store_input(EventLoop& loop, const StoreImage& image, const std::string& path,
                      std::span<const std::byte> input) {
  if (input.empty()) return;
  const bool sealed = (std::to_integer<unsigned>(input[0]) & 1) != 0;
  input = input.subspan(1);
  StoreImage edited(image);
  edited.path = path;
  std::vector<std::uint64_t> blocks;
  for (; input.size() >= kEditBytes; input = input.subspan(kEditBytes)) {
    const std::uint64_t block =
        (std::to_integer<std::uint64_t>(input[0]) | std::to_integer<std::uint64_t>(input[1]) << 8) %
        (edited.plan.data_at / kBlockBytes);
    const std::uint64_t word =
        (std::to_integer<std::uint64_t>(input[2]) | std::to_integer<std::uint64_t>(input[3]) << 8) %
        (kBlockBytes / 4 - 1);
    std::memcpy(edited.bytes.data() + block * kBlockBytes + word * 4, input.data() + 4, 8);
    blocks.push_back(block);
  }
  std::sort(blocks.begin(), blocks.end());
  if (sealed)
    for (const std::uint64_t block : blocks) edited.seal(block * kBlockBytes, image);
  edited.save();
  loop.run(check_and_use(loop.io(), path));
}

}  // namespace coracle::internals::test
