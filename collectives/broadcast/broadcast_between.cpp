// Receiving, and sending on.
#include "collectives/broadcast/broadcast_between.hpp"

#include <algorithm>

#include "collectives/broadcast/broadcast_schedule.hpp"
#include "collectives/data/arguments.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/events.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {
namespace {

// Of these a piece is marked by a bit: pieces may overtake each other on their way.
constexpr std::uint32_t kBits = 64;

bool was_taken_back(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.code() == Errc::out_of_segment;
  } catch (...) {
    return false;
  }
}

}  // namespace

BroadcastBetween::BroadcastBetween(const Broadcast& broadcast, const BroadcastSchedule& schedule,
                                   BroadcastWithin& within) noexcept
    : broadcast_(broadcast),
      schedule_(schedule),
      within_(within),
      rank_(broadcast.team.rank()),
      readiness_(rank_.local<Readiness>()) {}

Task<> BroadcastBetween::lead() {
  co_await within_.begin_leading();
  if (broadcast_.on_root_node()) {
    const auto count = static_cast<std::uint32_t>(schedule_.pieces.size());
    if (broadcast_.staged == nullptr) here_ = count;
    std::vector<Task<>> parts;
    parts.push_back(broadcast_.staged == nullptr ? within_.publish(count) : load_and_publish());
    if (!schedule_.sends.empty()) parts.push_back(send_and_publish());
    co_await all_of(std::move(parts));
  } else {
    co_await receive();
  }
}

/// At the root, from its GPU: each piece goes on while the next one comes.
Task<> BroadcastBetween::load_and_publish() {
  for (const BroadcastSchedule::Piece& piece : schedule_.pieces) {
    co_await broadcast_.staged->load(piece.offset, piece.bytes);
    have(here_ + 1);
    co_await within_.publish(here_);
  }
}

RemoteAddress BroadcastBetween::reachable(std::optional<Exposed<std::byte>>& exposed) {
  const JobRegion& region = rank_.core().region();
  std::byte* segment = region.segment(rank_.id());
  const std::span<std::byte> data = broadcast_.data;
  if (data.data() >= segment && data.data() + data.size() <= segment + region.shape().segment_bytes)
    return {static_cast<std::uint64_t>(data.data() - segment), rank_.id(), RemoteAddress::kOwnSegment};
  exposed.emplace(rank_.expose(data));
  return exposed->remote().address();
}

std::vector<std::uint32_t> BroadcastBetween::leaders(std::uint32_t node) const {
  if (node == 0) return {broadcast_.root};
  const TeamNodes& nodes = broadcast_.team.nodes();
  const std::uint32_t number = broadcast_.of_team(node);
  const bool any = broadcast_.choice.method == BroadcastMethod::competitive;
  std::vector<std::uint32_t> members(any ? std::min(nodes.size_of(number), kCompetitorsMax) : 1);
  for (std::uint32_t place = 0; place < members.size(); ++place) members[place] = nodes.member(number, place);
  return members;
}

std::vector<std::uint32_t> BroadcastBetween::all_senders() const {
  std::vector<std::uint32_t> all;
  for (const std::uint32_t source : schedule_.sources) {
    const std::vector<std::uint32_t> members = leaders(source);
    all.insert(all.end(), members.begin(), members.end());
  }
  return all;
}

Task<> BroadcastBetween::receive() {
  Team& team = broadcast_.team;
  const std::size_t words = (schedule_.pieces.size() + kBits - 1) / kBits;
  const Slab<Signal> signals = rank_.allocate_signals(words);
  std::optional<Exposed<std::byte>> exposed;
  receiving_.arrived = signals.local();
  const Ready ready{broadcast_.sequence,    team.core().identity(), team.nodes().own(),
                    broadcast_.data.size(), reachable(exposed),     signals.remote().address()};
  readiness_.begin_receiving(team, broadcast_.sequence, receiving_);
  std::vector<Task<>> parts;
  parts.push_back(tell_senders(ready));
  parts.push_back(receive_pieces());
  parts.push_back(send_and_publish());
  const std::exception_ptr failure = co_await caught(all_of(std::move(parts)));
  // After a failure senders may be at it still, and this rank's memory must stay until they are not.
  std::exception_ptr second;
  if (failure || receiving_.other_bytes)
    second = co_await caught(Readiness::take_back(team, broadcast_.sequence, all_senders()));
  readiness_.end_receiving(team, broadcast_.sequence);
  if (failure) std::rethrow_exception(failure);
  if (second) std::rethrow_exception(second);
  if (receiving_.other_bytes)
    throw_sizes_differ(broadcast_.data.size(), *receiving_.other_bytes, receiving_.other_rank);
}

/// All who may lead a node that sends here. But where the fixed leader leads this node, nothing speaks for late ones:
/// of a single sending node the same one is told at first, and the others only when nothing comes. So the messages to
/// many ranks don't stand in the way of the data.
Task<> BroadcastBetween::tell_senders(Ready ready) {
  Team& team = broadcast_.team;
  std::vector<std::uint32_t> members = all_senders();
  if (schedule_.sources.size() == 1 && members.size() > 1 && within_.round().local_index() == 0) {
    constexpr double kPatience = 5;  // in latencies: there and back, and some for the data
    const std::uint32_t likely = team.member(members.front());
    const TransportTraits traits = rank_.core().transport_to(likely).traits_to(likely);
    const std::chrono::nanoseconds patience(static_cast<std::int64_t>(kPatience * traits.latency_ns));
    std::vector<std::uint32_t> first(1, members.front());
    co_await Readiness::tell(team, ready, std::move(first));
    members.erase(members.begin());
    static_cast<void>(co_await caught(with_timeout(patience, wait_until_here(1))));  // what has failed, others tell
    if (here_ > 0 || team.broken()) co_return;
  }
  co_await Readiness::tell(team, ready, std::move(members));
}

