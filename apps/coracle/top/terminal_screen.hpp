// TerminalScreen: all of a terminal, for as long as it is wanted; then the terminal is as it was. And its keys.
#pragma once

#include <termios.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/file_descriptor.hpp"

namespace coracle::internals {

struct ScreenLine {
  enum class Style : std::uint8_t { plain, bold, reverse };
  std::string text;
  Style style = Style::plain;
};

struct ScreenSize {
  std::size_t lines = 24;
  std::size_t columns = 80;
};

enum class Key : std::uint8_t { character, up, down, page_up, page_down, home, end, other };

struct KeyPress {
  Key key = Key::other;
  char character = 0;
};

/// Takes the next key away from what a terminal has sent; nothing: the rest has not come yet.
std::optional<KeyPress> next_key(std::string& bytes);

/// Speaks the escape sequences that terminals have in common (ECMA-48, and those of xterm for its second screen). Its
/// own open file does not block: a terminal that has been halted (Ctrl-S) misses a picture, and its user can still
/// quit.
class TerminalScreen {
 public:
  /// Whether standard input and output are a terminal that knows the sequences.
  static bool is_possible() noexcept;

  /// Throws Error where the terminal can't be opened.
  TerminalScreen();
  ~TerminalScreen() { leave(); }
  TerminalScreen(const TerminalScreen&) = delete;
  TerminalScreen& operator=(const TerminalScreen&) = delete;

  /// Shows the second screen, on which nothing is echoed. Again, after another program has had the terminal.
  void enter();
  void leave() noexcept;

  int fd() const noexcept { return terminal_.get(); }
  ScreenSize size() const noexcept;
  /// From the top; lines that are too long are cut, and those that are too many left out.
  void draw(const std::vector<ScreenLine>& lines);
  /// What has been typed. Nothing: the terminal has gone.
  std::optional<std::string> read_typed();

 private:
  void write(std::string_view text) noexcept;

  FileDescriptor terminal_;
  termios before_{};
  bool is_entered_ = false;
};

}  // namespace coracle::internals
