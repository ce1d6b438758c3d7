// Team: ordered ranks that act together. The collectives are declared here and live in collectives/, one file each.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <type_traits>
#include <vector>

#include "runtime/core/byte_counts.hpp"
#include "runtime/core/std_parts.hpp"
#include "runtime/core/task.hpp"
#include "runtime/job/collective_log.hpp"
#include "runtime/job/remote.hpp"
#include "runtime/job/slab.hpp"
#include "runtime/layout/layout.hpp"
#include "runtime/rank/peers.hpp"
#include "runtime/team/choices.hpp"
#include "runtime/team/envelope.hpp"
#include "runtime/team/in_place.hpp"
#include "runtime/team/team_core.hpp"

namespace coracle::internals {

class NodeArea;
class CollectiveWatchdog;
class MatchedMessage;
class Message;
template <class Byte>
class MessageMemory;
class Messages;
class PersistentRecv;
class PersistentSend;
class Rank;
class Receive;
class Send;
struct ScatteredSource;
struct ScatteredTarget;

/// Used by its own rank's thread. Every member must call the same collectives in the same order, with the same root and
/// size: else Error (bad_input) names both calls, at the latest in the next collective, and the team is broken. several
/// may be in flight at once (start them as tasks in that order). Buffers belong to the collective until it has
/// returned. `choice` and `algorithm`: how it goes, where that is not left to be chosen; the same everywhere.
///
/// A team that has lost a member is broken: once any of them has lost another, the collectives in progress and all
/// later ones fail with Errc::peer_lost at every member, whom the first to know tell. (One that is over here may have
/// failed elsewhere.)
///
/// So is a team of which a member has ended a collective early: by a time limit, a cancellation, or an exception of its
/// operation. The others wait for what it will never do, and its later collectives would be out of step with theirs:
/// they all fail with Errc::given_up, which names that member; its own one has thrown what ended it.
class Team final : private TeamCore {
 public:
  using TeamCore::broken;
  using TeamCore::has;
  using TeamCore::index;
  using TeamCore::member;
  using TeamCore::nodes;
  using TeamCore::rank;
  using TeamCore::size;
  /// Where a collective is called: for messages.
  using Where = std::source_location;

  /// All ranks of the job.
  explicit Team(Rank& rank);
  /// As all members have agreed, this rank among them. See NewTeam.
  Team(Rank& rank, TeamPlan plan);
  ~Team();
  /// What the members on this node share, for Round.
  NodeArea& node_area() noexcept { return *node_area_; }
  const NodeArea& node_area() const noexcept { return *node_area_; }
  /// What collectives know of this team; not for programs.
  TeamCore& core() noexcept { return *this; }
  const TeamCore& core() const noexcept { return *this; }

  /// Returns when every member has called it.
  Task<> barrier(Where where = Where::current());
  /// `data` of the member at `root` is copied into `data` of all others. The same size everywhere. It may lie on a GPU
  /// (see Gpu), at any of them. When that fails, Error (device_failed) is thrown here; at the root that breaks the
  /// team. All other collectives refuse a GPU's memory (Errc::unsupported), which breaks the team.
  ///
  /// A range with a name (a std::vector, std::string, std::array, an array of C) and a span go this way. Gives a
  /// Task<>, as all forms in place: `auto`, so that the compiler says first what is wrong with a range.
  template <detail::broadcast_in_place Range>
  auto broadcast(Range&& data, std::uint32_t root, BroadcastChoice choice = {}, Where where = Where::current());
  /// Gives the `value` of the member at `root`; those of others count only for their type, which is the same
  /// everywhere. Strings, vectors and what else travels with a call (travels.hpp) may be of any length at the root.
  /// Those must be temporaries here, `std::move(name)`, or const: else one with a name goes in place, as above.
  template <class Value>
    requires(!detail::broadcast_in_place<Value>)
  Task<std::decay_t<Value>> broadcast(Value&& value, std::uint32_t root, Where where = Where::current());
  /// Combines all members' values by `operation(T, T) -> T`, which must be associative, in the team's order (but see
  /// commutative()). A range (a std::vector, a std::array, a span and the like) is combined element by element, in
  /// place at `root`, and only read elsewhere: `auto` is Task<>. (An array that is to be one value goes in a struct.)
  /// Any other T is one value: `auto` is Task<T>, which gives the result at `root`, and the own value elsewhere.
  template <class Values, class Operation>
  auto reduce(Values&& values, Operation operation, std::uint32_t root, Algorithm algorithm = Algorithm::automatic,
              Where where = Where::current());
  /// The same result, to the bit, everywhere.
  template <class Values, class Operation>
  auto all_reduce(Values&& values, Operation operation, Algorithm algorithm = Algorithm::automatic,
                  Where where = Where::current());
  /// Of `values`, a block of `mine.size()` elements for each member, the sum of each member's block comes into `mine`.
  template <class T, class Operation>
  Task<> reduce_scatter(std::span<const std::type_identity_t<T>> values, std::span<T> mine, Operation operation,
                        Algorithm algorithm = Algorithm::automatic, Where where = Where::current());
  /// With blocks of `counts` elements, the same everywhere.
  template <class T, class Operation>
  Task<> reduce_scatter_v(std::span<const std::type_identity_t<T>> values, std::span<const std::size_t> counts,
                          std::span<T> mine, Operation operation, Algorithm algorithm = Algorithm::automatic,
                          Where where = Where::current());
  /// As all_reduce, of all members up to this one.
  template <class Values, class Operation>
  auto scan(Values&& values, Operation operation, Where where = Where::current());
  /// Of `first` and all members before this one.
  template <class Values, class Operation>
  auto exclusive_scan(Values&& values, Operation operation, detail::ReducedElement<Values> first,
                      Where where = Where::current());

