// The life of the world, and how blocking functions wait.
#include "interfaces/mpi/core/world.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

#include "collectives/collectives.hpp"
#include "interfaces/mpi/core/buffered_sends.hpp"
#include "interfaces/mpi/core/call_notes.hpp"
#include "interfaces/mpi/core/call_place.hpp"
#include "interfaces/mpi/core/call_span.hpp"
#include "interfaces/mpi/core/process.hpp"
#include "interfaces/mpi/core/program_call.hpp"
#include "interfaces/mpi/core/request.hpp"
#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "runtime/launch/attached_rank.hpp"
#include "runtime/team/collective_watchdog.hpp"
#include "runtime/team/new_team.hpp"
#include "transports/connect.hpp"

namespace coracle::mpi {
namespace {

using internals::Team;

std::thread::id main_thread;

/// Where a rank is lost, who has called MPI_Finalize is told later.
internals::Task<> meet(Team& team) {
  try {
    co_await team.barrier();
  } catch (const internals::Error& error) {
    if (error.code() != internals::Errc::peer_lost) throw;
  }
}

constexpr internals::Wiring kWiring{
    .inbox_bytes = internals::transport_inbox_bytes,
    .connect = internals::connect_transports,
    .finalize = internals::finalize_job,
    .simulate = nullptr,
    .own_devices = nullptr,
};

/// The team of this rank alone. Its place and name need nobody's consent.
std::shared_ptr<Team> make_self_team(internals::Rank& rank) {
  return internals::NewTeam::of_one(rank);
}

Ref<Group> group_of(const Team& team) {
  std::vector<std::uint32_t> members(team.size());
  for (std::uint32_t i = 0; i < team.size(); ++i) members[i] = team.member(i);
  return Ref<Group>::adopt(new Group(std::move(members)));
}

Comm* predefined_comm(std::shared_ptr<Team> team, const char* name) {
  Ref<Group> group = group_of(*team);
  auto* comm = new Comm(std::move(team), std::move(group),
                        Ref<ErrorHandler>(&predefined_error_handler(ErrorHandler::Kind::are_fatal)));
  comm->name = name;
  comm->set_predefined();
  return comm;
}

/// What goes wrong meanwhile is told with the rank that this is to become. (From PMIx it is known only later.)
std::unique_ptr<internals::AttachedRank> attach(const internals::RankReporter& reporter, CallLock* lock) {
  this_process().rank = internals::rank_from_environment();
  return std::make_unique<internals::AttachedRank>(kWiring, reporter, lock);
}

}  // namespace

World* World::world_ = nullptr;
bool World::was_there_ = false;

World::World(ThreadLevel provided, CallLock* lock)
    : provided_(provided),
      attached_(attach(reporter_, lock)),
      rank_(attached_->rank()),
      progress_(rank_.loop()),
      buffered_sends_(std::make_unique<BufferedSends>(progress_)) {
  if (lock != nullptr) progress_.share(*lock);
  reporter_.begin(rank_, progress_);
  rank_.local<internals::CollectiveWatchdog>().use_program_call(program_call);
  this_process().rank = rank_.id();
  set_predefined_attribute(kUniverseSize, AttributeValue::of_number(static_cast<int>(rank_.size())));
  set_predefined_attribute(kAppNumber, AttributeValue::of_number(static_cast<int>(attached_->program())));
  describe_environment(program_arguments(), static_cast<int>(attached_->program_size()), provided);
  make_comms();
  call_events = rank_.loop().events();
  if (call_events != nullptr) prepare_call_places();
}

World::~World() = default;

void World::make_comms() {
  // The rank keeps the team of all; this only refers to it.
  comm_world_ = predefined_comm(std::shared_ptr<Team>(&rank_.world(), [](Team*) {}), "MPI_COMM_WORLD");
  comm_self_ = predefined_comm(make_self_team(rank_), "MPI_COMM_SELF");
}

void World::refuse() {
  if (was_there_) raise(ErrorClass::other, "it is called after MPI_Finalize");
  raise(ErrorClass::other, "it is called before MPI_Init");
}

void World::init(ThreadLevel wanted) {
  if (world_ != nullptr) raise(ErrorClass::other, "MPI_Init is called a second time");
  if (was_there_) raise(ErrorClass::other, "MPI_Init is called after MPI_Finalize: MPI can't begin again");
  main_thread = std::this_thread::get_id();
  if (wanted < ThreadLevel::serialized) {
    Callers::begin_alone();
    world_ = new World(wanted, nullptr);
  } else {
    auto* const lock = new CallLock;  // for good: other threads may be about to leave it when the world has ended
    Callers::begin_with(*lock);
    lock->enter();
    world_ = new World(wanted, lock);
    lock->leave();
  }
  was_there_ = true;
}

bool World::is_main_thread() noexcept {
  return main_thread == std::this_thread::get_id();
}

void ThreadCall::enter(void (*refuse)()) {
  if (!World::is_there()) refuse();
  World& world = World::get();
  if (!Callers::enter(world.progress_, others_, lock_)) world.refuse_thread();
}

void ThreadCall::enter_anywhere(void (*refuse)()) {
  if (refuse != nullptr && !World::is_there()) refuse();
  if (World::is_there() && Callers::is_own()) return enter(refuse);
  lock_ = Callers::lock();
  if (lock_ != nullptr) lock_->enter();
}

void ThreadCall::leave(CallLock& lock) noexcept {
  lock.leave();
}

void World::refuse_thread() const {
  const char* const asked = provided_ == ThreadLevel::single
                                ? "asked for MPI_THREAD_SINGLE (as MPI_Init does), and was given that"
                                : "asked for MPI_THREAD_FUNNELED, and was given that";
  throw MpiError(ErrorClass::other,
                 fmt::format("another thread than the one that called MPI_Init calls it, but the program has {}: let "
                             "it call MPI_Init_thread with MPI_THREAD_MULTIPLE, or set OMPI_MPI_THREAD_LEVEL=3 in its "
                             "environment",
                             asked))
      .told_always();
}

void World::drain() {
  buffered_sends_->drain();
  for (;;) {
    bury_orphans();
    const auto awaited = std::ranges::find_if(orphans_, [](const Request* each) { return each->is_awaited_at_end(); });
    if (awaited == orphans_.end()) return;
    Request* const orphan = *awaited;
    run_until<RequestsNote>([orphan] { return orphan->is_done(); }, std::span<Request* const>(&orphan, 1));
  }
}

/// Of receives that there are still, the program's or freed ones: their messages come until all ranks have got here.
void World::withdraw_receives() {
  constexpr const char* kNote = ", until all ranks have called it";
  if (const std::size_t left = progress_.refused(); left != 0) refuse_to_end(left);
  const ProgramCallScope noted("MPI_Finalize", nullptr);
  internals::Task<> meeting = meet(rank_.world());
  progress_.wait<PlainNote>(meeting, kNote);
  progress_.withdraw();
  bury_orphans();
  for (Request* const orphan : std::exchange(orphans_, {})) orphan->release();
}

namespace {

/// What operations await that are under way: " (send with rank 1, send)", ranks of the job; else nothing.
class Awaited final : public internals::WaiterVisitor {
 public:
  void visit(const internals::Waiter& waiter, int) noexcept override {
    if (told_++ >= kToldMax) return;
    text_.add("{}{}", told_ == 1 ? "" : ", ", waiter.what());
    if (waiter.peer() >= 0) text_.add(" with rank {}", waiter.peer());
  }
  std::string text() const {
    return told_ == 0 ? std::string() : fmt::format(" ({}{})", text_.view(), told_ > kToldMax ? ", ..." : "");
  }

