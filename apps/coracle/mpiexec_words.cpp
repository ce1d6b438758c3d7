// Options of mpiexec, by what becomes of them.
#include "apps/coracle/mpiexec_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

enum class Meaning {
  ranks,
  hosts,
  host_file,
  variable,        // NAME or NAME=VALUE
  variable_value,  // NAME VALUE
  variable_list,   // NAME,NAME: of this environment, which all ranks have anyway
  directory,
  binding,
  timeout,
  verbose,
  nothing,         // what it asks for is so anyway
  ignored,         // told
  ignored_value,   // told, with a value
  ignored_values,  // with two
};

struct Option {
  std::string_view name;  // without its dashes
  Meaning meaning;
};

constexpr std::array kOptions{
    Option{"n", Meaning::ranks},
    Option{"np", Meaning::ranks},
    Option{"c", Meaning::ranks},
    Option{"host", Meaning::hosts},
    Option{"H", Meaning::hosts},
    Option{"hosts", Meaning::hosts},
    Option{"hostfile", Meaning::host_file},
    Option{"machinefile", Meaning::host_file},
    Option{"default-hostfile", Meaning::host_file},
    Option{"f", Meaning::host_file},
    Option{"x", Meaning::variable},
    Option{"env", Meaning::variable_value},
    Option{"genv", Meaning::variable_value},
    Option{"envlist", Meaning::variable_list},
    Option{"genvlist", Meaning::variable_list},
    Option{"envall", Meaning::nothing},
    Option{"genvall", Meaning::nothing},
    Option{"wdir", Meaning::directory},
    Option{"wd", Meaning::directory},
    Option{"bind-to", Meaning::binding},
    Option{"bind-to-core", Meaning::nothing},
    Option{"timeout", Meaning::timeout},
    Option{"v", Meaning::verbose},
    Option{"verbose", Meaning::verbose},
    Option{"oversubscribe", Meaning::nothing},
    Option{"use-hwthread-cpus", Meaning::nothing},
    Option{"allow-run-as-root", Meaning::nothing},
    Option{"q", Meaning::nothing},
    Option{"quiet", Meaning::nothing},
    Option{"nooversubscribe", Meaning::ignored},
    Option{"report-bindings", Meaning::ignored},
    Option{"display-map", Meaning::ignored},
    Option{"tag-output", Meaning::ignored},
    Option{"l", Meaning::ignored},
    Option{"prepend-rank", Meaning::ignored},
    Option{"map-by", Meaning::ignored_value},
    Option{"rank-by", Meaning::ignored_value},
    Option{"N", Meaning::ignored_value},
    Option{"npernode", Meaning::ignored_value},
    Option{"ppn", Meaning::ignored_value},
    Option{"perhost", Meaning::ignored_value},
    Option{"launcher", Meaning::ignored_value},
    Option{"iface", Meaning::ignored_value},
    Option{"stdin", Meaning::ignored_value},
    Option{"output-filename", Meaning::ignored_value},
    Option{"prefix", Meaning::ignored_value},
    Option{"mca", Meaning::ignored_values},
    Option{"gmca", Meaning::ignored_values},
};

[[noreturn]] void wrong(const std::string& text) {
  throw Error(Errc::bad_input, text);
}

/// Goes through the words; adds to the command.
class Translation {
 public:
  explicit Translation(const std::vector<std::string>& words) : words_(words) {}
  MpiexecCommand run();

 private:
  const std::string& value(const std::string& option) {
    if (place_ == words_.size()) wrong(fmt::format("{}: its value is missing", option));
    return words_[place_++];
  }
  void take(const std::string& word, Meaning meaning);
  void take_file(const std::string& path);
  void take_variable(const std::string& text);
  void take_binding(const std::string& word);
  void add(const char* option, std::string word) {
    command_.run_words.emplace_back(option);
    command_.run_words.push_back(std::move(word));
  }

  const std::vector<std::string>& words_;
  std::size_t place_ = 0;
  MpiexecCommand command_;
};

