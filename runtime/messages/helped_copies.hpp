// HelpedCopies: messages between two processes that both copy, by the kernel: the receiver reads from the beginning,
// the sender writes from the end, chunk by chunk, so that each does what it finds time for, as in SharedCopy.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "runtime/job/copy_claims.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {

/// How such a message is cut, the same at both sides. Few and large: the kernel takes its time for each call (two
/// halves of 1 MiB were copied in half of the time of the whole, chunks of 32 KiB in longer than that).
class HelpedChunks {
 public:
  static constexpr std::size_t kBytesMin = 128 * 1024;  ///< Shorter ones are not worth the message that asks for help.

  explicit HelpedChunks(std::uint64_t bytes) noexcept : bytes_(bytes), chunk_bytes_(chunk_bytes(bytes)) {}

  std::uint64_t count() const noexcept { return (bytes_ + chunk_bytes_ - 1) / chunk_bytes_; }
  std::uint64_t offset(std::uint64_t chunk) const noexcept { return chunk * chunk_bytes_; }
  std::size_t bytes(std::uint64_t chunk) const noexcept { return std::min(chunk_bytes_, bytes_ - offset(chunk)); }

 private:
  static std::uint64_t chunk_bytes(std::uint64_t bytes) noexcept {
    constexpr std::uint64_t kPage = 4096;
    constexpr std::uint64_t kHalvedMax = 1 << 20;
    constexpr std::uint64_t kChunkBytesMax = 1 << 20;  // so that nobody waits long for the other's last one
    const std::uint64_t wanted = bytes <= kHalvedMax ? bytes / 2 : std::min(bytes / 4, kChunkBytesMax);
    return (std::max(wanted, bytes / CopyClaims::kChunksMax) / kPage + 1) * kPage;
  }

  std::uint64_t bytes_;
  std::uint64_t chunk_bytes_;
};

/// The receiver's: which of its CopyClaims are in use. Its thread only.
class HelpedCopies {
 public:
  explicit HelpedCopies(RankBlock& own) noexcept : own_(own) {}

  /// One copy, which ends before this does.
  class Copy {
   public:
    Copy(HelpedCopies& of, std::size_t place, std::uint64_t bytes) noexcept
        : of_(&of), place_(place), chunks_(bytes), number_(claims().begin(chunks_.count())) {}
    ~Copy() {
      if (of_ != nullptr) of_->in_use_ &= ~(std::uint64_t{1} << place_);
    }
    Copy(Copy&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)),
          place_(other.place_),
          chunks_(other.chunks_),
          number_(other.number_),
          own_(other.own_) {}
    Copy& operator=(Copy&&) = delete;

    /// For the sender: help_copy() wants it.
    std::uint64_t key() const noexcept { return std::uint64_t{number_} << 32 | place_; }
    /// The receiver's next chunk.
    std::optional<std::uint64_t> claim() noexcept {
      const std::optional<std::uint64_t> chunk = claims().claim_first();
      if (chunk) ++own_;
      return chunk;
    }
    /// So that the sender finds none any more.
    void withdraw() noexcept {
      while (claim().has_value()) {
      }
    }
    const HelpedChunks& chunks() const noexcept { return chunks_; }
    /// Once claim() has found nothing left: whether the sender has ended its part.
    bool complete() const noexcept { return own_ + claims().sent() == chunks_.count(); }
    /// Of the sender's part: an errno, or 0.
    int error() const noexcept { return claims().error(); }

   private:
    CopyClaims& claims() const noexcept { return of_->own_.copies[place_]; }

    HelpedCopies* of_;
    std::size_t place_;
    HelpedChunks chunks_;
    std::uint32_t number_;
    std::uint64_t own_ = 0;
  };

  /// Nothing while there are too many.
  std::optional<Copy> begin(std::uint64_t bytes) noexcept {
    const auto place = static_cast<std::size_t>(std::countr_one(in_use_));
    if (place >= own_.copies.size()) return std::nullopt;
    in_use_ |= std::uint64_t{1} << place;
    return Copy(*this, place, bytes);
  }

 private:
  static_assert(std::tuple_size_v<decltype(RankBlock::copies)> == 64);

  RankBlock& own_;
  std::uint64_t in_use_ = 0;  // a bit for each
};

/// Whether senders may write to this process: valgrind's memcheck sees no bytes that another process has written.
bool may_be_helped() noexcept;

/// The receiver's: reads, from `source` in the process `pid`, all chunks that the sender does not take. False: one
/// could not be read.
bool read_own_chunks(HelpedCopies::Copy& copy, pid_t pid, std::uint64_t source, std::span<std::byte> target) noexcept;

/// The sender's: writes one chunk of `source` to the receiver's `target` there. False: none is left, that copy is over,
/// or its receiver lost.
bool help_copy(RankBlock& receiver, std::uint64_t key, std::span<const std::byte> source,
               std::uint64_t target) noexcept;

}  // namespace coracle::internals