  // What these only read must not be a temporary either, which is gone when a started collective reads it: those forms
  // are deleted, below.

  /// `mine` of every member, in the team's order, into `all` of `root` (elsewhere empty).
  template <class T>
  Task<> gather(std::span<const std::type_identity_t<T>> mine, std::span<T> all, std::uint32_t root,
                Algorithm algorithm = Algorithm::automatic, Where where = Where::current());
  /// Every member's value, in the team's order, at `root`; nothing elsewhere. Values as those of gather_all(T).
  template <class T>
  Task<std::vector<T>> gather(T value, std::uint32_t root, Where where = Where::current());
  /// With blocks of `counts` elements (at the root; elsewhere empty).
  template <class T>
  Task<> gather_v(std::span<const std::type_identity_t<T>> mine, std::span<T> all, std::span<const std::size_t> counts,
                  std::uint32_t root, Where where = Where::current());
  /// `mine` of every member into `all` of each. `mine` may be this member's own block of `all`.
  template <class T>
  Task<> gather_all(std::span<const std::type_identity_t<T>> mine, std::span<T> all,
                    Algorithm algorithm = Algorithm::automatic, Where where = Where::current());
  /// With blocks of `counts` elements, the same everywhere.
  template <class T>
  Task<> gather_all_v(std::span<const std::type_identity_t<T>> mine, std::span<T> all,
                      std::span<const std::size_t> counts, Algorithm algorithm = Algorithm::automatic,
                      Where where = Where::current());
  /// Every member's value, in the team's order. Strings, vectors and what else travels with a call (travels.hpp) may be
  /// of another length at each.
  template <class T>
  Task<std::vector<T>> gather_all(T value, Where where = Where::current());
  /// Of `all` of `root` (elsewhere empty), a block for each member, this member's block into `mine`.
  template <class T>
  Task<> scatter(std::span<const std::type_identity_t<T>> all, std::span<T> mine, std::uint32_t root,
                 Algorithm algorithm = Algorithm::automatic, Where where = Where::current());
  /// With blocks of `counts` elements (at the root; elsewhere empty).
  template <class T>
  Task<> scatter_v(std::span<const std::type_identity_t<T>> all, std::span<const std::size_t> counts, std::span<T> mine,
                   std::uint32_t root, Where where = Where::current());
  /// Of `source` and `target`, a block for each member: block i of `source` goes to member i, into its block for this.
  template <class T>
  Task<> all_to_all(std::span<const std::type_identity_t<T>> source, std::span<T> target,
                    Algorithm algorithm = Algorithm::automatic, Where where = Where::current());
  /// With blocks of `source_counts` and `target_counts` elements: what each member sends must be what its receiver
  /// expects.
  template <class T>
  Task<> all_to_all_v(std::span<const std::type_identity_t<T>> source, std::span<const std::size_t> source_counts,
                      std::span<T> target, std::span<const std::size_t> target_counts, Where where = Where::current());
  template <detail::owning_range Range, class... Others>
  Task<> reduce_scatter(const Range&& values, Others&&... others) = delete;
  template <detail::owning_range Range, class... Others>
  Task<> reduce_scatter_v(const Range&& values, Others&&... others) = delete;
  template <detail::owning_range Range, class T, class... Others>
  Task<> gather(const Range&& mine, std::span<T> all, Others&&... others) = delete;
  template <detail::owning_range Range, class T, class... Others>
  Task<> gather_v(const Range&& mine, std::span<T> all, Others&&... others) = delete;
  template <detail::owning_range Range, class T, class... Others>
  Task<> gather_all(const Range&& mine, std::span<T> all, Others&&... others) = delete;
  template <detail::owning_range Range, class T, class... Others>
  Task<> gather_all_v(const Range&& mine, std::span<T> all, Others&&... others) = delete;
  template <detail::owning_range Range, class T, class... Others>
  Task<> scatter(const Range&& all, std::span<T> mine, Others&&... others) = delete;
  template <detail::owning_range Range, class... Others>
  Task<> scatter_v(const Range&& all, Others&&... others) = delete;
  template <detail::owning_range Range, class T, class... Others>
  Task<> all_to_all(const Range&& source, std::span<T> target, Others&&... others) = delete;
  template <detail::owning_range Range, class... Others>
  Task<> all_to_all_v(const Range&& source, Others&&... others) = delete;
  /// Block i of scattered memory goes to member i. `source` and `target` are the blocks for and of member 0, each of
  /// `count` repetitions of its layout; each further one lies count * extent behind. All blocks of all members have the
  /// same number of bytes; their layouts may differ. Layouts must live, and memory of the two sides be apart, until it
  /// has returned. In one address space it goes straight from layout to layout.
  Task<> all_to_all(ScatteredSource source, ScatteredTarget target, Where where = Where::current());
  /// The same with a block for each member: what each member sends must be what its receiver expects.
  Task<> all_to_all_w(std::span<const ScatteredSource> sources, std::span<const ScatteredTarget> targets,
                      Where where = Where::current());
  /// Members with the same `color` form a new team, in the order of `key` (ties: of their index here); those with
  /// kNoTeam form none, and get null. Collective; any number may be in flight, of this team and others. Throws Error
  /// (no_buffer_space), and all is as before, when a member of the new team has no room in its segment.
  static constexpr std::uint32_t kNoTeam = ~std::uint32_t{0};
  Task<std::unique_ptr<Team>> split(std::uint32_t color, std::uint32_t key, Where where = Where::current());

