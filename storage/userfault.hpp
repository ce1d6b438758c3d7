// Userfault: a window of virtual memory whose missing pages and first stores the kernel reports to a descriptor instead
// of serving them itself (userfaultfd).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/io.hpp"

namespace coracle::storage {

/// Whether windows can be had here, for `coracle info`.
IoSupport probe_userfaultfd();

/// All offsets and lengths are multiples of the kernel's page size. Functions that give an int give 0 or an errno.
class Userfault {
 public:
  enum class Refusal : std::uint8_t {
    poison,       ///< SIGBUS to whoever touches a refused page, where the kernel knows it (6.6); else as below.
    inaccessible  ///< SIGSEGV.
  };

  /// Reserves `bytes` of addresses; no memory is taken. Throws Error (unsupported, with reason and remedy; ENOMEM).
  explicit Userfault(std::size_t bytes, Refusal refusal = Refusal::poison);
  /// Unmaps the window; nobody may touch it any more.
  ~Userfault();
  Userfault(const Userfault&) = delete;
  Userfault& operator=(const Userfault&) = delete;

  int fd() const noexcept { return fd_; }
  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }

  struct Fault {
    std::size_t offset;
    std::uint32_t thread;  ///< Its number, as of gettid().
    bool writing;
    bool present;  ///< The page is there, but protected.
  };
  /// Takes what was reported, without waiting; the number of faults. Any thread.
  std::size_t take(std::span<Fault> faults) noexcept;
  /// Fills missing pages from `source`, protected against stores or not, and lets those who wait for them go on. After
  /// an error none of them is there.
  int fill(std::size_t offset, const std::byte* source, std::size_t bytes, bool protect) noexcept;
  /// Protects present pages against stores: when it returns, no store is under way.
  int protect(std::size_t offset, std::size_t bytes) noexcept;
  /// Allows stores, and lets those who wait go on.
  int unprotect(std::size_t offset, std::size_t bytes) noexcept;
  /// Those who wait look again. Any thread.
  void wake(std::size_t offset, std::size_t bytes) noexcept;
  /// The pages are missing again. Does not wake.
  void drop(std::size_t offset, std::size_t bytes) noexcept;
  /// From now on a signal is the answer to whoever touches these missing pages, and to those who wait for them. Until
  /// allow(). Any thread.
  int refuse(std::size_t offset, std::size_t bytes) noexcept;
  void allow(std::size_t offset, std::size_t bytes) noexcept;

 private:
  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_;
  bool poisons_ = false;
};

}  // namespace coracle::storage
