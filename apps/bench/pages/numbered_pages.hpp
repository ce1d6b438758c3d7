// Pages of 4 KiB whose content follows from their numbers, so that every read can be checked, and readers of them by
// ordinary loads. A process that reads is told what, and answers, on a socket that is its standard input. Needs nothing
// of Coracle's library, for programs that measure others.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "apps/common/split_mix.hpp"

namespace coracle::internals::bench {

inline constexpr std::size_t kNumberedPage = 4096;

/// Whole pages from `first` on.
void fill_numbered(std::span<std::byte> pages, std::uint64_t first) noexcept;
/// Reads all words of a page; whether they add up to what they should.
bool is_numbered(const std::byte* page, std::uint64_t number) noexcept;

/// A task for several readers of one file in memory.
struct LoadPlan {
  std::uint64_t pages;  ///< Of the file.
  std::uint64_t count;  ///< To read, each reader.
  std::uint64_t first;  ///< In order from this page on, from the last on to page 0; or the seed of a random order.
  bool random;
};

/// Reads pages of a file that lies at `file`, by ordinary loads; the number of wrong ones.
std::uint64_t load_pages(const std::byte* file, const LoadPlan& plan) noexcept;

/// The answer is the number of wrong pages.
struct ReaderRequest {
  std::uint64_t random_advice;  ///< mmap: with MADV_RANDOM.
  std::uint64_t threads;        ///< So many do the same, each with a seed of its own.
  LoadPlan plan;
};

/// False when the other side has gone.
template <class Message>
bool receive(int socket, Message& message) noexcept {
  ssize_t count;
  do count = ::recv(socket, &message, sizeof message, 0);
  while (count < 0 && errno == EINTR);
  return count == static_cast<ssize_t>(sizeof message);
}
template <class Message>
bool send(int socket, const Message& message) noexcept {
  return ::send(socket, &message, sizeof message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof message);
}

/// Does what is asked on threads of its own, of a file that lies at `file`; the number of wrong pages.
inline std::uint64_t load_on_threads(const std::byte* file, const ReaderRequest& request) {
  std::vector<std::uint64_t> wrong(request.threads);
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < request.threads; ++i) {
    LoadPlan plan = request.plan;
    plan.first += i;
    threads.emplace_back([file, plan, &own = wrong[i]] { own = load_pages(file, plan); });
  }
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    all += wrong[i];
  }
  return all;
}

}  // namespace coracle::internals::bench
