// Prints what a task costs on this machine, with an ordinary process beside it: the figures of docs/pvas.md. Not a
// test: run it by hand on a quiet machine. usage: pvas-measure [TASKS...]
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>

#define DOCTEST_CONFIG_DISABLE
#include "pvas_fixture.hpp"
#include "runtime/pvas/mapping_budget.hpp"

using coracle::internals::Error;
using coracle::internals::SpawnOptions;
using coracle::internals::pvas::AddressSpace;
using coracle::internals::pvas::count_mappings;
using coracle::internals::test::command;
using coracle::internals::test::helper;
using coracle::internals::test::hex;

namespace {

constexpr int kRounds = 1000;

double seconds_of(const std::function<void()>& action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median_us(const std::function<void()>& action) {
  std::vector<double> times(kRounds);
  for (double& time : times) time = seconds_of(action) * 1e6;
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

/// VmPTE of a process, in kB.
long page_tables_kb(pid_t pid) {
  std::FILE* const file = std::fopen(fmt::format("/proc/{}/status", pid).c_str(), "r");
  std::array<char, 256> line;
  long size = 0;
  while (file != nullptr && std::fgets(line.data(), line.size(), file) != nullptr) {
    if (std::sscanf(line.data(), "VmPTE: %ld", &size) == 1) break;
  }
  if (file != nullptr) std::fclose(file);
  return size;
}

void run_process(const std::vector<std::string>& arguments) {
  std::vector<char*> words;
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  pid_t pid = 0;
  if (::posix_spawn(&pid, words[0], nullptr, nullptr, words.data(), environ) == 0) ::waitpid(pid, nullptr, 0);
}

void measure_lives() {
  const std::vector<std::string> arguments = {helper("pvas-small"), "exit", "0"};
  for (const bool rlimit : {false, true}) {
    AddressSpace space = AddressSpace::create({.force_rlimit_mode = rlimit});
    const SpawnOptions options = command(arguments);
    const double time = median_us([&] { space.wait(space.spawn(options)); });
    fmt::print("spawn, exit, wait, reap: task ({} mode)  {:7.0f} us median of {}\n", rlimit ? "rlimit" : "patched",
               time, kRounds);
  }
  fmt::print("spawn, exit, wait:       process              {:7.0f} us median of {}\n",
             median_us([&] { run_process(arguments); }), kRounds);
}

void measure_crowd(int count) {
  AddressSpace space = AddressSpace::create();
  std::atomic<int> arrived{0};
  std::array<int, 2> pipe;
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) coracle::internals::throw_errno(errno, "pipe");
  SpawnOptions options = command({helper("pvas-small"), "meet", hex(&arrived)});
  options.stdin_fd = pipe[0];
  const long tables = page_tables_kb(::getpid());
  const std::size_t mappings = count_mappings();
  std::vector<pid_t> pids;
  const double ready = seconds_of([&] {
    for (int i = 0; i < count; ++i) pids.push_back(space.spawn(options));
    while (arrived.load() != count) ::usleep(200);
  });
  fmt::print("{:5} tasks: ready in {:.2f} s, page tables {:.1f} kB and {:.1f} mappings a task\n", count, ready,
             static_cast<double>(page_tables_kb(::getpid()) - tables) / count,
             static_cast<double>(count_mappings() - mappings) / count);
  ::close(pipe[1]);
  for (const pid_t pid : pids) space.wait(pid);
  ::close(pipe[0]);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure_lives();
    std::vector<int> counts = {16, 240, 1000};
    if (argc > 1) counts.clear();
    for (int i = 1; i < argc; ++i) counts.push_back(std::atoi(argv[i]));
    for (const int count : counts) measure_crowd(count);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "pvas-measure: {}\n", error.what());
    return 1;
  }
}
