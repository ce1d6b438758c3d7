// Remote places: RemoteAddress, the typed Remote<T>, and Signal, a counter that is raised after data has landed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace coracle::internals {

/// A byte in some rank's memory. A plain value: it may be sent to other ranks.
struct RemoteAddress {
  static constexpr std::uint32_t kOwnSegment = 0;
  /// `offset` is an address in the rank's own address space. Within a node it is not checked against any bounds; other
  /// nodes may only read what is exposed (read_exposures.hpp). For the library's own use.
  static constexpr std::uint32_t kWholeMemory = 0xffffffff;
  /// Rank of no place: of a Remote that has not been given one. No job has so many ranks, so that every check of the
  /// rank refuses it.
  static constexpr std::uint32_t kNoRank = 0xffffffff;

  /// Whether its owner may withdraw it between a look at it and the next: exposed memory (and a GPU's). A segment stays
  /// as long as its rank, and what is exposed until it has been read.
  constexpr bool may_be_withdrawn() const noexcept { return segment != kOwnSegment && segment != kWholeMemory; }

  std::uint64_t offset;  ///< Bytes from the start of the segment; where slabs are tagged, also which (SlabTags).
  std::uint32_t rank;
  std::uint32_t segment;  ///< kOwnSegment, or which exposed memory (Rank::expose, ExposedMemory).
};

/// A typed place in a peer's segment, with the arithmetic of a pointer. A plain value of 16 bytes: it may be sent to
/// other ranks. It does not keep the memory alive: that is the affair of the Slab it came from.
template <class T>
class Remote {
 public:
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable types can be moved between ranks as bytes");
  using value_type = T;

  /// No place: whatever is done with it fails (Errc::no_such_peer) until a place is assigned.
  constexpr Remote() = default;
  constexpr explicit Remote(RemoteAddress address) : address_(address) {}

  constexpr const RemoteAddress& address() const noexcept { return address_; }
  constexpr std::uint32_t rank() const noexcept { return address_.rank; }
  /// Whether it has been given a place.
  constexpr bool is_set() const noexcept { return address_.rank != RemoteAddress::kNoRank; }
  /// The element `index` places further: outside every segment where that is more than 2^63 bytes.
  constexpr Remote operator+(std::ptrdiff_t index) const noexcept {
    return moved(index, static_cast<std::ptrdiff_t>(sizeof(T)));
  }
  constexpr Remote operator-(std::ptrdiff_t index) const noexcept {
    return moved(index, -static_cast<std::ptrdiff_t>(sizeof(T)));
  }
  /// The same place, seen as elements of U.
  template <class U>
  constexpr Remote<U> as() const noexcept {
    return Remote<U>(address_);
  }

 private:
  constexpr Remote moved(std::ptrdiff_t index, std::ptrdiff_t step) const noexcept {
    RemoteAddress there = address_;
    std::ptrdiff_t bytes = 0;
    if (__builtin_mul_overflow(index, step, &bytes))
      there.offset = ~std::uint64_t{0};  // else it would be a place nearby
    else
      there.offset += static_cast<std::uint64_t>(bytes);
    return Remote(there);
  }

  RemoteAddress address_{0, RemoteAddress::kNoRank, RemoteAddress::kOwnSegment};
};

/// A counter in a rank's segment. Peers raise it, mostly together with a put; its owner awaits a value
/// (`co_await self.wait(signal, 3)`). One cache line, so that signals don't disturb each other.
struct alignas(64) Signal {
  std::uint64_t count = 0;

  /// The count now; what was put before it was raised is visible afterwards. Owner of the memory only.
  std::uint64_t value() noexcept {
    // acquire: pairs with the raiser's fetch_add, which follows its copy.
    return std::atomic_ref<std::uint64_t>(count).load(std::memory_order_acquire);
  }
};

}  // namespace coracle::internals
