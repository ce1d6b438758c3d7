// `coracle top JOB`: what the ranks of a running job do, again and again, or once.
#include <fmt/format.h>
#include <sys/types.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "apps/common/command_line.hpp"
#include "apps/common/units.hpp"
#include "apps/coracle/commands.hpp"
#include "apps/coracle/job_words.hpp"
#include "apps/coracle/top/top_lines.hpp"
#include "apps/coracle/top/top_view.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

using namespace std::chrono_literals;
using insight::JobPicture;

struct TopWords {
  std::string job;
  std::string interval = "1s";
  std::string order = "rank";
  bool once = false;
  bool is_unfolded = false;
};

TopOptions options_of(const TopWords& words) {
  TopOptions options;
  const auto interval = parse_duration(words.interval);
  if (!interval || *interval < 100ms || *interval > 1h)
    wrong(fmt::format("--interval {}: must be a time from 100ms to 1h", words.interval));
  const auto order = parse_order(words.order);
  if (!order) wrong(fmt::format("--sort {}: must be rank, wait or processor", words.order));
  options.interval = *interval;
  options.order = *order;
  options.is_unfolded = words.is_unfolded;
  return options;
}

void print_picture(pid_t job, const TopOptions& options, const JobPicture& before, const JobPicture& now) {
  const std::vector<TopRow> rows = rows_of(now, &before);
  std::vector<TopRow> shown = !options.is_unfolded && folds_by_itself(now.size) ? folded(rows) : rows;
  sort_rows(shown, options.order);
  const TopText text = text_of(job, now, rows, shown);
  for (const auto* const part : {&text.titles, &text.alarms})
    for (const std::string& line : *part) fmt::print("{}\n", line);
  fmt::print("{}\n", text.header);
  for (const std::string& line : text.rows) fmt::print("{}\n", line);
}

/// Rates need two pictures.
int show_once(pid_t job, const TopOptions& options, const JobPicture& before) {
  std::this_thread::sleep_for(options.interval);
  const auto is_here = [job](const std::vector<pid_t>& jobs) { return std::ranges::find(jobs, job) != jobs.end(); };
  const auto answer = is_here(jobs_here()) ? ask_job(job, "top") : std::nullopt;
  if (answer)
    print_picture(job, options, before, picture_in(job, *answer));
  else if (is_here(jobs_here()))
    throw no_answer(job);
  else
    fmt::print("{}", ended_text(job, before));
  return 0;
}

int show(const TopWords& words) {
  const TopOptions options = options_of(words);
  const pid_t job = job_of(words.job);
  JobPicture first = ask_picture(job);
  if (words.once || !TerminalScreen::is_possible()) return show_once(job, options, first);
  return TopView(job, options, std::move(first)).run();
}

}  // namespace

void add_top_command(CLI::App& app, int& status) {
  auto words = std::make_shared<TopWords>();
  CLI::App* top = app.add_subcommand("top", "Show what the ranks of a running job do, live in the terminal");
  top->add_option("JOB", words->job, "The process of `coracle run` (default: the only job that there is)");
  top->add_option("--interval", words->interval, "Time between two looks: from 100ms to 1h")->capture_default_str();
  top->add_option("--sort", words->order, "What comes first: rank, wait (the longest), processor (the busiest)")
      ->capture_default_str();
  top->add_flag("--unfold", words->is_unfolded, "A line for each rank, also where more than 32 do much the same");
  top->add_flag("--once", words->once,
                "Print one picture as plain text, after one interval, and end: so it goes without a terminal, too");
  top->callback([words, &status] { status = show(*words); });
}

}  // namespace coracle::internals
