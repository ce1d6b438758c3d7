// The files of a segment's homes, by all members together: how they are made and opened, and which checkpoint all of
// them have.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "runtime/core/error.hpp"
#include "runtime/core/task.hpp"
#include "storage/options/page_map.hpp"
#include "storage/options/paged_options.hpp"
#include "storage/store/page_store.hpp"

namespace coracle::internals {
class Io;
class Rank;
class Team;
}  // namespace coracle::internals

namespace coracle::internals::storage {

/// Throws the failure of the first member that has one, with its code and words, at every member, so that nobody waits
/// in vain for one that could not go on. Collective. Throws Error (peer_lost) when a member is lost.
Task<> agree(Team& team, std::optional<Error> failure);

/// What a rank's home is on. One per rank (Rank::local).
struct HomeDevice {
  explicit HomeDevice(Rank&) noexcept {}
  Io* io = nullptr;  ///< Null: its loop's own.
};

/// What is to be done with the files.
struct OpenOptions {
  bool create;
  std::string checkpoint;  ///< To go back to; empty: none.
};

/// What all members have found.
struct OpenedHomes {
  StoreShape shape;
  std::uint64_t epoch = 0;           ///< The greatest that any home has used.
  std::unique_ptr<PageStore> store;  ///< Of the member that has a home.
  std::string created;               ///< The file that this member has made, "" if none.
};

/// Whether a member has a home, and which of how many.
struct HomeAssignment {
  bool taken = false;
  std::uint32_t home = 0;
  std::uint32_t homes = 0;
};

PageMap map_of(const StoreShape& shape) noexcept;

/// Makes or opens this member's home, if it has one. By name: the last checkpoint of that name that all homes have.
/// Without: what was flushed last; where a crash has come between some homes' going back and the others', these follow.
/// Collective. `opened` is filled as far as it comes. Throws Error, the same at every member.
Task<> open_homes(Team& team, PagedOptions options, OpenOptions open_options, HomeAssignment assignment,
                  OpenedHomes& opened);

/// What a member knows of the checkpoints of its segment.
struct KnownEpochs {
  bool home = false;  ///< Those who have none say only what comes next.
  std::uint64_t last = 0;
  std::uint32_t count = 0;
  std::array<std::uint64_t, 2> epochs{};  ///< That are whole in its home's file.

  bool has(std::uint64_t epoch) const noexcept;
};
/// Of this member. `store`: null where it has no home.
KnownEpochs known_epochs(const PageStore* store, std::uint64_t last);
/// The greatest that all homes have; 0: none.
std::uint64_t common_epoch(std::span<const KnownEpochs> all) noexcept;

/// Confirms the last checkpoint that all homes have, and gives the number of the next. Collective.
Task<std::uint64_t> next_epoch(Team& team, PageStore* store, std::uint64_t last);

}  // namespace coracle::internals::storage
