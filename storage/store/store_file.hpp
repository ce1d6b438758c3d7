// StoreFile: the file below a store: its descriptor, its lock, its size, and whole transfers with errors that say what
// was tried and what to do. All transfers go through Io, which is where tests put a device that fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/core/io.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals::storage {

/// What a file is called while it is not yet a whole store: its path and this.
inline constexpr const char* kUnfinished = ".new";

/// Movable until the first transfer. Closes (and thereby unlocks) when it ends.
class StoreFile {
 public:
  /// create: a file that was not there. take_away: what an interrupted creation has left, to be removed; nothing that
  /// others have put there, be it a link to another file or a file of their own.
  enum class Use : std::uint8_t { create, write, check, take_away };

  /// O_DIRECT where the file system takes it. Never waits; throws Error, also for what is no regular file.
  StoreFile(Io& io, std::string path, Use use);
  /// First of all: locks it against other users (any number may check at once). Waits two seconds at most: what a
  /// killed process had in flight keeps its lock until it has landed, and its ring that kept the file does so for some
  /// 40 ms in any case. Throws Error.
  Task<> lock();
  /// Whether path() names this file, and (`alone`) no other name does.
  bool has_its_name(bool alone) const noexcept;
  StoreFile(StoreFile&& other) noexcept;
  StoreFile(const StoreFile&) = delete;
  StoreFile& operator=(const StoreFile&) = delete;
  ~StoreFile() { close(); }
  void close() noexcept;

  Io& io() const noexcept { return *io_; }
  int fd() const noexcept { return fd_; }
  const std::string& path() const noexcept { return path_; }
  bool direct() const noexcept { return direct_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

  /// Makes the file longer; what is added is zero and takes no space yet. Throws Error.
  void grow(std::uint64_t bytes);
  /// Throws Error (EFBIG) where the process may not write up to `end`: it would be killed for trying.
  void check_limit(std::uint64_t end) const;
  /// Takes space for the first `bytes`, where the file system can. Throws Error when there is none.
  void reserve(std::uint64_t bytes);
  /// Gives a file that was created under path() its final name. An existing one is refused unless `replace`.
  void rename(std::string path, bool replace);

  /// All of it, in pieces where the device is short. `what` is a noun for errors, "the log": a literal.
  Task<> read_all(std::byte* target, std::size_t bytes, std::uint64_t offset, const char* what);
  Task<> write_all(const std::byte* source, std::size_t bytes, std::uint64_t offset, const char* what);
  /// fdatasync.
  Task<> sync();
  /// The same for the folder that holds the file's name.
  Task<> sync_name();

  /// How far a transfer has come: under O_DIRECT, where the next piece can begin.
  std::size_t progress(std::size_t done) const noexcept { return direct_ ? done & ~std::size_t{511} : done; }
  /// "write of page 7 of /data/x.0 failed: No space left on device; make room there". `what`: "write of page 7".
  std::string describe(const std::string& what, std::error_code code) const;

 private:
  void open_file() noexcept;
  Task<> transfer_all(bool writing, std::byte* data, std::size_t bytes, std::uint64_t offset, const char* what);
  /// Another descriptor that goes with a file.
  StoreFile(const StoreFile& file, int fd) : io_(file.io_), path_(file.path_), fd_(fd) {}

  Io* io_;
  std::string path_;
  int fd_ = -1;
  bool kept_ = false;  // by io_
  Use use_ = Use::write;
  bool direct_ = true;
  std::uint64_t bytes_ = 0;
};

}  // namespace coracle::internals::storage
