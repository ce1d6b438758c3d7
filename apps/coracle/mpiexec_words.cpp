// Options of mpiexec, by what becomes of them.
#include "apps/coracle/mpiexec_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

[[noreturn]] void wrong(const std::string& text) {
  throw Error(Errc::bad_input, text);
}

/// Goes through the words; adds to the command.
class Translation {
 public:
  Translation(const std::vector<std::string>& words, const std::string& time_limit)
      : words_(words), time_limit_(time_limit) {}
  MpiexecCommand run();

 private:
  /// Behind a colon a program has options of its own; others are for the whole job.
  enum class Of { job, program };
  struct Option {
    std::string_view names;  // without their dashes, each between blanks
    Of of;
    const char* becomes = nullptr;  // the option of `coracle run` that gets its value
    void (*take)(Translation& self, const std::string& word) = nullptr;
  };
  static const Option kOptions[];
  static const Option* find(std::string_view word);

  const std::string& value(const std::string& option) {
    if (place_ == words_.size()) wrong(fmt::format("mpiexec: {}: its value is missing", option));
    return words_[place_++];
  }
  void take_options();
  void take_command();
  void take_file(const std::string& path);
  void take_programs(const std::string& path);
  void take_binding(const std::string& word);
  void take_output(const std::string& pattern);
  void settle_label();
  void settle_time_limit();
  void add(const char* option, std::string word) {
    command_.run_words.emplace_back(option);
    command_.run_words.push_back(std::move(word));
  }
  /// Told, with its values.
  void ignore(std::string word, int values) {
    for (const std::string option = word; values > 0; --values) word += " " + value(option);
    command_.ignored.push_back(std::move(word));
  }

  std::vector<std::string> words_;
  std::string time_limit_;  // "": none, or an option has given one
  std::size_t place_ = 0;
  bool is_first_ = true;  // of the programs
  std::string label_;     // the option that asks for it
  bool has_output_ = false;
  MpiexecCommand command_;
};

/// Of Open MPI 4.1, MPICH's Hydra 4.0 and Intel MPI 2021. Where they differ (-c, -s, -t), of the first that is known to
/// be used by scripts.
const Translation::Option Translation::kOptions[] = {
    {" n np c ", Of::program, "-n"},
    {" host H hosts hostlist ", Of::job, "--hosts"},
    {" x ", Of::program, "--env"},
    {" wdir wd ", Of::program, "--wdir"},
    {" timeout ", Of::job, nullptr,
     [](Translation& self, const std::string& word) {
       self.time_limit_.clear();
       self.add("--timeout", self.value(word));
     }},
    {" stdin s ", Of::job, "--stdin"},
    {" hostfile machinefile machine default-hostfile f ", Of::job, nullptr,
     [](Translation& self, const std::string& word) { self.take_file(self.value(word)); }},
    {" env ", Of::program, nullptr,
     [](Translation& self, const std::string& word) {
       const std::string& name = self.value(word);
       self.add("--env", fmt::format("{}={}", name, self.value(word)));
     }},
    {" genv ", Of::job, nullptr,
     [](Translation& self, const std::string& word) {
       const std::string& name = self.value(word);
       self.command_.environment.emplace_back(name, self.value(word));
     }},
    // Of this environment, which all ranks have anyway.
    {" envlist genvlist ", Of::program, nullptr,
     [](Translation& self, const std::string& word) { static_cast<void>(self.value(word)); }},
    {" gwdir ", Of::job, nullptr,
     [](Translation& self, const std::string& word) { self.command_.directory = self.value(word); }},
    {" bind-to ", Of::job, nullptr,
     [](Translation& self, const std::string& word) { self.take_binding(self.value(word)); }},
    {" tag-output l prepend-rank ", Of::job, nullptr,
     [](Translation& self, const std::string& word) { self.label_ = word; }},
    {" output-filename outfile-pattern ", Of::job, nullptr,
     [](Translation& self, const std::string& word) { self.take_output(self.value(word)); }},
    {" app configfile ", Of::job, nullptr,
     [](Translation& self, const std::string& word) { self.take_programs(std::string(self.value(word))); }},
    {" v verbose ", Of::job, nullptr,
     [](Translation& self, const std::string&) { self.command_.run_words.emplace_back("-v"); }},
    {" V version ", Of::job, nullptr,
     [](Translation& self, const std::string&) { self.command_.wants_version = true; }},
    // What it asks for is so anyway.
    {" envall genvall bind-to-core oversubscribe use-hwthread-cpus allow-run-as-root q quiet disable-recovery "
     "enable-auto-cleanup leave-session-attached noprefix novm ",
     Of::program, nullptr, [](Translation&, const std::string&) {}},
    {// Open MPI
     " bind-to-socket bycore bynode byslot continuous d debug-devel debug debug-daemons debug-daemons-file "
     "display-allocation display-devel-allocation display-devel-map display-diffable-map display-map display-topo "
     "do-not-launch do-not-resolve dvm enable-instant-on-support enable-recovery fwd-mpirun-port "
     "get-stack-traces index-argv-by-rank merge-stderr-to-stdout nolocal nooversubscribe output-proctable "
     "pernode preload-binary report-bindings report-child-jobs-separately report-state-on-timeout "
     "set-cwd-to-session-dir show-progress timestamp-output tv use-regexp xml "
     // Hydra and Intel MPI
     "envnone genvnone enable-x disable-x info print-all-exitcodes profile disable-auto-cleanup "
     "disable-hostname-propagation enable-hostname-propagation pmi-port skip-launch-node rr ilp64 noconf "
     "ordered-output print-rank-map silent-abort gdb cleanup check_mpi t trace ",
     Of::program, nullptr, [](Translation& self, const std::string& word) { self.ignore(word, 0); }},
    {// Open MPI
     " am cf cartofile cpu-list cpu-set cpus-per-proc cpus-per-rank debugger hnp launch-agent map-by "
     "max-restarts max-vm-size N npernode npersocket ompi-server path personality ppr prefix preload-files "
     "rank-by report-events report-pid report-uri rf rankfile tune xml-file xterm "
     // Hydra and Intel MPI
     "launcher launcher-exec bootstrap bootstrap-exec bootstrap-exec-args rmk topolib membind demux iface ppn "
     "perhost grr prepend-pattern errfile-pattern output-from nameserver order-nodes localhost usize "
     "gpus-per-proc hosts-group branch-count genvexcl gpath umask gumask use-app-topology tmpdir gdba gtool "
     "gtoolfile hostos ",
     Of::program, nullptr, [](Translation& self, const std::string& word) { self.ignore(word, 1); }},
    {" mca gmca ", Of::program, nullptr, [](Translation& self, const std::string& word) { self.ignore(word, 2); }},
};

