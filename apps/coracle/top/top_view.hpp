// TopView: `coracle top` in a terminal, from its first picture until its user or its job has had enough.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "apps/coracle/top/ending_signals.hpp"
#include "apps/coracle/top/terminal_screen.hpp"
#include "apps/coracle/top/top_rows.hpp"
#include "runtime/insight/job_picture.hpp"
#include "runtime/launch/job_questions.hpp"

namespace coracle::internals {

struct TopOptions {
  std::chrono::nanoseconds interval = std::chrono::seconds(1);
  TopOrder order = TopOrder::rank;
  bool is_unfolded = false;
};

/// Whether this many ranks are shown folded where nobody has said otherwise.
bool folds_by_itself(std::size_t ranks) noexcept;
/// Asks, and waits for the answer. Throws Error where there is none.
insight::JobPicture ask_picture(pid_t job);
/// What a launcher has answered. Throws Error for what is no picture: that of a simulated job, say.
insight::JobPicture picture_in(pid_t job, const std::string& answer);
/// For who asks in vain after having been answered.
std::string ended_text(pid_t job, const insight::JobPicture& last);

/// Asks its job once in an interval, and hears its user meanwhile.
class TopView {
 public:
  TopView(pid_t job, const TopOptions& options, insight::JobPicture first);
  /// The exit status. A signal that ends others ends this, too, once the terminal is as it was.
  int run();

 private:
  using SteadyClock = std::chrono::steady_clock;
  enum class End : std::uint8_t { quit, job_ended, terminal_gone, signal };

  void wait();
  int wait_ms() const;
  void ask();
  void hear_job(JobInquiry& inquiry);
  void hear_user();
  bool hear_signal();
  bool obey_next();
  void obey(const KeyPress& press);
  void obey_letter(char letter);
  void go_home();
  void scroll_by(std::ptrdiff_t rows);
  void on_signal(int signal);
  void take(insight::JobPicture picture);
  std::vector<TopRow> shown_rows() const;
  void draw();
  std::string foot(std::size_t rows, std::size_t visible) const;
  std::string silence() const;

  pid_t job_;
  TopOptions options_;
  EndingSignals signals_;
  TerminalScreen screen_;
  std::optional<JobInquiry> inquiry_;
  SteadyClock::time_point asked_at_ = SteadyClock::now();
  SteadyClock::time_point ask_at_ = asked_at_;
  insight::JobPicture now_;
  std::vector<TopRow> rows_;  ///< Of each rank.
  bool is_folded_;
  bool is_silent_ = false;  ///< It has not answered the last time.
  std::string typed_;
  std::size_t first_row_ = 0;
  bool stays_at_end_ = false;  ///< The last row is shown, however many there are and fit.
  std::size_t page_ = 1;
  std::optional<End> end_;
  int ending_signal_ = 0;
};

}  // namespace coracle::internals