  // --- tagged messages (runtime/messages/) ---
  //
  // Matched by team, source and tag; any number may be in flight (start() makes them nonblocking). Of the messages from
  // one member to another that a receive accepts, it gets the first that was sent; of the receives that accept a
  // message, it goes to the first that was posted. They have nothing to do with collectives, nor does a team that is
  // broken end them: only the loss of the member that they depend on does (Errc::peer_lost).
  //
  // Data and buffers are spans, ranges with a name, or scattered: `{origin, layout, count}`, whose layout must live as
  // long as the memory. The two sides of a message may lie differently: it goes in the packed order of both layouts,
  // and one that is shorter than its buffer fills the beginning of that.

  /// Sends `data` to the member at `to`. Returns when `data` may be reused: for short messages at once, else when it
  /// has been received. `tag`: anything but kAnyTag. Cancelled, it is withdrawn, unless it is being received. `data`
  /// may lie on a GPU (see Gpu); throws Error (device_failed) when that, or the receiver's, ends the copy.
  Send send(const MessageMemory<const std::byte>& data, std::uint32_t to, std::uint64_t tag = 0);
  template <std::ranges::contiguous_range Range>
    requires(!std::ranges::view<Range>)
  Send send(const Range& data, std::uint32_t to, std::uint64_t tag = 0);
  /// Not of a temporary, which could be gone before the message is: give it a name, or send_value() what is one value.
  template <detail::owning_range Range>
  Send send(const Range&& data, std::uint32_t to, std::uint64_t tag = 0) = delete;
  template <class T>
  Task<> send_value(T value, std::uint32_t to, std::uint64_t tag = 0);
  /// As send(), but returns only when a receive has taken the message, however short it is.
  Task<> send_synchronously(const MessageMemory<const std::byte>& data, std::uint32_t to, std::uint64_t tag = 0);
  /// Receives a message of the member at `from`, or kAnySource, with `tag`, or kAnyTag. The message may be shorter than
  /// `buffer`; for one that is longer it throws Error (truncated), and that message is gone. From kAnySource, the loss
  /// of any member is thrown once; receives that are called later wait for the others. `buffer` may lie on a GPU;
  /// throws Error (device_failed) when that, or the sender's, ends the copy: then it holds any bytes.
  Receive recv(const MessageMemory<std::byte>& buffer, std::uint32_t from = kAnySource, std::uint64_t tag = kAnyTag);
  template <std::ranges::contiguous_range Range>
    requires(!std::ranges::view<Range>)
  Receive recv(Range& buffer, std::uint32_t from = kAnySource, std::uint64_t tag = kAnyTag);
  /// Throws Error (truncated) also when the message is shorter than a T.
  template <class T>
  Task<T> recv_value(std::uint32_t from = kAnySource, std::uint64_t tag = kAnyTag);
  /// Both at the same time.
  Task<Received> send_recv(MessageMemory<const std::byte> data, std::uint32_t to, std::uint64_t send_tag,
                           MessageMemory<std::byte> buffer, std::uint32_t from, std::uint64_t recv_tag);
  /// The message that a recv would get now, if there is one. It stays.
  std::optional<Received> probe(std::uint32_t from = kAnySource, std::uint64_t tag = kAnyTag);
  /// Waits until there is one.
  Task<Received> wait_probe(std::uint32_t from = kAnySource, std::uint64_t tag = kAnyTag);
  /// Takes the message that a recv would get now, if there is one, so that nobody else receives it.
  std::optional<MatchedMessage> matched_probe(std::uint32_t from = kAnySource, std::uint64_t tag = kAnyTag);
  /// For what is sent or received again and again: `data` and `buffer` stay the same.
  PersistentSend prepare_send(const MessageMemory<const std::byte>& data, std::uint32_t to, std::uint64_t tag = 0);
  PersistentRecv prepare_recv(const MessageMemory<std::byte>& buffer, std::uint32_t from = kAnySource,
                              std::uint64_t tag = kAnyTag);

