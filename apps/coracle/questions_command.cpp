// `coracle ps`: the jobs that this user has on this machine; `coracle why JOB`: what one of them waits for.
#include <fmt/format.h>
#include <sys/types.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/coracle/commands.hpp"
#include "apps/coracle/job_words.hpp"
#include "runtime/core/error.hpp"
#include "runtime/launch/job_questions.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {
namespace {

int list_jobs() {
  fmt::print("{:>9}  {:>6}  {:>5}  {:<7}  {:>9}  {}\n", "JOB", "RANKS", "NODES", "PLACE", "SECONDS", "PROGRAM");
  for (const pid_t job : jobs_here()) {
    try {
      fmt::print("{:>9}  {}\n", job, ask_job(job, "ps").value_or("(does not answer)"));
    } catch (const Error&) {  // it has ended meanwhile
    }
  }
  return 0;
}

int explain_job(const std::string& word, bool json) {
  const pid_t job = job_of(word);
  const auto answer = ask_job(job, json ? "why json" : "why");
  if (!answer) throw no_answer(job);
  std::fputs(answer->c_str(), stdout);
  return 0;
}

struct WhyWords {
  std::string job;
  bool json = false;
};

}  // namespace

void add_questions_commands(CLI::App& app, int& status) {
  CLI::App* ps = app.add_subcommand("ps", "List your jobs on this machine");
  ps->callback([&status] { status = list_jobs(); });
  auto words = std::make_shared<WhyWords>();
  CLI::App* why = app.add_subcommand("why", "Say what the ranks of a running job wait for, and why they can't go on");
  why->add_option("JOB", words->job, "The process of `coracle run` (default: the only job that there is)");
  why->add_flag("--json", words->json, "For machines: verdicts, and the waits of all ranks");
  why->callback([words, &status] { status = explain_job(words->job, words->json); });
}

}  // namespace coracle::internals
