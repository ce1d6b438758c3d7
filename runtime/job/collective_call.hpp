// CollectiveCall: which collective a member has called, with what root and how many bytes, and where in the program;
// and CallRecord, in which the other local members find that. All members of a team must call the same ones in the same
// order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <string>

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

/// A call as it is told to others, in 32 bytes. The place is where the program's text of it lies, counted from the
/// start of the main program, which is the same in every rank; 0 for one in a shared library.
struct CallWords {
  std::uint64_t number;  ///< Of the collective on its team; 0: none.
  std::uint64_t digest;  ///< Of this and all earlier calls on the team, without their places.
  std::uint64_t what;    ///< Called << 56 | bytes
  std::uint32_t root;
  std::uint32_t place;

  static CallWords of(const CollectiveCall& call, std::uint64_t number, std::uint64_t digest_before) noexcept;
  /// "broadcast of 8 bytes from 1 (program.cpp:12)"
  std::string describe() const;
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
};
static_assert(sizeof(CallRecord) == 32);

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

}  // namespace coracle::internals
