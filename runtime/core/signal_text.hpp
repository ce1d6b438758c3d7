// SignalText: text put together inside a signal handler, where neither memory may be allocated nor a stream used.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>

namespace coracle::internals {

/// Writes all of it, in one system call unless the descriptor takes less; gives up on errors.
inline void write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    if (written == 0 || (written < 0 && errno != EINTR)) return;
  }
}

/// Appends to a buffer of the caller; what doesn't fit is cut off. Integers, characters and strings only: formatting a
/// float may allocate.
class SignalText {
 public:
  SignalText(char* buffer, std::size_t capacity) noexcept : buffer_(buffer), capacity_(capacity) {}

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    const std::size_t room = capacity_ - used_;
    const auto done = fmt::format_to_n(buffer_ + used_, room, format, std::forward<Values>(values)...);
    used_ += std::min(done.size, room);
  }

  std::size_t size() const noexcept { return used_; }
  std::string_view view() const noexcept { return {buffer_, used_}; }
  void clear() noexcept { used_ = 0; }

  void write_to(int fd) const noexcept { write_all(fd, view()); }

 private:
  char* buffer_;
  std::size_t capacity_;
  std::size_t used_ = 0;
};

/// The last part of a source file's path, which is what a reader wants to see.
inline const char* file_name_of(const char* path) noexcept {
  const std::string_view text(path);
  const std::size_t slash = text.rfind('/');
  return slash == std::string_view::npos ? path : path + slash + 1;
}

}  // namespace coracle::internals
