// Some ten escape sequences, and termios.
#include "apps/coracle/top/terminal_screen.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "apps/coracle/top/top_lines.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";  // second screen, no cursor, no wrapping
constexpr std::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kClearLine = "\x1b[K";
constexpr std::string_view kClearBelow = "\x1b[J";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr int kWritePatienceMs = 500;

std::string_view start_of(ScreenLine::Style style) noexcept {
  switch (style) {
    case ScreenLine::Style::bold:
      return "\x1b[1m";
    case ScreenLine::Style::reverse:
      return "\x1b[7m";
    case ScreenLine::Style::plain:
      break;
  }
  return "";
}

/// Behind "\x1b[" or "\x1bO": parameters, and a last character.
Key key_of(std::string_view parameters, char last) noexcept {
  using Named = std::pair<std::string_view, Key>;
  constexpr std::array<Named, 6> kNumbered{{{"1", Key::home},
                                            {"4", Key::end},
                                            {"5", Key::page_up},
                                            {"6", Key::page_down},
                                            {"7", Key::home},
                                            {"8", Key::end}}};
  switch (last) {
    case 'A':
      return Key::up;
    case 'B':
      return Key::down;
    case 'H':
      return Key::home;
    case 'F':
      return Key::end;
    case '~': {
      const auto found = std::ranges::find(kNumbered, parameters, &Named::first);
      return found == kNumbered.end() ? Key::other : found->second;
    }
    default:
      return Key::other;
  }
}

FileDescriptor open_terminal() {
  std::array<char, 256> name;
  if (::ttyname_r(STDOUT_FILENO, name.data(), name.size()) != 0) return {};
  return FileDescriptor(::open(name.data(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
}

}  // namespace

std::optional<KeyPress> next_key(std::string& bytes) {
  if (bytes.empty()) return std::nullopt;
  const bool is_sequence = bytes.size() > 1 && bytes[0] == '\x1b' && (bytes[1] == '[' || bytes[1] == 'O');
  if (!is_sequence) {
    const char first = bytes.front();
    bytes.erase(0, 1);
    return KeyPress{first == '\x1b' ? Key::other : Key::character, first};
  }
  const auto is_last = [](char byte) { return byte >= '@' && byte <= '~'; };
  const auto last = std::find_if(bytes.begin() + 2, bytes.end(), is_last);
  if (last == bytes.end()) return std::nullopt;
  const std::string parameters(bytes.begin() + 2, last);
  const KeyPress press{key_of(parameters, *last), 0};
  bytes.erase(bytes.begin(), last + 1);
  return press;
}

bool TerminalScreen::is_possible() noexcept {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && kind != nullptr && *kind != '\0' &&
         std::string_view(kind) != "dumb";
}

TerminalScreen::TerminalScreen() : terminal_(open_terminal()) {
  if (!terminal_) throw_errno(errno, "can't open the terminal for `coracle top` (`--once` needs none)");
}

void TerminalScreen::enter() {
  if (!is_entered_ && ::tcgetattr(terminal_.get(), &before_) != 0)
    throw_errno(errno, "can't read how the terminal is set");
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  if (::tcsetattr(terminal_.get(), TCSANOW, &raw) != 0) throw_errno(errno, "can't set the terminal");
  is_entered_ = true;
  write(kEnter);
}

void TerminalScreen::leave() noexcept {
  if (!std::exchange(is_entered_, false)) return;
  ::tcflow(terminal_.get(), TCOON);  // one that was halted must hear this
  write(kLeave);
  ::tcsetattr(terminal_.get(), TCSANOW, &before_);
}

ScreenSize TerminalScreen::size() const noexcept {
  winsize window{};
  if (::ioctl(terminal_.get(), TIOCGWINSZ, &window) != 0 || window.ws_row == 0 || window.ws_col == 0) return {};
  return {window.ws_row, window.ws_col};
}

void TerminalScreen::draw(const std::vector<ScreenLine>& lines) {
  const ScreenSize room = size();
  std::string all(kHome);
  for (std::size_t i = 0; i < std::min(lines.size(), room.lines); ++i) {
    if (i > 0) all += "\r\n";
    all.append(kClearLine).append(start_of(lines[i].style)).append(cut(lines[i].text, room.columns)).append(kPlain);
  }
  if (lines.size() < room.lines) all.append("\r\n").append(kClearBelow);
  write(all);
}

std::optional<std::string> TerminalScreen::read_typed() {
  std::array<char, 256> bytes;
  const ssize_t count = ::read(terminal_.get(), bytes.data(), bytes.size());
  if (count > 0) return std::string(bytes.data(), static_cast<std::size_t>(count));
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::string();
  return std::nullopt;
}

/// What the terminal does not take in time is lost: the next picture is whole again.
void TerminalScreen::write(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count = ::write(terminal_.get(), text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      pollfd ready{terminal_.get(), POLLOUT, 0};
      if (::poll(&ready, 1, kWritePatienceMs) <= 0) return;
    } else if (count == 0 || errno != EINTR) {
      return;
    }
  }
}

}  // namespace coracle::internals
