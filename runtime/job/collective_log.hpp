// CollectiveLog: what a member has called on a team, and whether that is what the others have called. Collectives ask
// it by a signature, which goes with what members tell each other anyway: in the contributions of the node area, in the
// control of a round, in messages. Only when two signatures differ the calls themselves are looked at.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/job/collective_call.hpp"

namespace coracle::internals {

/// Of one member of one team; its rank's thread only, but for the records.
class CollectiveLog {
 public:
  static constexpr std::size_t kCalls = 64;  ///< The latest that are kept.
  using Records = std::array<CallRecord, kCalls>;

  /// 15 bits that depend on all that this member has called so far.
  static constexpr unsigned kSignatureBits = 15;
  static constexpr std::uint32_t signature_of(std::uint64_t digest) noexcept {
    return static_cast<std::uint32_t>(digest >> (64 - kSignatureBits));
  }

  /// `records`: in the member's part of the node area; they outlive this.
  void use(Records& records) noexcept { records_ = &records; }
  /// Begins a collective; gives its number.
  std::uint64_t begin(const CollectiveCall& call) noexcept;
  void end() noexcept {
    --under_way_;
    ++ended_;
  }

  std::uint64_t last_number() const noexcept { return number_; }
  /// Of the latest.
  std::uint32_t signature() const noexcept { return signature_of(digest_); }
  /// Of one of the latest kCalls; nothing for others.
  std::optional<std::uint32_t> signature_at(std::uint64_t number) const noexcept;
  /// What is kept, in no order.
  std::vector<CallWords> calls() const;
  static std::vector<CallWords> read(const Records& records);

  /// Whether somebody else's signature of collective `number`, which has come by a message, is this member's: if that
  /// has not begun it, begin() will tell, by `misheard()`.
  bool fits(std::uint64_t number, std::uint32_t signature, std::uint32_t rank) noexcept;
  /// A rank whose signature does not fit what this one has begun meanwhile; told once.
  std::optional<std::uint32_t> take_misheard() noexcept;

  /// Whether collectives are under way, and none has begun or ended since this was asked last.
  bool stands_still() noexcept;
  bool any_under_way() const noexcept { return under_way_ > 0; }

 private:
  struct Heard {
    std::uint64_t number = 0;
    std::uint32_t signature = 0;
    std::uint32_t rank = 0;
  };
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  Records* records_ = nullptr;
  std::uint64_t number_ = 0;
  std::uint64_t digest_ = 0;
  std::uint64_t under_way_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t seen_ = ~std::uint64_t{0};
  std::uint32_t misheard_ = kNobody;
  std::array<Heard, 8> heard_{};  // of collectives to come: by number, the first for each
};

}  // namespace coracle::internals
