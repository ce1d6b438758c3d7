// What members of a team have called: CollectiveCall, which collective with what root and how many bytes, and where in
// the program; CallRecord, in which the other local members find that; and CollectiveLog, whether what one member has
// called is what the others have. All members of a team must call the same ones in the same order.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace coracle::internals {

enum class Called : std::uint8_t {
  own,  ///< One that is not the library's.
  finalize,
  barrier,
  broadcast,
  reduce,
  all_reduce,
  reduce_scatter,
  scan,
  exclusive_scan,
  gather,
  gather_v,
  gather_all,
  scatter,
  scatter_v,
  all_to_all,
  all_to_all_v,
  split,
  end_,  // one past the last
};

const char* name_of(Called called) noexcept;

struct CollectiveCall {
  static constexpr std::uint32_t kNoRoot = ~std::uint32_t{0};
  /// Where members may give different sizes.
  static constexpr std::uint64_t kAnyBytes = (std::uint64_t{1} << 56) - 1;

  Called called = Called::own;
  std::uint64_t bytes = kAnyBytes;
  std::uint32_t root = kNoRoot;
  std::source_location where{};
};

/// The function of an interface (MPI) that the program is in, and where it has called it.
struct ProgramCall {
  const char* function = nullptr;  ///< In the library's own module; null: in none.
  const void* site = nullptr;      ///< What it returns to.
};

/// A call as it is told to others, in 40 bytes. Places are distances from the start of a module: of the
/// source location, in the library's or the main program; of the name of an interface's function, in the library's; of
/// the call's site, in the main program. They are the same in every rank of a program. 0 for what lies elsewhere.
struct CallWords {
  std::uint64_t number;  ///< Of the collective on its team; 0: none.
  std::uint64_t digest;  ///< Of this and all earlier calls on the team, without their places.
  std::uint64_t what;    ///< Called << 56 | bytes
  std::uint32_t root;
  std::uint32_t place;     ///< Of an interface's function: ProgramModule::digest of the program that has called it.
  std::uint32_t function;  ///< The name of the interface's function; 0: the program has called the library itself.
  std::uint32_t site;

  static CallWords of(const CollectiveCall& call, const ProgramCall& by, std::uint64_t number,
                      std::uint64_t digest_before) noexcept;
  /// "broadcast of 8 bytes from 1 (program.cpp:12)"
  std::string describe() const;
  /// The same without its place.
  std::string call_text() const;
  /// "program.cpp:12"; "" of what an interface's function has called.
  std::string place_text() const;
};

/// In memory that local members share. Written by its member alone.
class CallRecord {
 public:
  void write(const CallWords& words) noexcept;
  /// Nothing while it is written.
  std::optional<CallWords> read() const noexcept;
  CallWords own() const noexcept;

 private:
  std::atomic<std::uint64_t> number_{0};  // stored last; 0 meanwhile
  std::atomic<std::uint64_t> digest_{0};
  std::atomic<std::uint64_t> what_{0};
  std::atomic<std::uint32_t> root_{0};
  std::atomic<std::uint32_t> place_{0};
  std::atomic<std::uint32_t> function_{0};
  std::atomic<std::uint32_t> site_{0};
};
static_assert(sizeof(CallRecord) == 40);

/// The calls of one number that two members have made, and that differ.
struct CallDifference {
  CallWords here;
  CallWords there;
  /// What differs has been overwritten: only that something does is known.
  bool is_earlier;

  std::string describe(std::uint32_t rank_here, std::uint32_t rank_there) const;
};

/// Of two members' latest calls, in any order: the first that differ.
std::optional<CallDifference> first_difference(std::span<const CallWords> here, std::span<const CallWords> there);

/// What a member has called on a team, and whether that is what the others have called. Collectives ask it by a
/// signature, which goes with what members tell each other anyway: in the contributions of the node area, in the
/// control of a round, in messages. Only when two signatures differ the calls themselves are looked at. Of one member
/// of one team; its rank's thread only, but for the records.
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
  /// Begins a collective; gives its number. `by`: the function of an interface that has called it, if one has.
  std::uint64_t begin(const CollectiveCall& call, const ProgramCall& by = {}) noexcept;
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