Task<> BroadcastBetween::receive_pieces() {
  const auto count = static_cast<std::uint32_t>(schedule_.pieces.size());
  const bool publishes = broadcast_.choice.method != BroadcastMethod::plain;
  std::uint64_t known = 0;  // of the present word
  while (here_ < count) {
    Signal& word = receiving_.arrived[here_ / kBits];
    broadcast_.team.core().check_whole("broadcast");
    known =
        co_await GuardedSignalWait(rank_.core().signal_waits(), word, known + 1, broadcast_.team.core().observers());
    std::uint32_t pieces = here_;
    while (pieces < count && pieces / kBits == here_ / kBits && (known >> pieces % kBits & 1) != 0) ++pieces;
    if (pieces / kBits != here_ / kBits || pieces == count) known = 0;
    if (pieces == here_) continue;
    for (std::uint32_t piece = here_; piece < pieces; ++piece)
      tell_of_chunk(piece, schedule_.pieces[piece].bytes, CORACLE_NOBODY);
    for (std::uint32_t piece = here_; broadcast_.staged != nullptr && piece < pieces; ++piece)
      broadcast_.staged->arrived(schedule_.pieces[piece].offset, schedule_.pieces[piece].bytes);
    have(pieces);
    if (publishes || pieces == count) co_await within_.publish(pieces);
  }
}

/// It leaves for `peer`, or (nobody) it has come.
void BroadcastBetween::tell_of_chunk(std::uint32_t piece, std::size_t bytes, std::uint32_t peer) {
  Events* const events = rank_.loop().events();
  if (events == nullptr) [[likely]]
    return;
  coracle_event event = events->event(CORACLE_CHUNK_BEGIN);
  event.id = events->new_id();
  event.number = piece;
  event.bytes = bytes;
  event.peer = peer;
  events->tell(event);
  events->tell(CORACLE_CHUNK_END, event.id);
}

void BroadcastBetween::have(std::uint32_t pieces) noexcept {
  here_ = pieces;
  more_.set();
  more_.reset();
}

Task<> BroadcastBetween::wait_until_here(std::uint32_t pieces) {
  while (here_ < pieces) co_await more_;
}

/// One task per node that this one sends to.
Task<> BroadcastBetween::send_and_publish() {
  std::vector<Task<>> tasks;
  const std::span<const Send> sends = schedule_.sends;
  for (std::size_t first = 0; first < sends.size();) {
    std::size_t last = first;
    while (last < sends.size() && sends[last].node == sends[first].node) ++last;
    tasks.push_back(send_to(sends.subspan(first, last - first)));
    first = last;
  }
  co_await all_of(std::move(tasks));
}

Task<> BroadcastBetween::send_to(std::span<const Send> sends) {
  Team& team = broadcast_.team;
  const std::uint32_t node = broadcast_.of_team(sends.front().node);
  const Ready ready = co_await readiness_.ask(team, broadcast_.sequence, node);
  std::vector<Handle> on_the_way;
  const std::exception_ptr failure = co_await caught(send_pieces(sends, ready, on_the_way));
  std::exception_ptr second;
  for (Handle& handle : on_the_way) {
    const std::exception_ptr another = co_await caught(as_task(handle.done()));
    if (another) second = another;
  }
  readiness_.done(team, broadcast_.sequence, node);
  if (failure) std::rethrow_exception(failure);
  if (!second) co_return;
  team.core().check_whole("broadcast");  // that is why, then
  if (was_taken_back(second)) {
    // The receiver takes its memory back only when the team breaks: the news of that are on their way.
    PeerEvent never(rank_.core(), "broadcast", ready.buffer.rank, team.core().observers());
    co_await never;
  }
  std::rethrow_exception(second);
}

Task<> BroadcastBetween::send_pieces(std::span<const Send> sends, Ready ready, std::vector<Handle>& on_the_way) {
  if (ready.bytes != broadcast_.data.size()) {
    co_await Readiness::refuse(rank_, ready, broadcast_.data.size(), rank_.id());
    co_return;
  }
  std::size_t finished = 0;
  for (const Send& send : sends) {
    co_await wait_until_here(send.needs);
    if (receiving_.other_bytes) {
      co_await Readiness::refuse(rank_, ready, *receiving_.other_bytes, receiving_.other_rank);
      co_return;
    }
    if (on_the_way.size() - finished >= broadcast_.choice.depth) {
      co_await on_the_way[finished].done();
      ++finished;
    }
    tell_of_chunk(send.piece, send.what.bytes, ready.buffer.rank);
    on_the_way.push_back(rank_.put_signal_nb(
        std::span<const std::byte>(broadcast_.data).subspan(send.what.offset, send.what.bytes),
        Remote<std::byte>(ready.buffer) + static_cast<std::ptrdiff_t>(send.what.offset),
        Remote<Signal>(ready.arrived) + send.piece / kBits, std::uint64_t{1} << send.piece % kBits));
  }
}

}  // namespace coracle::internals
