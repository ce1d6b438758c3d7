// A pipe for each stream of each rank, and a coroutine that reads it.
#include "runtime/launch/labelled_output.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::internals {

LineLabeller::LineLabeller(std::uint32_t rank) : label_(fmt::format("[{}] ", rank)) {}

std::string LineLabeller::take(std::string_view bytes) {
  std::string lines;
  while (!bytes.empty()) {
    const std::size_t room = kLineMax - begun_.size();
    const std::size_t end = bytes.find('\n');
    const std::size_t length = std::min(end, std::min(bytes.size(), room));
    begun_ += bytes.substr(0, length);
    const bool is_whole = end == length;
    bytes.remove_prefix(length + (is_whole ? 1 : 0));
    if (!is_whole && begun_.size() < kLineMax) break;
    lines += label_ + begun_ + '\n';
    begun_.clear();
  }
  return lines;
}

std::string LineLabeller::rest() {
  if (begun_.empty()) return "";
  return label_ + std::exchange(begun_, "") + '\n';
}

std::array<FileDescriptor, 2> LabelledOutput::open(std::uint32_t rank) {
  RankStreams& streams = *ranks_.emplace_back(std::make_unique<RankStreams>(rank));
  std::array<FileDescriptor, 2> ends;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    Stream& stream = streams.streams[i];
    auto pipe = make_pipe(fmt::format("the output of rank {} (raise ulimit -Hn)", rank));
    stream.fd = std::move(pipe[0]);
    ends[i] = std::move(pipe[1]);
    make_non_blocking(stream.fd);
    services_.spawn(serve(stream));
  }
  return ends;
}

Task<> LabelledOutput::serve(Stream& stream) {
  do {
    co_await sink_.room();
    co_await io_.wait_readable(stream.fd.get());
  } while (take_some(stream));
  stream.fd.close();
}

/// What is there, up to some 64 KiB. False: its writers or its reader are gone.
bool LabelledOutput::take_some(Stream& stream) {
  std::array<char, 65536> buffer;
  const ssize_t bytes = ::read(stream.fd.get(), buffer.data(), buffer.size());
  if (bytes < 0) return errno == EINTR || errno == EAGAIN;
  write(stream, stream.lines.take({buffer.data(), static_cast<std::size_t>(bytes)}));
  return bytes > 0 && sink_.is_read(stream.kind);
}

void LabelledOutput::write(const Stream& stream, const std::string& lines) {
  if (!lines.empty()) sink_.write(stream.kind, std::as_bytes(std::span(lines)));
}

void LabelledOutput::ended(pid_t pid) {
  for (const auto& rank : ranks_) {
    if (rank->pid != pid) continue;
    rank->pid = 0;
    for (Stream& stream : rank->streams)
      while (is_ready(stream.fd.get(), POLLIN) && take_some(stream)) {
      }
  }
}

void LabelledOutput::finish() {
  for (const auto& rank : ranks_) {
    for (Stream& stream : rank->streams) {
      while (is_ready(stream.fd.get(), POLLIN) && take_some(stream)) {
      }
      write(stream, stream.lines.rest());
    }
  }
}

}  // namespace coracle::internals
