// Userfault: a window of virtual memory whose missing pages and first stores the kernel reports to a descriptor instead
// of serving them itself (userfaultfd).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/io.hpp"

namespace coracle::internals::storage {

inline constexpr std::size_t kHugePageBytes = 2 << 20;

/// Whether windows can be had here, for `coracle info`.
IoSupport probe_userfaultfd();

/// All offsets and lengths are multiples of the kernel's page size. Functions that give an int give 0 or an errno.
class Userfault {
 public:
  enum class Refusal : std::uint8_t {
    poison,       ///< SIGBUS to whoever touches a refused page, where the kernel knows it (6.6); else as below.
    inaccessible  ///< SIGSEGV.
  };

  /// Reserves `bytes` of addresses, and `beside` more for pages that are taken out; no memory is taken. Both begin at a
  /// huge page. Throws Error (unsupported, with reason and remedy; ENOMEM).
  explicit Userfault(std::size_t bytes, Refusal refusal = Refusal::poison, std::size_t beside = 0);
  /// Unmaps the window; nobody may touch it any more.
  ~Userfault();
  Userfault(const Userfault&) = delete;
  Userfault& operator=(const Userfault&) = delete;

  int fd() const noexcept { return fd_; }
  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// Whoever touches it where nothing was moved to waits for ever.
  std::byte* beside() const noexcept { return data_ + (reserved_ - beside_); }
  /// Whether the kernel moves pages (6.8).
  bool moves() const noexcept { return moves_; }

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
  /// Moves the memory of `source`, private and anonymous, to missing pages, which leaves none there. Does not wake.
  /// Stores succeed there at once. After an error none of the pages is there, and `source` has lost some of its memory.
  int move_in(std::size_t offset, std::byte* source, std::size_t bytes) noexcept;
  /// Moves pages of the window to a place in beside() without memory; they are missing then. After an error they are
  /// missing too, and nothing is at that place.
  int move_out(std::size_t offset, std::byte* target, std::size_t bytes) noexcept;
  /// Protects present pages against stores: when it returns, no store is under way.
  int protect(std::size_t offset, std::size_t bytes) noexcept;
  /// Allows stores, and lets those who wait go on.
  int unprotect(std::size_t offset, std::size_t bytes) noexcept;
  /// Those who wait look again. Any thread.
  void wake(std::size_t offset, std::size_t bytes) noexcept;
  /// The pages are missing again. Does not wake.
  void drop(std::size_t offset, std::size_t bytes) noexcept;
  void drop_all(std::span<const std::size_t> offsets, std::size_t bytes_each) noexcept;
  /// From now on a signal is the answer to whoever touches these missing pages, and to those who wait for them. Until
  /// allow(). Any thread.
  int refuse(std::size_t offset, std::size_t bytes) noexcept;
  void allow(std::size_t offset, std::size_t bytes) noexcept;

 private:
  /// All of it, or else nothing remains at the target.
  int move(std::byte* target, std::byte* source, std::size_t bytes) noexcept;

  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_;
  std::size_t beside_;
  std::size_t reserved_;
  bool poisons_ = false;
  bool moves_ = false;
};

}  // namespace coracle::internals::storage