/// Null: it is not known.
const Translation::Option* Translation::find(std::string_view word) {
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  if (word.empty() || word.find(' ') != std::string_view::npos) return nullptr;
  const std::string name = fmt::format(" {} ", word);
  const auto* const known = std::ranges::find_if(
      kOptions, [&name](const Option& option) { return option.names.find(name) != std::string_view::npos; });
  return known == std::end(kOptions) ? nullptr : known;
}

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

/// Each line holds the options, the name and the arguments of a program. Nothing else counts then.
void Translation::take_programs(const std::string& path) {
  std::ifstream file(path);
  if (!file) wrong(fmt::format("can't read the programs' file {}", path));
  std::vector<std::string> all;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::vector<std::string> program;
    for (std::string word; words >> word;) program.push_back(word);
    if (program.empty()) continue;
    if (!all.empty()) all.emplace_back(":");
    all.insert(all.end(), program.begin(), program.end());
  }
  if (all.empty()) wrong(fmt::format("the programs' file {} names no program", path));
  words_ = std::move(all);
  place_ = 0;
  command_ = MpiexecCommand();
}

/// Open MPI's may have directives behind a colon.
void Translation::take_output(const std::string& pattern) {
  std::string file = pattern.substr(0, pattern.find(':'));
  if (file.find('%') == std::string::npos) file += ".%r";
  has_output_ = true;
  add("--output", std::move(file));
}

/// Files of their own need no labels.
void Translation::settle_label() {
  if (label_.empty()) return;
  if (has_output_)
    command_.ignored.push_back(label_);
  else
    command_.run_words.insert(command_.run_words.begin(), "--label");
}

void Translation::settle_time_limit() {
  if (time_limit_.empty() || command_.wants_version || time_limit_.starts_with("-")) return;  // -1: no limit
  if (time_limit_.find_first_not_of("0123456789") != std::string::npos)
    wrong(fmt::format("MPIEXEC_TIMEOUT={}: must be a whole number of seconds", time_limit_));
  if (time_limit_.find_first_not_of('0') == std::string::npos) return;  // no limit
  command_.run_words.insert(command_.run_words.begin(), {"--timeout", time_limit_});
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

void Translation::take_options() {
  while (place_ < words_.size() && words_[place_].starts_with("-")) {
    const std::string word = words_[place_++];
    const Option* const option = find(word);
    if (option == nullptr)
      wrong(fmt::format("mpiexec: the option {} is not known: `coracle run --help` tells what there is", word));
    if (!is_first_ && option->of == Of::job)
      wrong(fmt::format("mpiexec: {}: it is for the whole job; give it before the first program", word));
    if (option->becomes != nullptr)
      add(option->becomes, value(word));
    else
      option->take(*this, word);
  }
}

void Translation::take_command() {
  while (place_ < words_.size() && words_[place_] != ":") command_.run_words.push_back(words_[place_++]);
}

MpiexecCommand Translation::run() {
  for (;;) {
    take_options();
    take_command();
    if (place_ == words_.size()) break;
    command_.run_words.push_back(words_[place_++]);
    is_first_ = false;
  }
  settle_label();
  settle_time_limit();
  return std::move(command_);
}

}  // namespace

MpiexecCommand translate_mpiexec(const std::vector<std::string>& words, const std::string& time_limit) {
  return Translation(words, time_limit).run();
}

}  // namespace coracle::internals
