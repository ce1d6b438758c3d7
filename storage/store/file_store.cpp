// Reading, writing and closing; StoreCommits has flushes and checkpoints, store_open.cpp what comes before.
#include "storage/store/file_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "storage/store/checksum.hpp"

namespace coracle::internals::storage {
namespace {

constexpr std::uint64_t kGrowthBytesMax = 1 << 30;
constexpr std::uint64_t kGrowthSlotsMin = 64;

}  // namespace

/// A slot for a page that is being written; given back unless it is used.
class FileStore::Claim {
 public:
  explicit Claim(FileStore& store) : store_(store), slot_(store.slots_.take()) {
    if (slot_ != SlotMap::kNone) return;
    store.add_slots_to_file();
    slot_ = store.slots_.take();
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() {
    if (slot_ != SlotMap::kNone) store_.slots_.give_back(slot_);
  }
  std::uint64_t slot() const noexcept { return slot_; }
  void use() noexcept { slot_ = SlotMap::kNone; }

 private:
  FileStore& store_;
  std::uint64_t slot_;
};

FileStore::FileStore(StoreFile file, const Superblock& superblock, LoadedManifest loaded)
    : file_(std::move(file)),
      shape_(superblock.shape),
      plan_(superblock),
      commits_(file_, plan_, table_, slots_, std::move(loaded)) {
  slots_.widen(plan_.slots_in(file_.bytes()));
}

FileStore::~FileStore() {
  CORACLE_ASSERT(calls_ == 0, "{} ended with {} calls under way", path(), calls_);
}

void FileStore::check_call(std::uint64_t page, const std::byte* data, std::size_t bytes) const {
  CORACLE_ASSERT(page < plan_.pages, "page {} of {}, which has {}", page, path(), plan_.pages);
  CORACLE_ASSERT(bytes == plan_.page_bytes, "{} bytes for a page of {}", bytes, plan_.page_bytes);
  CORACLE_ASSERT(reinterpret_cast<std::uintptr_t>(data) % AlignedBuffer::kAlignment == 0,
                 "a page's buffer is not at a multiple of {}", AlignedBuffer::kAlignment);
  CORACLE_ASSERT(!commits_.checkpointing(), "a page of {} was used beside a checkpoint", path());
}

Error FileStore::page_error(const char* verb, std::uint64_t page, std::error_code code) const {
  return {code, file_.describe(fmt::format("{} page {}", verb, page), code)};
}

/// Where a transfer goes on after `count` more bytes. Throws where it does not get on.
std::size_t FileStore::advanced(std::size_t done, std::size_t count, const char* verb, std::uint64_t page) const {
  const std::size_t next = file_.progress(done + count);
  if (next > done) return next;
  const auto code = std::make_error_code(std::errc::io_error);
  throw Error(code, file_.describe(fmt::format("{} page {} (only {} of {} bytes went)", verb, page, done + count,
                                               plan_.page_bytes),
                                   code));
}

void FileStore::add_slots_to_file() {
  const std::uint64_t slots = slots_.slots();
  const std::uint64_t most = std::max(kGrowthBytesMax / plan_.page_bytes, kGrowthSlotsMin);
  const std::uint64_t more = slots + std::clamp(slots / 8, kGrowthSlotsMin, most);
  file_.grow(plan_.slot_at(more));
  slots_.widen(more);
}

/// Devices tend to complete many reads at once, and are idle then. What these lead to (the next reads) must reach the
/// device before their checksums are computed: so not in this turn of the loop, and only some bytes' in each.
Task<> FileStore::turn_to_verify(std::size_t bytes) {
  constexpr std::size_t kBytesPerTurn = 64 << 10;
  const std::uint64_t place = arrived_++;
  // Whoever waits is queued again in each turn, in the same order.
  do co_await turn();
  while (place != verified_);
  if (verified_bytes_ >= kBytesPerTurn) {
    verified_bytes_ = 0;
    co_await turn();
  }
  verified_bytes_ += bytes;
  ++verified_;
}

Task<> FileStore::read(std::uint64_t page, std::span<std::byte> target) {
  const Call call(*this);
  check_call(page, target.data(), target.size());
  const PageEntry entry = table_[page];
  if (entry.empty()) {
    std::memset(target.data(), 0, target.size());
    co_return;
  }
  const std::uint64_t offset = plan_.slot_at(entry.slot());
  // What comes wrong over the bus once may come right the second time.
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (std::size_t done = 0; done < target.size();) {
      std::size_t count = 0;
      try {
        count = co_await file_.io().read(file_.fd(), target.data() + done, target.size() - done, offset + done);
      } catch (const Error& error) {
        throw page_error("reading", page, error.code());
      }
      done = advanced(done, count, "reading", page);
    }
    tell_arrived(target.data());
    co_await turn_to_verify(target.size());
    if (checksum(target.data(), target.size()) == entry.checksum) co_return;
  }
  throw Error(Errc::page_damaged,
              fmt::format("page {} of {} does not match its checksum, read twice: the device has lost or changed it; "
                          "go back to a checkpoint (`coracle pages check {}` tells what is damaged)",
                          page, path(), path()));
}

Task<> FileStore::write(std::uint64_t page, std::span<const std::byte> source) {
  const Call call(*this);
  check_call(page, source.data(), source.size());
  commits_.throw_if_broken();
  Claim claim(*this);
  file_.check_limit(plan_.slot_at(claim.slot() + 1));
  const PageEntry entry{claim.slot() + 1, checksum(source.data(), source.size())};
  const std::uint64_t offset = plan_.slot_at(claim.slot());
  for (std::size_t done = 0; done < source.size();) {
    std::size_t count = 0;
    try {
      count = co_await file_.io().write(file_.fd(), source.data() + done, source.size() - done, offset + done);
    } catch (const Error& error) {
      throw page_error("writing", page, error.code());
    }
    done = advanced(done, count, "writing", page);
  }
  claim.use();
  const PageEntry before = std::exchange(table_[page], entry);
  if (!before.empty()) slots_.give_back(before.slot());
  commits_.changed(page);
}

Task<> FileStore::flush() {
  const Call call(*this);
  co_await commits_.flush();
}

Task<> FileStore::checkpoint(std::string name, std::uint64_t epoch) {
  const Call call(*this);
  co_await commits_.checkpoint(std::move(name), epoch);
}

Task<> FileStore::go_back(std::uint64_t times) {
  const Call call(*this);
  co_await commits_.go_back(times);
}

Task<> FileStore::close() {
  CORACLE_ASSERT(!closing_, "{} was closed twice", path());
  closing_ = true;
  if (calls_ > 0) co_await uninterrupted(idle_);
  file_.close();
}

}  // namespace coracle::internals::storage
