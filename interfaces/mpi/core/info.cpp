#include "interfaces/mpi/core/info.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "interfaces/mpi/core/error.hpp"

namespace coracle::mpi {

namespace {

const char* name_of(ThreadLevel level) noexcept {
  switch (level) {
    case ThreadLevel::funneled:
      return "MPI_THREAD_FUNNELED";
    case ThreadLevel::serialized:
      return "MPI_THREAD_SERIALIZED";
    case ThreadLevel::multiple:
      return "MPI_THREAD_MULTIPLE";
    default:
      return "MPI_THREAD_SINGLE";
  }
}

std::string joined_words(std::span<const char* const> words) {
  std::string text;
  for (const char* word : words) {
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

void describe_start(const char* key, std::string value) {
  if (value.size() >= kInfoValueMax) value.resize(kInfoValueMax - 1);
  if (!value.empty()) environment_info().set(key, std::move(value));
}

}  // namespace

void Info::set(std::string key, std::string value) {
  if (key.empty()) raise(ErrorClass::info_key, "the key is empty: give one of 1 to {} characters", kInfoKeyMax - 1);
  if (key.size() >= kInfoKeyMax)
    raise(ErrorClass::info_key, "the key \"{}\" has {} characters: at most {} are allowed", key, key.size(),
          kInfoKeyMax - 1);
  if (value.empty()) raise(ErrorClass::info_value, "the value of the key \"{}\" is empty", key);
  if (value.size() >= kInfoValueMax)
    raise(ErrorClass::info_value, "the value of the key \"{}\" has {} characters: at most {} are allowed", key,
          value.size(), kInfoValueMax - 1);
  const auto same = [&](const auto& entry) { return entry.first == key; };
  const auto found = std::find_if(entries_.begin(), entries_.end(), same);
  if (found != entries_.end())
    found->second = std::move(value);
  else
    entries_.emplace_back(std::move(key), std::move(value));
}

const std::string* Info::find(const std::string& key) const noexcept {
  for (const auto& [known, value] : entries_) {
    if (known == key) return &value;
  }
  return nullptr;
}

void Info::erase(const std::string& key) {
  if (std::erase_if(entries_, [&](const auto& entry) { return entry.first == key; }) == 0)
    raise(ErrorClass::info_nokey, "there is no key \"{}\" in the info", key);
}

Info* Info::duplicate() const {
  auto* copy = new Info;
  copy->entries_ = entries_;
  return copy;
}

Info& checked(Info* info) {
  if (info == nullptr) raise(ErrorClass::info, "the info is MPI_INFO_NULL: make one with MPI_Info_create");
  return *info;
}

Info& environment_info() {
  static Info& info = *new Info;
  info.set_predefined();
  return info;
}

void describe_environment(std::span<const char* const> arguments, int processes, ThreadLevel level) {
  if (!arguments.empty()) {
    describe_start("command", arguments.front());
    describe_start("argv", joined_words(arguments.subspan(1)));
  }
  describe_start("maxprocs", std::to_string(processes));
  describe_start("soft", std::to_string(processes));
  utsname system{};
  if (::uname(&system) == 0) {
    describe_start("host", system.nodename);
    describe_start("arch", system.machine);
  }
  char folder[PATH_MAX];
  if (::getcwd(folder, sizeof folder) != nullptr) describe_start("wdir", folder);
  describe_start("thread_level", name_of(level));
}

}  // namespace coracle::mpi
