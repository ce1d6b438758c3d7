// LabelledOutput: what ranks write, line by line, each with the number of its rank before it (`coracle run --label`).
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/io.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/launch/output_queue.hpp"

namespace coracle::internals {

/// Puts "[rank] " before lines. Of bytes that come in any pieces it gives back the lines that have become whole.
class LineLabeller {
 public:
  /// A line that is longer is cut.
  static constexpr std::size_t kLineMax = 1 << 20;

  explicit LineLabeller(std::uint32_t rank);

  std::string take(std::string_view bytes);
  /// What has come without an end, as a line; or "".
  std::string rest();

 private:
  std::string label_;
  std::string begun_;  // a line that has no end yet, without its label
};

/// Both streams of a node's ranks. It takes no more from them while much waits for the reader. Once there is none,
/// ranks that write are told by SIGPIPE, as without labels.
class LabelledOutput {
 public:
  /// All must outlive it, and it outlives what is spawned into `services`.
  LabelledOutput(Io& io, Scope& services, OutputSink& sink) noexcept : io_(io), services_(services), sink_(sink) {}
  LabelledOutput(const LabelledOutput&) = delete;
  LabelledOutput& operator=(const LabelledOutput&) = delete;

  /// Descriptors 1 and 2 of a rank that is to be started. Throws Error where there are none left.
  std::array<FileDescriptor, 2> open(std::uint32_t rank);
  /// The rank for which they were opened last runs as `pid`.
  void started(pid_t pid) noexcept { ranks_.back()->pid = pid; }
  /// Process `pid` has ended: takes what it has left.
  void ended(pid_t pid);
  /// Takes what is there of all, and then lines without an end.
  void finish();

 private:
  struct Stream {
    Stream(std::uint32_t rank, OutputStream of) : kind(of), lines(rank) {}
    OutputStream kind;
    LineLabeller lines;
    FileDescriptor fd;  // reading end; none: it has come to its end
  };
  struct RankStreams {
    explicit RankStreams(std::uint32_t rank)
        : streams{Stream(rank, OutputStream::output), Stream(rank, OutputStream::errors)} {}
    pid_t pid = 0;
    std::array<Stream, 2> streams;
  };

  Task<> serve(Stream& stream);
  bool take_some(Stream& stream);
  void write(const Stream& stream, const std::string& lines);

  Io& io_;
  Scope& services_;
  OutputSink& sink_;
  std::vector<std::unique_ptr<RankStreams>> ranks_;
};

}  // namespace coracle::internals
