// A report put together inside a signal handler. What this library may have been changing just then is left out.
#include "interfaces/mpi/core/call_reporter.hpp"

#include <algorithm>

#include "interfaces/mpi/core/call_notes.hpp"
#include "interfaces/mpi/core/program_stack.hpp"
#include "interfaces/mpi/core/progress.hpp"
#include "runtime/messages/messages.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::mpi {
namespace {

/// Peers that a collective of this rank awaits.
class PeersAwaited final : public internals::WaiterVisitor {
 public:
  explicit PeersAwaited(internals::SignalText& text) noexcept : text_(text) {}
  void visit(const internals::Waiter& waiter, int) noexcept override {
    if (waiter.peer() < 0 || ++told_ > kToldMax) return;
    text_.add("  it awaits rank {} of MPI_COMM_WORLD ({})\n", waiter.peer(), waiter.what());
  }

 private:
  static constexpr int kToldMax = 4;
  internals::SignalText& text_;
  int told_ = 0;
};

/// Messages of the library's own have odd identities.
bool is_of_program(const internals::Envelope& envelope) noexcept {
  return envelope.team % 2 == 0;
}

void add_unreceived_message(internals::SignalText& text, const internals::UnexpectedMessage& message) noexcept {
  const Comm* const comm = Comm::of_team(message.envelope.team);
  text.add("  not received: {} byte{}", message.bytes(), message.bytes() == 1 ? "" : "s");
  if (comm != nullptr)
    add_message(text, true, static_cast<int>(message.envelope.source) - comm->first_peer(),
                static_cast<int>(message.envelope.tag), *comm);
  else
    text.add(" from rank {} of MPI_COMM_WORLD, tag {}", message.rank(), message.envelope.tag);
  text.add("\n");
}

}  // namespace

void CallReporter::begin(internals::Rank& rank, const Progress& progress) noexcept {
  rank_ = &rank;
  progress_ = &progress;
}

void CallReporter::report(internals::SignalText& text, int rank, const void* context) const noexcept {
  const ProgramStack stack(context);
  text.add("rank {}: ", rank);
  add_headline(text, stack.function());
  const CallLock* const lock = progress_ != nullptr ? progress_->lock() : nullptr;
  if (lock != nullptr && lock->is_taken_elsewhere()) {
    text.add("  another thread is in a function of MPI: what this rank awaits can't be told\n");
  } else if (!stack.is_inside_library() && progress_ != nullptr) {
    add_waits(text);
    if (lock != nullptr) add_waits_of_others(text, *lock);
    add_unreceived(text);
  }
  stack.add_frames(text);
}

void CallReporter::add_call(internals::SignalText& text) const noexcept {
  const ProgramStack stack;
  if (stack.function() == nullptr) return;
  text.add("{}\n", stack.function());
  stack.add_frames(text);
}

void CallReporter::add_headline(internals::SignalText& text, const char* function) const noexcept {
  const CallNote* const note = progress_ != nullptr ? progress_->waiting() : nullptr;
  if (function == nullptr && note == nullptr) return text.add("in no function of MPI\n");
  text.add("in {}", function != nullptr ? function : note->function());
  if (note != nullptr) {
    note->add_brief(text);
    const std::uint64_t now_ns = progress_->loop().exact_now_ns();
    const std::uint64_t waited_ms = (now_ns - std::min(note->since_ns_, now_ns)) / 1'000'000;
    text.add(", for {}.{:03} s", waited_ms / 1000, waited_ms % 1000);
  }
  text.add("\n");
}

void CallReporter::add_waits(internals::SignalText& text) const noexcept {
  const CallNote* const note = progress_->waiting();
  if (note == nullptr) return;
  note->add_lines(text);
  PeersAwaited peers(text);
  if (note->is_told_by_waits()) progress_->visit(peers);
}

void CallReporter::add_waits_of_others(internals::SignalText& text, const CallLock& lock) const noexcept {
  lock.show_others([&text](const CallNote& note) {
    text.add("  another thread waits");
    note.add_brief(text);
    text.add("\n");
    note.add_lines(text);
  });
}

void CallReporter::add_unreceived(internals::SignalText& text) const noexcept {
  constexpr int kToldMax = 8;
  internals::Messages* const messages = rank_->core().messages();
  if (messages == nullptr) return;
  int unreceived = 0;
  for (const auto* message = messages->matcher().first(); message != nullptr; message = message->after) {
    if (!is_of_program(message->envelope) || ++unreceived > kToldMax) continue;
    add_unreceived_message(text, static_cast<const internals::UnexpectedMessage&>(*message));
  }
  if (unreceived > kToldMax) text.add("  ... and {} more messages that are not received\n", unreceived - kToldMax);
  if (messages->lacks_room())
    text.add("  there is no room for more of these: 'coracle run --unexpected SIZE' gives more\n");
}

}  // namespace coracle::mpi
