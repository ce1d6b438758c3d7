// Reading, writing and searching the file of measured costs.
#include "collectives/choice/tuning_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "collectives/choice/model.hpp"
#include "collectives/choice/tuning.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

constexpr std::string_view kTitle = "coracle-tuning 1";
constexpr const char* kRemedy = "`coracle bench tune` measures anew";
constexpr std::size_t kBytesMost = 1 << 20;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void wrong(const std::string& where, const std::string& what) {
  throw Error(Errc::bad_input, fmt::format("{}: {}", where, what));
}

TuningRecord parse_record(std::string_view text, const std::string& where) {
  TuningRecord record;
  for_each_setting(text, where, [&](std::string_view key, std::string_view value) {
    if (key == "host") {
      record.host = value;
    } else if (key == "level") {
      record.level = value;
    } else if (key == "crowded") {
      if (value != "yes" && value != "no") wrong(where, fmt::format("crowded={:?}: expected yes or no", value));
      record.crowded = value == "yes";
    } else if (key == "cores") {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), record.cores);
      if (error != std::errc() || end != value.data() + value.size() || record.cores == 0)
        wrong(where, fmt::format("cores={:?}: expected a number from 1 on", value));
    } else {
      try {
        Costs costs;
        record.costs.emplace_back(key, set_cost(costs, key, value));
      } catch (const Error& error) {
        wrong(where, error.what());
      }
    }
  });
  if (record.host.empty() || record.level.empty() || record.cores == 0)
    wrong(where, "a record needs host=, cores= and level=");
  return record;
}

std::string costs_text(const TuningRecord& record) {
  std::string text;
  for (const auto& [name, value] : record.costs) text += fmt::format("{}{}={:g}", text.empty() ? "" : " ", name, value);
  return text;
}

/// The costs of one level, or "" with a reason where that is to be told.
std::string costs_of_level(const std::vector<TuningRecord>& records, const TuningQuery& query, const std::string& level,
                           const std::string& path, std::vector<std::string>& warnings) {
  const TuningRecord wanted{query.host, query.cores, level, query.crowded, {}};
  const auto found = std::find_if(records.begin(), records.end(),
                                  [&wanted](const TuningRecord& record) { return record.is_of(wanted); });
  if (found == records.end()) return "";
  if (found->cores == query.cores) return costs_text(*found);
  warnings.push_back(
      fmt::format("the costs of {} in {} are stale: they were measured with {} cores, and {} has {} now; the built-in "
                  "ones are taken ({})",
                  level, path, found->cores, query.host, query.cores, kRemedy));
  return "";
}

}  // namespace

std::vector<TuningRecord> parse_tuning(std::string_view text, std::string_view name) {
  std::vector<TuningRecord> records;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view words = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(words.size() + 1, text.size()));
    const std::string where = fmt::format("{}:{}", name, line);
    if (line == 1) {
      if (words != kTitle)
        wrong(where, fmt::format("expected {:?}; the file is none of this version ({})", kTitle, kRemedy));
    } else if (!words.empty() && words.front() != '#') {
      put_record(records, parse_record(words, where));
    }
  }
  return records;
}

std::string tuning_text(const std::vector<TuningRecord>& records) {
  std::string text = fmt::format("{}\n", kTitle);
  for (const TuningRecord& record : records)
    text += fmt::format("host={} cores={} level={} crowded={} {}\n", record.host, record.cores, record.level,
                        record.crowded ? "yes" : "no", costs_text(record));
  return text;
}

void put_record(std::vector<TuningRecord>& records, TuningRecord record) {
  const auto old = std::find_if(records.begin(), records.end(),
                                [&record](const TuningRecord& other) { return other.is_of(record); });
  if (old != records.end())
    *old = std::move(record);
  else
    records.push_back(std::move(record));
}

std::string tuning_path() {
  if (const char* path = std::getenv("CORACLE_TUNING")) return path;
  const char* folder = std::getenv("XDG_CONFIG_HOME");
  if (folder != nullptr && folder[0] != '\0') return std::string(folder) + "/coracle/tuning";
  const char* home = std::getenv("HOME");
  return home == nullptr || home[0] == '\0' ? "" : std::string(home) + "/.config/coracle/tuning";
}

std::vector<TuningRecord> read_tuning(const std::string& path) {
  const File file(std::fopen(path.c_str(), "re"), &std::fclose);
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return {};
  if (!file) throw_errno(errno, fmt::format("can't open {}", path));
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t bytes = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    text.append(buffer.data(), bytes);
    if (text.size() > kBytesMost) throw Error(Errc::bad_input, fmt::format("{}: too large to be a tuning file", path));
  }
  if (std::ferror(file.get()) != 0) throw_errno(errno, fmt::format("can't read {}", path));
  return parse_tuning(text, path);
}

void write_tuning(const std::string& path, const std::vector<TuningRecord>& records) {
  const std::filesystem::path place(path);
  std::error_code error;
  if (place.has_parent_path()) std::filesystem::create_directories(place.parent_path(), error);
  if (error) throw Error(error, fmt::format("can't make the folder of {}: {}", path, error.message()));
  const std::string draft = fmt::format("{}.{}", path, ::getpid());
  ::unlink(draft.c_str());  // what an earlier process with this number has left
  {
    const std::string text = tuning_text(records);
    // x: a new file. The name can be guessed, and a link may have been put there that leads to another one.
    const File file(std::fopen(draft.c_str(), "wxe"), &std::fclose);
    if (!file) throw_errno(errno, fmt::format("can't create {}", draft));
    if (std::fputs(text.c_str(), file.get()) < 0 || std::fflush(file.get()) != 0) {
      const int code = errno;
      ::unlink(draft.c_str());
      throw_errno(code, fmt::format("can't write {}", draft));
    }
  }
  std::filesystem::rename(draft, place, error);
  if (!error) return;
  ::unlink(draft.c_str());
  throw Error(error, fmt::format("can't write {}: {}", path, error.message()));
}

std::string measured_costs(const TuningQuery& query, std::vector<std::string>& warnings) {
  const std::string path = tuning_path();
  if (path.empty()) return "";
  const char* const named = std::getenv("CORACLE_TUNING");
  try {
    const std::vector<TuningRecord> records = read_tuning(path);
    if (records.empty() && named != nullptr)
      warnings.push_back(fmt::format("CORACLE_TUNING names {}, which holds nothing; the built-in costs are taken ({})",
                                     path, kRemedy));
    std::string costs = costs_of_level(records, query, query.placement, path, warnings);
    const std::string between = query.link.empty() ? "" : costs_of_level(records, query, query.link, path, warnings);
    if (!between.empty()) costs += (costs.empty() ? "" : " ") + between;
    return costs;
  } catch (const Error& error) {
    warnings.push_back(fmt::format("{}; the built-in costs are taken ({})", error.what(), kRemedy));
    return "";
  }
}

}  // namespace coracle::internals
