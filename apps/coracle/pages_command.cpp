// `coracle pages check FILE...`: whether the files of paged segments are whole.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/coracle/commands.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/core/io.hpp"
#include "runtime/core/task.hpp"
#include "runtime/launch/say.hpp"
#include "storage/store/page_store.hpp"

namespace coracle::internals {
namespace {

constexpr int kFaultsFound = 1;
constexpr int kNoStore = 2;
constexpr std::size_t kFaultsShown = 20;
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};

Task<> check_file(Io& io, std::string path, storage::StoreReport& report) {
  report = co_await storage::check_store(io, std::move(path));
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t kKilo = 1024;
  if (bytes % (kKilo * kKilo) == 0) return fmt::format("{} MiB", bytes / (kKilo * kKilo));
  return fmt::format("{} KiB", bytes / kKilo);
}

void print(const std::string& path, const storage::StoreReport& report) {
  const storage::StoreShape& shape = report.shape;
  fmt::print("{}: {}\n", path,
             report.faults.empty()
                 ? "whole"
                 : fmt::format("DAMAGED, {} fault{}", report.faults.size(), report.faults.size() == 1 ? "" : "s"));
  fmt::print("  home {} of {}: {} pages of {}, of which {} hold something; {} places are free\n", shape.home,
             shape.homes, shape.pages, bytes_text(shape.page_bytes), report.pages_written, report.slots_free);
  fmt::print("  {} pages read and compared with their checksums\n", report.pages_checked);
  if (report.checkpoints.empty()) fmt::print("  no checkpoint\n");
  for (const storage::CheckpointInfo& each : report.checkpoints)
    fmt::print("  checkpoint \"{}\", epoch {}\n", each.name, each.epoch);
  const std::size_t shown = std::min(report.faults.size(), kFaultsShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const storage::StoreFault& fault = report.faults[i];
    fmt::print("  fault: {}{}\n", fault.page == kNoPage ? "" : fmt::format("page {} ", fault.page), fault.what);
  }
  if (shown < report.faults.size()) fmt::print("  and {} more faults\n", report.faults.size() - shown);
}

/// 0, kFaultsFound, or kNoStore where there is nothing to check.
int check_one(EventLoop& loop, const std::string& path) {
  try {
    storage::StoreReport report;
    loop.run(check_file(loop.io(), path, report));
    print(path, report);
    return report.faults.empty() ? 0 : kFaultsFound;
  } catch (const Error& error) {
    if (error.code() != Errc::page_damaged) {
      say("{}", error.what());
      return kNoStore;
    }
    fmt::print("{}: DAMAGED\n  fault: {}\n", path, error.what());
    return kFaultsFound;
  }
}

}  // namespace

void add_pages_command(CLI::App& app, int& status) {
  CLI::App* pages = app.add_subcommand("pages", "Looks after the files of paged segments");
  pages->require_subcommand(1);
  auto paths = std::make_shared<std::vector<std::string>>();
  CLI::App* check = pages->add_subcommand(
      "check",
      "Reads files of paged segments and compares everything with its checksums; changes nothing. "
      "Status 0: all are whole; 1: faults were found; 2: a file is in use, can't be read, or is none.");
  check->add_option("FILE", *paths, "The files, one for each home: PATH.0, PATH.1, ...")->required();
  check->callback([paths, &status] {
    EventLoop loop;
    for (const std::string& path : *paths) status = std::max(status, check_one(loop, path));
  });
}

}  // namespace coracle::internals
