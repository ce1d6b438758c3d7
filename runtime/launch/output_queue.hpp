// Output of ranks on its way through a launcher: OutputSink, which takes it, and OutputQueue, which writes it to a
// descriptor whenever that takes some, so that a slow reader does not stop the launcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/condition.hpp"
#include "runtime/core/io.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals {

enum class OutputStream : std::uint8_t { output, errors };

class OutputSink {
 public:
  virtual ~OutputSink() = default;
  /// What is written by one call stays together.
  virtual void write(OutputStream stream, std::span<const std::byte> bytes) = 0;
  /// Until there is room for more.
  virtual Task<> room() = 0;
  /// As far as is known, somebody reads it.
  virtual bool is_read(OutputStream) const noexcept { return true; }
};

class OutputQueue {
 public:
  /// `fd` is not owned and stays as it is: it is asked before each write.
  explicit OutputQueue(int fd) noexcept : fd_(fd) {}
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;

  /// Queues, and writes what can be written at once. What nobody can read any more is dropped.
  void write(std::span<const std::byte> bytes);
  /// Writes what waits whenever it can be; has no end.
  Task<> serve(Io& io);
  /// So much waits that no more should be queued.
  bool full() const noexcept { return bytes_.size() >= kBacklogMax; }
  /// Until it is not.
  Task<> room();
  /// A write has not failed yet.
  bool is_read() const noexcept { return is_read_; }
  /// Writes what waits, however long it takes.
  void finish();

 private:
  static constexpr std::size_t kBacklogMax = 1 << 20;

  void write_some();

  int fd_;
  std::vector<std::byte> bytes_;
  bool is_read_ = true;
  Condition changed_;
};

/// True when `event` (of poll) holds for `fd` now.
bool is_ready(int fd, short event) noexcept;

}  // namespace coracle::internals