 private:
  static constexpr int kToldMax = 8;
  int told_ = 0;
  std::array<char, 512> room_;
  internals::SignalText text_{room_.data(), room_.size()};
};

/// Where other threads are in a function of MPI still.
void refuse_to_leave_others(const CallLock& lock) {
  const std::uint32_t others = lock.others();
  if (others == 0) return;
  std::array<char, 512> room;
  internals::SignalText text(room.data(), room.size());
  lock.show_others([&](const CallNote& note) {
    text.add("{}", text.view().empty() ? ", which waits" : ", one");
    note.add_brief(text);
  });
  raise(ErrorClass::other, "{} in a function of MPI still{}: let all come back before",
        others == 1 ? "another thread is" : fmt::format("{} other threads are", others), text.view());
}

/// No other thread is let in meanwhile, nor afterwards, unless the world is refused to end.
class EndsAlone {
 public:
  EndsAlone() noexcept : stayed_(Callers::stays_alone()) { Callers::stay_alone(); }
  ~EndsAlone() { Callers::stay_alone(stayed_); }
  EndsAlone(const EndsAlone&) = delete;
  EndsAlone& operator=(const EndsAlone&) = delete;
  void surely() noexcept { stayed_ = true; }

 private:
  bool stayed_;
};

}  // namespace

void World::refuse_to_end(std::size_t left) const {
  Awaited awaited;
  progress_.visit_refused(awaited);
  raise(ErrorClass::pending, "{} not been completed{}: wait for all requests before, by MPI_Wait, MPI_Waitall, ...",
        left == 1 ? "a send or collective has" : fmt::format("{} sends or collectives have", left), awaited.text());
}

void World::finalize() {
  World& world = get();
  if (!is_main_thread())
    raise(ErrorClass::other, "another thread than the one that called MPI_Init calls it: MPI ends where it has begun");
  EndsAlone ends_alone;
  if (const CallLock* const lock = Callers::lock()) refuse_to_leave_others(*lock);
  world.comm_self_->attributes.remove_all(*world.comm_self_);  // MPI-3.1, 8.7.1: before anything else
  world.drain();
  world.comm_world_->attributes.remove_all(*world.comm_world_);
  world.withdraw_receives();
  ends_alone.surely();
  Callers::end();
  world_ = nullptr;  // an error from here on has no communicator to be told to
  for (Comm** comm : {&world.comm_self_, &world.comm_world_}) {
    (*comm)->clear_predefined();
    free_handle(*comm);
  }
  world.progress_.end();
  Comm::end_all();
  call_events = nullptr;
  world.progress_.during<PlainNote>([&world] { world.attached_->finish(); }, ", until all ranks have called it");
  if (CallLock* const lock = Callers::lock()) lock->end();
  delete &world;
}

void World::adopt(Request& request) {
  orphans_.push_back(&request);
  // Looked through now and then, so that programs that only block keep few that have ended.
  constexpr std::size_t kLookedThrough = 64;
  if (orphans_.size() >= kLookedThrough && orphans_.size() >= 2 * orphans_left_) bury_orphans();
}

void World::bury_orphans() {
  if (orphans_.empty() || is_burying_) [[likely]]
    return;
  // What they call of the program may free others.
  is_burying_ = true;
  const auto living = std::partition(orphans_.begin(), orphans_.end(), [](Request* each) { return !each->is_done(); });
  const std::vector<Request*> ended(living, orphans_.end());
  orphans_.erase(living, orphans_.end());
  orphans_left_ = orphans_.size();
  for (Request* request : ended) {
    request->let_go();
    request->release();
  }
  is_burying_ = false;
}

void world_init(int thread_level, int& provided) {
  World::init(static_cast<ThreadLevel>(thread_level));
  provided = static_cast<int>(World::get().provided());
}

void world_begun() noexcept {
  if (Callers::lock() == nullptr) Callers::end_own(0);
}

void world_finalize() {
  World::finalize();
}

bool is_initialized() noexcept {
  return World::is_there() || World::was_there();
}

bool is_finalized() noexcept {
  return World::was_there() && !World::is_there();
}

void world_abort(const char* what, int code) noexcept {
  // The launcher ends the job for a rank that ends so, and says which.
  const int rank = World::is_there() ? static_cast<int>(World::get().rank().id()) : -1;
  std::fprintf(stderr, "coracle: rank %d: %s, with error code %d\n", rank, what, code);
  std::fflush(stdout);  // not all: a thread may wait for input
  std::fflush(stderr);
  const int status = code & 0xff;
  std::_Exit(status == 0 ? 1 : status);
}

}  // namespace coracle::mpi
