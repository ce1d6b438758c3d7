// From options to running ranks.
#include "runtime/launch/launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/job/memory_room.hpp"
#include "runtime/launch/job_questions.hpp"
#include "runtime/launch/processes.hpp"
#include "runtime/launch/say.hpp"
#include "runtime/launch/supervisor.hpp"

namespace coracle::internals {

void check(const JobOptions& options) {
  const JobShape& shape = options.shape;
  const auto bad = [](const std::string& what) { return Error(make_error_code(Errc::bad_input), what); };
  if (shape.size == 0) throw bad("a job needs at least one rank");
  if (shape.nodes == 0) throw bad("a job needs at least one node");
  if (shape.nodes > shape.size)
    throw bad(fmt::format("{} nodes for {} ranks: every node needs at least one rank", shape.nodes, shape.size));
  if (shape.segment_bytes == 0) throw bad("a segment needs at least one byte");
  if (shape.placement == Placement::pvas) check_pvas();
  if (shape.placement == Placement::sim) refuse_ranks(shape.size, memory_room());
}

Launcher::Launcher(JobOptions options) : options_(std::move(options)) {
  check(options_);
  trace_ = std::make_unique<TraceFile>(options_.trace, options_.open_trace);
  summary_ = std::make_unique<SummaryFiles>(options_);
  ranks_ = std::make_unique<LocalRanks>(options_);
}

Launcher::~Launcher() = default;

void Launcher::set_up_standard_files(StandardFiles& standard, Scope& services, Io& io) {
  const bool is_asked = options_.input.who == InputReaders::Who::one && ::isatty(STDIN_FILENO) != 0;
  if (options_.label || is_asked) catch_broken_pipes();
  if (options_.label) standard.serve(services, io);
  ranks_->label_output(io, services, standard);
  if (!is_asked) return;
  auto [reading, writing] = make_pipe("the ranks' input");
  ranks_->read_input_from(std::move(reading));
  services.spawn(StandardFiles::forward_input_to(std::move(writing), io));
}

int Launcher::run() {
  LauncherLoop loop;
  Supervisor supervisor(ranks_->region(), loop, ranks_->supervision(guardian_));
  const JobShape& shape = options_.shape;
  if (options_.verbose) {
    say("starting {} rank{} of {} on {} node{}, placement {}, {} usable core{}", shape.size, shape.size == 1 ? "" : "s",
        program_names(options_), shape.nodes, shape.nodes == 1 ? "" : "s", ranks_->placement_text(), ranks_->cores(),
        ranks_->cores() == 1 ? "" : "s");
    for (const std::string& note : options_.notes) say("{}", note);
  }
  StandardFiles standard;
  JobQuestions questions;
  const int status = loop.run([&](Scope& services) {
    set_up_standard_files(standard, services, loop.io());
    services.spawn(questions.serve(loop.io(), services, [this, &supervisor](std::string question) {
      return supervisor.stall_watch().answer(std::move(question), options_);
    }));
    return supervisor.run(ranks_->start_all(supervisor, guardian_));
  });
  ranks_->finish_output();
  standard.finish();
  if (trace_->is_wanted()) trace_->write(read_traces(ranks_->region()));
  if (summary_->is_wanted()) summary_->write(read_summaries(ranks_->region()));
  if (status == 0 && !supervisor.ranks().any_attached() && ranks_->one_process())
    say("{} does not use Coracle: with --place {} it ran once, as an ordinary program (--place process runs it {} "
        "times)",
        program_names(options_), to_string(shape.placement), shape.size);
  return status;
}

}  // namespace coracle::internals
