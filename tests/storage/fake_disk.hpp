// FakeDisk: a device below a store that keeps its content in memory, finishes requests in any order, fails as it is
// told and forgets at a crash what was not synced: of that, each sector of 512 bytes may have any of the versions
// since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "runtime/core/event_loop.hpp"
#include "runtime/core/io.hpp"

namespace coracle::internals::test {

/// How often things go wrong, each as a share of the requests.
struct DiskFaults {
  double read_error = 0;   ///< EIO
  double write_error = 0;  ///< EIO or ENOSPC; some sectors may have been written
  double sync_error = 0;   ///< EIO
  double short_transfer = 0;
  double bit_flip = 0;   ///< of what a read returns, not of what is there
  double lost_sync = 0;  ///< the device says that it has synced, and has not
};

/// The Io of a loop, of files that are real only by their name, lock and length. One file.
class FakeDisk final : public Io {
 public:
  static constexpr std::size_t kSectorBytes = 512;

  explicit FakeDisk(std::uint64_t seed) : random_(seed) {}

  DiskFaults faults;
  /// The power fails with that request from now; what comes later fails. 0: never.
  std::uint64_t crash_after = 0;
  bool crashed() const noexcept { return crashed_; }
  /// The write, or the sync, with that number from now fails. 0: none does.
  std::uint64_t fail_write_after = 0;
  std::uint64_t fail_sync_after = 0;
  /// No write finds room (ENOSPC).
  bool full = false;
  /// The power fails now, and whoever waits for requests is no more.
  void die() noexcept;
  /// After a crash: the device as it comes up again. `path`: the file, whose length may go back too.
  void power_on(const std::string& path);
  std::uint64_t syncs() const noexcept { return syncs_; }
  std::uint64_t requests() const noexcept { return requests_; }
  std::vector<std::byte>& content() noexcept { return seen_; }

  const char* name() const noexcept override { return "fake disk"; }
  std::size_t in_flight() const noexcept override { return queue_.size(); }
  void submit(IoRequest& request) noexcept override;
  void stop(IoRequest& request) noexcept override;
  void wake_on(int) override {}
  void forget(int) noexcept override {}
  void sleep(std::optional<std::uint64_t>) noexcept override {}
  bool poll() noexcept override;

 private:
  struct Queued {
    IoRequest* request;
    bool stopped;
    std::uint64_t submitted;
  };
  /// Bytes that a crash may forget.
  struct Version {
    std::uint64_t offset;
    std::vector<std::byte> bytes;
    std::uint64_t finished;
  };

  bool happens(double share) noexcept { return share > 0 && std::uniform_real_distribution<>()(random_) < share; }
  std::int64_t perform(const Queued& queued) noexcept;
  std::int64_t read(IoRequest& request) noexcept;
  std::int64_t write(IoRequest& request) noexcept;
  std::int64_t sync(const Queued& queued) noexcept;
  void write_some(const IoRequest& request, double share) noexcept;
  void store(std::vector<std::byte>& content, std::uint64_t offset, const std::byte* data, std::size_t bytes);
  void fail_power() noexcept;

  std::mt19937_64 random_;
  std::vector<Queued> queue_;
  std::vector<std::byte> seen_;
  std::vector<std::byte> durable_;
  std::vector<Version> versions_;
  std::uint64_t clock_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t syncs_ = 0;
  std::uint64_t synced_length_ = 0;
  bool crashed_ = false;
};

}  // namespace coracle::internals::test
