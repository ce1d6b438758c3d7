// One poll() for the job, the user and signals.
#include "apps/coracle/top/top_view.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "apps/coracle/top/top_lines.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

using namespace std::chrono_literals;
using insight::JobPicture;
using Style = ScreenLine::Style;

constexpr std::size_t kFoldedFrom = 32;
constexpr auto kAnswerPatience = 15s;
constexpr auto kSilence = 3s;      // before it is said that there is no answer
constexpr auto kAskAgain = 200ms;  // after none has come: the launcher may be ending
constexpr auto kTick = 1s;

}  // namespace

bool folds_by_itself(std::size_t ranks) noexcept {
  return ranks > kFoldedFrom;
}

JobPicture picture_in(pid_t job, const std::string& answer) {
  if (answer.starts_with('{')) return insight::parse_picture(answer);
  throw Error(Errc::bad_input, fmt::format("job {}: {}", job, answer.substr(0, answer.find('\n'))));
}

JobPicture ask_picture(pid_t job) {
  const auto answer = ask_job(job, "top");
  if (!answer) throw no_answer(job);
  return picture_in(job, *answer);
}

std::string ended_text(pid_t job, const JobPicture& last) {
  return fmt::format("job {} ({}) has ended\n", job, harmless(last.program));
}

TopView::TopView(pid_t job, const TopOptions& options, JobPicture first)
    : job_(job),
      options_(options),
      now_(std::move(first)),
      rows_(rows_of(now_, nullptr)),
      is_folded_(!options.is_unfolded && folds_by_itself(now_.size)) {
  ask_at_ += options_.interval;
}

int TopView::run() {
  screen_.enter();
  while (!end_) {
    draw();
    wait();
  }
  screen_.leave();
  switch (*end_) {
    case End::quit:
      return 0;
    case End::job_ended:
      std::fputs(ended_text(job_, now_).c_str(), stdout);
      return 0;
    case End::terminal_gone:
      return 1;
    case End::signal:
      EndingSignals::yield_to(ending_signal_);
  }
  return 128 + ending_signal_;
}

int TopView::wait_ms() const {
  const auto now = SteadyClock::now();
  const auto until = inquiry_ ? std::min(now + kTick, asked_at_ + kAnswerPatience) : ask_at_;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::max(until - now, SteadyClock::duration(0)));
  return static_cast<int>(std::min<std::chrono::milliseconds>(left, 1h).count());
}

void TopView::wait() {
  std::array<pollfd, 3> ready{pollfd{screen_.fd(), POLLIN, 0}, pollfd{signals_.fd(), POLLIN, 0},
                              pollfd{inquiry_ ? inquiry_->fd() : -1, POLLIN, 0}};
  if (::poll(ready.data(), ready.size(), wait_ms()) < 0 && errno != EINTR) throw_errno(errno, "can't wait for keys");
  while (ready[1].revents != 0 && hear_signal()) continue;
  if (ready[0].revents != 0 && !end_) hear_user();
  if (inquiry_)
    hear_job(*inquiry_);
  else if (SteadyClock::now() >= ask_at_)
    ask();
}

void TopView::ask() {
  try {
    inquiry_.emplace(job_, "top");
    asked_at_ = SteadyClock::now();
  } catch (const Error& error) {
    if (error.code() != Errc::bad_input) throw;
    if (!end_) end_ = End::job_ended;
  }
}

void TopView::hear_job(JobInquiry& inquiry) {
  const bool is_late = SteadyClock::now() >= asked_at_ + kAnswerPatience;
  if (!inquiry.receive() && !is_late) return;
  const std::optional<std::string> answer = is_late ? std::nullopt : inquiry.take();
  inquiry_.reset();
  is_silent_ = !answer;
  ask_at_ = is_silent_ ? SteadyClock::now() + kAskAgain : std::max(asked_at_ + options_.interval, SteadyClock::now());
  if (answer) take(picture_in(job_, *answer));
}

void TopView::take(JobPicture picture) {
  rows_ = rows_of(picture, &now_);
  now_ = std::move(picture);
}

void TopView::hear_user() {
  const std::optional<std::string> typed = screen_.read_typed();
  if (!typed) {
    end_ = End::terminal_gone;
    return;
  }
  typed_ += *typed;
  while (obey_next()) continue;
}

/// False: there is none.
bool TopView::obey_next() {
  const std::optional<KeyPress> press = next_key(typed_);
  if (press) obey(*press);
  return press.has_value();
}

