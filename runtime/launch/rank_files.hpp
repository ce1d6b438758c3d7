// The standard files of ranks, as the user wants them: a file for each rank's output, input for one of them or for all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/job/process.hpp"

namespace coracle::internals {

/// The name of a rank's file: `pattern` with the rank for %r, the node for %n and % for %%. Throws Error (bad_input)
/// for another word behind a %.
std::string output_file(const std::string& pattern, std::uint32_t rank, std::uint32_t node);

/// A copy of what is to be standard input, in a file, which each rank can read by itself.
class InputCopy {
 public:
  /// Throws Error.
  InputCopy();
  void add(std::span<const std::byte> bytes);
  /// All is there: it becomes this process's standard input.
  void install();

 private:
  FileDescriptor file_;
};

/// Makes this process's standard input a file: a copy of what a pipe or a terminal gives until its end, which is waited
/// for. Throws Error.
void spool_input();

/// Descriptors 0, 1 and 2 of a rank that is about to be started. Those opened here are closed with this object.
class RankFiles {
 public:
  /// `spawn` must outlive it.
  explicit RankFiles(SpawnOptions& spawn) noexcept : spawn_(spawn) {}

  /// Reads what this process's standard input, a file, has from here on, beside others who do.
  void read_copy_of_input();
  /// Writes both streams to a file, which is made anew, with its folders. Throws Error.
  void write_to(const std::string& path);
  void write_to(std::array<FileDescriptor, 2> streams);

 private:
  int keep(int fd);

  SpawnOptions& spawn_;
  std::vector<FileDescriptor> opened_;
};

}  // namespace coracle::internals