  // For layers above, which have an interface of their own: messages that no receive or probe of the program sees.
  Send send_internal(const MessageMemory<const std::byte>& source, std::uint32_t to, std::uint64_t tag);
  Receive receive_internal(const MessageMemory<std::byte>& target, std::uint32_t from, std::uint64_t tag);

 private:
  friend class NewTeam;
  friend class Participation;
  friend Task<> finalize_job(Rank& rank);

  /// Begins a collective; gives its number on this team, the same at every member. See Participation.
  /// `events`: of the rank, null while no tool is told.
  std::uint64_t begin(const CollectiveCall& call, Events*& events);
  void tell_of(const CollectiveCall& call, std::uint64_t number, Events& events) const;
  /// The last barrier of a job.
  Task<> finalize(std::source_location where);
  /// Called by the first member of each node when its node has come; returns when all have.
  Task<> meet_other_nodes(std::uint64_t ticket);
  /// Before a barrier ends: looks into whose calls differ (CollectiveWatchdog::differs).
  Task<> agree_on_calls();
  Task<> meet_all(CollectiveCall call);
  Task<> meet_on_nodes(CollectiveCall call);

  CollectiveWatchdog* watchdog_ = nullptr;  // the rank's, once a collective has begun
  std::unique_ptr<NodeArea> node_area_;
};

/// A member's part in one collective: the first thing in its coroutine. Takes its number, and breaks the team when the
/// collective ends by an exception.
class Participation {
 public:
  /// Of a collective that is not the library's: `where` tells which.
  explicit Participation(Team& team, std::source_location where = std::source_location::current())
      : Participation(team, CollectiveCall{.where = where}) {}
  Participation(Team& team, const CollectiveCall& call) : team_(team), sequence_(team.begin(call, events_)) {}
  ~Participation();
  Participation(const Participation&) = delete;
  Participation& operator=(const Participation&) = delete;
  std::uint64_t sequence() const noexcept { return sequence_; }
  /// The collective has ended well, which its destructor otherwise has to find out.
  void end() noexcept {
    team_.core().log().end();
    if (events_ != nullptr) [[unlikely]]
      tell_of_end();
    has_ended_ = true;
  }

 private:
  void tell_of_end() noexcept;

  Team& team_;
  Events* events_;  // null while no tool is told
  std::uint64_t sequence_;
  bool has_ended_ = false;
};

/// What a member makes ready for a collective before its Participation begins in what it calls: memory, packed values.
/// Is made first: throws where the team is broken. What fails then breaks the team, since the others wait for this
/// member.
class Preparation {
 public:
  Preparation(Team& team, const char* what) : team_(team) { team.core().check_whole(what); }
  ~Preparation();
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

 private:
  Team& team_;
};

}  // namespace coracle::internals