void TopView::obey(const KeyPress& press) {
  const auto page = static_cast<std::ptrdiff_t>(page_);
  switch (press.key) {
    case Key::up:
      stays_at_end_ = false;
      return scroll_by(-1);
    case Key::down:
      return scroll_by(1);
    case Key::page_up:
      stays_at_end_ = false;
      return scroll_by(-page);
    case Key::page_down:
      return scroll_by(page);
    case Key::home:
      return go_home();
    case Key::end:
      stays_at_end_ = true;
      return scroll_by(static_cast<std::ptrdiff_t>(rows_.size()));
    case Key::character:
      return obey_letter(press.character);
    case Key::other:
      return;
  }
}

void TopView::obey_letter(char letter) {
  switch (letter) {
    case 'q':
      end_ = End::quit;
      return;
    case 'r':
      options_.order = TopOrder::rank;
      return;
    case 'w':
      options_.order = TopOrder::wait;
      return;
    case 'p':
      options_.order = TopOrder::processor;
      return;
    case 'f':
      is_folded_ = !is_folded_;
      return go_home();
    default:
      return;
  }
}

void TopView::go_home() {
  stays_at_end_ = false;
  first_row_ = 0;
}

/// Too far is put right by draw().
void TopView::scroll_by(std::ptrdiff_t rows) {
  first_row_ = static_cast<std::size_t>(std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(first_row_) + rows, 0));
}

/// False: there is none.
bool TopView::hear_signal() {
  const std::optional<int> signal = signals_.next();
  if (signal) on_signal(*signal);
  return signal.has_value();
}

void TopView::on_signal(int signal) {
  switch (signal) {
    case SIGWINCH:
      return;  // what comes next is drawn for the new size
    case SIGCONT:
      return screen_.enter();
    case SIGTSTP:
      screen_.leave();
      EndingSignals::yield_to(signal);
      return screen_.enter();
    case SIGINT:
      end_ = End::quit;
      return;
    default:
      end_ = End::signal;
      ending_signal_ = signal;
      return;
  }
}

std::vector<TopRow> TopView::shown_rows() const {
  std::vector<TopRow> rows = is_folded_ ? folded(rows_) : rows_;
  sort_rows(rows, options_.order);
  return rows;
}

void TopView::draw() {
  const std::vector<TopRow> shown = shown_rows();
  const TopText text = text_of(job_, now_, rows_, shown);
  std::vector<ScreenLine> lines;
  lines.reserve(text.titles.size() + text.alarms.size());
  for (const std::string& line : text.titles) lines.push_back({line});
  for (const std::string& line : text.alarms) lines.push_back({line, Style::bold});
  if (const std::string line = silence(); !line.empty()) lines.push_back({line, Style::bold});
  const ScreenSize room = screen_.size();
  std::string header = text.header;
  header.resize(std::max(header.size(), room.columns), ' ');
  lines.push_back({std::move(header), Style::reverse});
  page_ = std::max<std::size_t>(room.lines > lines.size() + 1 ? room.lines - lines.size() - 1 : 0, 1);
  const std::size_t last_first_row = text.rows.size() - std::min(page_, text.rows.size());
  first_row_ = stays_at_end_ ? last_first_row : std::min(first_row_, last_first_row);
  const std::size_t end = std::min(first_row_ + page_, text.rows.size());
  for (std::size_t row = first_row_; row < end; ++row) lines.push_back({text.rows[row]});
  lines.resize(std::max(room.lines, std::size_t{1}) - 1);
  lines.push_back({foot(text.rows.size(), end - first_row_), Style::reverse});
  screen_.draw(lines);
}

std::string TopView::foot(std::size_t rows, std::size_t visible) const {
  const std::string lines = visible < rows ? fmt::format("lines {}-{} of {}: arrows, PgUp, PgDn; ", first_row_ + 1,
                                                         first_row_ + visible, rows)
                                           : "";
  return fmt::format(" {}q quit  f {}  by (r)ank, (w)ait, (p)rocessor: {} ", lines, is_folded_ ? "unfold" : "fold",
                     to_string(options_.order));
}

std::string TopView::silence() const {
  const auto now = SteadyClock::now();
  if (!is_silent_ && (!inquiry_ || now - asked_at_ < kSilence)) return "";
  return "the job's launcher does not answer: is it stopped? What follows is old";
}

}  // namespace coracle::internals
