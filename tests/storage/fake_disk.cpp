#include "tests/storage/fake_disk.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace coracle::internals::test {
namespace {

std::uint64_t length_of(int fd) noexcept {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

/// Counts down to that one.
bool comes(std::uint64_t& left) noexcept {
  return left > 0 && --left == 0;
}

}  // namespace

void FakeDisk::submit(IoRequest& request) noexcept {
  ++requests_;
  queue_.push_back({&request, false, ++clock_});
}

void FakeDisk::stop(IoRequest& request) noexcept {
  for (Queued& each : queue_)
    if (each.request == &request) each.stopped = true;
}

/// Finishes one request, any of those there are.
bool FakeDisk::poll() noexcept {
  if (queue_.empty()) return false;
  const std::size_t index = random_() % queue_.size();
  const Queued queued = queue_[index];
  queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(index));
  if (!crashed_ && crash_after != 0 && --crash_after == 0) {
    queue_.push_back(queued);  // it is under way when the power fails, with all others
    fail_power();
    queue_.pop_back();
  }
  ++clock_;
  queued.request->finish(crashed_ ? -EIO : perform(queued));
  return true;
}

std::int64_t FakeDisk::perform(const Queued& queued) noexcept {
  IoRequest& request = *queued.request;
  if (queued.stopped && random_() % 2 == 0) {
    if (request.verb() == IoRequest::Verb::write) write_some(request, 0.5);
    return -ECANCELED;
  }
  switch (request.verb()) {
    case IoRequest::Verb::read:
      return read(request);
    case IoRequest::Verb::write:
      return write(request);
    default:
      return sync(queued);
  }
}

std::int64_t FakeDisk::read(IoRequest& request) noexcept {
  if (happens(faults.read_error)) return -EIO;
  const std::uint64_t length = length_of(request.fd());
  if (request.offset() >= length) return 0;
  std::size_t bytes = std::min<std::uint64_t>(request.bytes(), length - request.offset());
  if (happens(faults.short_transfer)) bytes = 1 + random_() % bytes;
  auto* target = static_cast<std::byte*>(request.buffer());
  std::memset(target, 0, bytes);
  if (request.offset() < seen_.size())
    std::memcpy(target, seen_.data() + request.offset(), std::min(bytes, seen_.size() - request.offset()));
  if (happens(faults.bit_flip)) target[random_() % bytes] ^= std::byte{4};
  return static_cast<std::int64_t>(bytes);
}

std::int64_t FakeDisk::write(IoRequest& request) noexcept {
  if (happens(faults.write_error) || comes(fail_write_after)) {
    write_some(request, 0.5);
    return random_() % 2 == 0 ? -EIO : -ENOSPC;
  }
  if (full) return -ENOSPC;
  std::size_t bytes = request.bytes();
  if (happens(faults.short_transfer)) bytes = 1 + random_() % bytes;
  const auto* source = static_cast<const std::byte*>(request.buffer());
  store(seen_, request.offset(), source, bytes);
  versions_.push_back({request.offset(), {source, source + bytes}, clock_});
  return static_cast<std::int64_t>(bytes);
}

std::int64_t FakeDisk::sync(const Queued& queued) noexcept {
  if (happens(faults.sync_error) || comes(fail_sync_after)) return -EIO;
  ++syncs_;
  if (happens(faults.lost_sync)) return 0;
  synced_length_ = std::max(synced_length_, length_of(queued.request->fd()));
  // Only what had finished before it was asked for.
  std::vector<Version> later;
  for (Version& each : versions_) {
    if (each.finished < queued.submitted) {
      store(durable_, each.offset, each.bytes.data(), each.bytes.size());
    } else {
      later.push_back(std::move(each));
    }
  }
  versions_ = std::move(later);
  return 0;
}

/// A write that does not finish well: each sector is there or not.
void FakeDisk::write_some(const IoRequest& request, double share) noexcept {
  const auto* source = static_cast<const std::byte*>(request.buffer());
  for (std::size_t at = 0; at < request.bytes(); at += kSectorBytes) {
    if (!happens(share)) continue;
    const std::size_t bytes = std::min(kSectorBytes, request.bytes() - at);
    store(seen_, request.offset() + at, source + at, bytes);
    versions_.push_back({request.offset() + at, {source + at, source + at + bytes}, clock_});
  }
}

void FakeDisk::store(std::vector<std::byte>& content, std::uint64_t offset, const std::byte* data, std::size_t bytes) {
  if (content.size() < offset + bytes) content.resize(offset + bytes);
  std::memcpy(content.data() + offset, data, bytes);
}

/// What is in flight may be on the device, wholly or in part, as may all that was not synced.
void FakeDisk::fail_power() noexcept {
  crashed_ = true;
  constexpr double kShares[] = {0, 0.1, 0.5, 0.9, 1};
  const double share = kShares[random_() % 5];
  for (const Queued& each : queue_)
    if (each.request->verb() == IoRequest::Verb::write) write_some(*each.request, 0.5);
  for (const Version& each : versions_) {
    for (std::size_t at = 0; at < each.bytes.size(); at += kSectorBytes)
      if (std::uniform_real_distribution<>()(random_) < share)
        store(durable_, each.offset + at, each.bytes.data() + at, std::min(kSectorBytes, each.bytes.size() - at));
  }
}

void FakeDisk::die() noexcept {
  if (!crashed_) fail_power();
  queue_.clear();
}

void FakeDisk::power_on(const std::string& path) {
  if (!queue_.empty()) throw std::logic_error("requests are still in flight");
  versions_.clear();
  if (random_() % 2 == 0) {
    if (::truncate(path.c_str(), static_cast<off_t>(synced_length_)) != 0) throw std::runtime_error("truncate");
    durable_.resize(std::min<std::size_t>(durable_.size(), synced_length_));
  }
  seen_ = durable_;
  crashed_ = false;
  crash_after = fail_write_after = fail_sync_after = 0;
  faults = {};
}

}  // namespace coracle::internals::test