/// "a:4,b" in words of `--hosts`, which has a number for all or for none: slots count if each has some.
std::string hosts_of(const std::vector<std::pair<std::string, std::string>>& hosts) {
  const bool counted = std::all_of(hosts.begin(), hosts.end(), [](const auto& host) { return !host.second.empty(); });
  std::string text;
  for (const auto& [name, slots] : hosts)
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", name, counted ? ":" + slots : "");
  return text;
}

/// Lines of Open MPI's ("host slots=4") and MPICH's ("host:4") files.
void Translation::take_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) wrong(fmt::format("can't read the hosts' file {}", path));
  std::vector<std::pair<std::string, std::string>> hosts;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    if (!(words >> name)) continue;
    std::string slots;
    if (const std::size_t colon = name.find(':'); colon != std::string::npos && name.rfind(':') == colon) {
      slots = name.substr(colon + 1);
      name.resize(colon);
    }
    for (std::string word; words >> word;)
      if (word.starts_with("slots=")) slots = word.substr(6);
    hosts.emplace_back(name, slots);
  }
  if (hosts.empty()) wrong(fmt::format("the hosts' file {} names no host", path));
  add("--hosts", hosts_of(hosts));
}

void Translation::take_variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos) command_.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  // Of this environment ranks have everything anyway.
}

void Translation::take_binding(const std::string& word) {
  const std::string_view unit = std::string_view(word).substr(0, word.find(':'));
  if (unit == "none")
    add("--bind", "none");
  else if (unit == "core" || unit == "hwthread")
    add("--bind", word.find("overload-allowed") == std::string::npos ? "core" : "share");
  else
    command_.ignored.push_back("--bind-to " + word);
}

void Translation::take(const std::string& word, Meaning meaning) {
  switch (meaning) {
    case Meaning::ranks:
      return add("-n", value(word));
    case Meaning::hosts:
      return add("--hosts", value(word));
    case Meaning::host_file:
      return take_file(value(word));
    case Meaning::variable:
      return take_variable(value(word));
    case Meaning::variable_value: {
      const std::string& name = value(word);
      command_.environment.emplace_back(name, value(word));
      return;
    }
    case Meaning::variable_list:
      static_cast<void>(value(word));
      return;
    case Meaning::directory:
      command_.directory = value(word);
      return;
    case Meaning::binding:
      return take_binding(value(word));
    case Meaning::timeout:
      return add("--timeout", value(word));
    case Meaning::verbose:
      command_.run_words.emplace_back("-v");
      return;
    case Meaning::nothing:
      return;
    case Meaning::ignored:
      command_.ignored.push_back(word);
      return;
    case Meaning::ignored_value:
      command_.ignored.push_back(word + " " + value(word));
      return;
    case Meaning::ignored_values: {
      const std::string first = value(word);
      command_.ignored.push_back(fmt::format("{} {} {}", word, first, value(word)));
      return;
    }
  }
}

MpiexecCommand Translation::run() {
  while (place_ < words_.size() && words_[place_].starts_with("-")) {
    const std::string& word = words_[place_++];
    std::string_view name = word;
    name.remove_prefix(name.starts_with("--") ? 2 : 1);
    const auto known =
        std::find_if(kOptions.begin(), kOptions.end(), [name](const Option& option) { return option.name == name; });
    if (known == kOptions.end())
      wrong(fmt::format("mpiexec: the option {} is not known: `coracle run --help` tells what there is", word));
    take(word, known->meaning);
  }
  if (std::find(words_.begin() + static_cast<std::ptrdiff_t>(place_), words_.end(), ":") != words_.end())
    wrong("mpiexec: several programs, with a : between them, can't be one job yet");
  command_.run_words.insert(command_.run_words.end(), words_.begin() + static_cast<std::ptrdiff_t>(place_),
                            words_.end());
  return std::move(command_);
}

}  // namespace

MpiexecCommand translate_mpiexec(const std::vector<std::string>& words) {
  return Translation(words).run();
}

}  // namespace coracle::internals
