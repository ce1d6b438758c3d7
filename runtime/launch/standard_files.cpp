// Descriptors 0 and 1 belong to others too, so that they stay as they are: asked before each read and write.
#include "runtime/launch/standard_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>

#include "runtime/core/signal_text.hpp"
#include "runtime/launch/forwarding.hpp"

namespace coracle::internals {
namespace {

bool ready(int fd, short event) {
  pollfd wanted{fd, event, 0};
  return ::poll(&wanted, 1, 0) == 1;
}

}  // namespace

void StandardFiles::forward_input_to(ControlStream& reader) {
  // A job must not read from the terminal; see LocalRanks.
  if (::isatty(STDIN_FILENO) != 0) return reader.send(ControlFrameType::input);
  reader_ = &reader;
  credit_ = InputForwarder::kWindowBytes;
}

void StandardFiles::write(const std::vector<std::byte>& bytes) {
  output_.insert(output_.end(), bytes.begin(), bytes.end());
  handle_output();
}

void StandardFiles::finish() {
  write_all(STDOUT_FILENO, {reinterpret_cast<const char*>(output_.data()), output_.size()});
  output_.clear();
}

void StandardFiles::want(std::vector<pollfd>& set) const {
  if (!output_.empty()) set.push_back({STDOUT_FILENO, POLLOUT, 0});
  if (reader_ != nullptr && credit_ > 0) set.push_back({STDIN_FILENO, POLLIN, 0});
}

void StandardFiles::handle() {
  handle_output();
  handle_input();
}

void StandardFiles::handle_output() {
  std::size_t done = 0;
  // A pipe that is ready takes PIPE_BUF bytes at once.
  while (done < output_.size() && ready(STDOUT_FILENO, POLLOUT)) {
    const ssize_t bytes =
        ::write(STDOUT_FILENO, output_.data() + done, std::min<std::size_t>(output_.size() - done, PIPE_BUF));
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    done = bytes <= 0 ? output_.size() : done + static_cast<std::size_t>(bytes);  // nobody reads it
  }
  output_.erase(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(done));
}

void StandardFiles::handle_input() {
  while (reader_ != nullptr && credit_ > 0 && ready(STDIN_FILENO, POLLIN)) {
    std::array<std::byte, 16384> buffer;
    const ssize_t bytes = ::read(STDIN_FILENO, buffer.data(), std::min(buffer.size(), credit_));
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    const auto count = static_cast<std::size_t>(std::max<ssize_t>(bytes, 0));
    credit_ -= count;
    reader_->send(ControlFrameType::input, std::span(buffer).first(count));
    if (count == 0) reader_ = nullptr;
  }
}

}  // namespace coracle::internals
