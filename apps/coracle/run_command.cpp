// `coracle run`: a program as the ranks of a job. Its options are checked word by word, so that each complaint names
// its option.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Error.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/common/command_line.hpp"
#include "apps/common/units.hpp"
#include "apps/coracle/commands.hpp"
#include "apps/coracle/machine.hpp"
#include "apps/coracle/otf2/otf2_trace.hpp"
#include "apps/coracle/programs.hpp"
#include "runtime/core/error.hpp"
#include "runtime/insight/chrome_trace_file.hpp"
#include "runtime/insight/summary_memory.hpp"
#include "runtime/insight/trace_memory.hpp"
#include "runtime/launch/head_launcher.hpp"
#include "runtime/launch/job_options.hpp"
#include "runtime/launch/launcher.hpp"
#include "runtime/launch/mpi_libraries.hpp"
#include "runtime/launch/pmix_client.hpp"
#include "runtime/launch/pmix_launcher.hpp"
#include "runtime/launch/rank_files.hpp"
#include "runtime/team/team.hpp"
#include "transports/connect.hpp"
#include "transports/tca/packet.hpp"

namespace coracle::internals {
namespace {

/// An empty word: the option was not given.
struct RunWords {
  std::string placement;  ///< Empty: as `intranode` needs it.
  std::string intranode = "auto";
  std::string eager = "8K";
  std::string unexpected = "64M";
  std::string nodes;
  std::string hosts;
  std::string shell;
  std::string interface;
  std::string transport = "auto";
  std::string silence = "10s";
  std::string connections = std::to_string(NetworkOptions{}.connections_max);
  bool survive = false;
  std::string segment = "1G";
  std::string timeout;
  std::string stall;
  std::string stall_log;
  std::string seed;
  std::string network;
  std::string faults;
  std::string binding = "core";
  std::string trace;
  std::string trace_buffer = "16M";
  bool summary = false;
  std::string summary_files;
  bool verbose = false;
  StreamWords streams;
  ProgramWords program;  ///< The first, and all that follows.
};

/// A host and how many ranks it gets.
struct HostWord {
  std::string name;
  std::optional<std::uint32_t> ranks;
};

/// What the library itself takes of a segment, and some room for the program.
constexpr std::uint64_t kLeastSegment = 128 * 1024;

void set_seed(const std::string& word, JobShape& shape) {
  if (word.empty()) return;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const auto seed = parse_whole(word, 0, kMost);
  if (!seed) wrong(fmt::format("--seed {}: must be from 0 to {}", word, kMost));
  if (shape.placement != Placement::sim)
    wrong(fmt::format("--seed {}: only --place sim has a schedule to repeat; add that, or leave the seed out", word));
  shape.seed = *seed;
}

void set_segment(const std::string& word, JobShape& shape) {
  const auto bytes = parse_bytes(word);
  if (!bytes) wrong(fmt::format("--segment {}: must be a size such as 64M or 1G", word));
  if (*bytes < kLeastSegment)
    wrong(fmt::format("--segment {}: must be at least {}K, of which the library itself takes {}K", word,
                      kLeastSegment >> 10, TeamArea::kWorldBytes >> 10));
  shape.segment_bytes = *bytes;
}

/// Of a file that only --place sim reads; `only`: why. Empty: it was not given.
template <std::size_t N>
bool takes_path(const char* option, const std::string& path, const char* only, const JobShape& shape,
                std::array<char, N>& place) {
  if (path.empty()) return false;
  if (shape.placement != Placement::sim)
    wrong(fmt::format("{}: only the simulated network of --place sim {}", option, only));
  if (path.size() >= place.size())
    wrong(fmt::format("{}: the path is longer than {} characters", option, place.size() - 1));
  path.copy(place.data(), path.size());
  return true;
}

void set_simulation(const RunWords& words, JobShape& shape) {
  if (takes_path("--network", words.network, "reads a model", shape, shape.network_file) &&
      ::access(words.network.c_str(), R_OK) != 0)
    throw_errno(errno, fmt::format("can't read the network model {}", words.network));
  if (takes_path("--faults", words.faults, "fails by a plan", shape, shape.faults) && words.faults != "random" &&
      ::access(words.faults.c_str(), R_OK) != 0)
    throw_errno(errno,
                fmt::format("can't read the fault plan {} (`--faults random` draws one from the seed)", words.faults));
}

std::chrono::nanoseconds duration(const char* option, const std::string& word) {
  const auto time = parse_duration(word);
  if (!time) wrong(fmt::format("{} {}: must be a time such as 500ms, 30s or 5m (30: seconds)", option, word));
  return *time;
}

NetworkOptions network_options(const RunWords& words) {
  NetworkOptions network;
  network.silence_limit_ns = static_cast<std::uint64_t>(duration("--silence", words.silence).count());
  if (network.silence_limit_ns < 100'000'000)
    wrong(fmt::format("--silence {}: must be at least 100ms, or a busy machine would pass for a dead one",
                      words.silence));
  network.connections_max = number_of("--connections", words.connections);
  network.survive = words.survive;
  if (words.transport == "tcp")
    network.transport = RemoteTransport::tcp;
  else if (words.transport == "verbs")
    network.transport = RemoteTransport::verbs;
  else if (words.transport == "tca")
    network.transport = RemoteTransport::tca;
  else if (words.transport != "auto")
    wrong(fmt::format("--transport {}: must be auto, tcp, verbs or tca", words.transport));
  return network;
}

/// "a,b:4,[fe80::1]:2" in order; nothing where a name is empty or a count is not from 1 to a million.
std::optional<std::vector<HostWord>> parse_hosts(std::string_view text) {
  std::vector<HostWord> hosts;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    HostWord host;
    std::string_view name = word;
    // An address of IPv6 has colons of its own: a count goes after its brackets.
    const std::size_t colon = word.rfind(':');
    const bool bracketed = !word.empty() && word.front() == '[';
    const bool counted =
        colon != std::string_view::npos && (bracketed ? colon > 0 && word[colon - 1] == ']' : word.find(':') == colon);
    if (counted) {
      const auto ranks = parse_whole(word.substr(colon + 1), 1, kRanksMax);
      if (!ranks) return std::nullopt;
      host.ranks = static_cast<std::uint32_t>(*ranks);
      name = word.substr(0, colon);
    }
    if (bracketed && name.size() >= 2 && name.back() == ']') name = name.substr(1, name.size() - 2);
    // One that starts with '-' would be an option of ssh.
    if (name.empty() || name.front() == '-' || name.find(' ') != std::string_view::npos) return std::nullopt;
    host.name = name;
    hosts.push_back(std::move(host));
    if (comma == std::string_view::npos) return hosts;
    text.remove_prefix(comma + 1);
  }
}

/// Nodes and their ranks, from --hosts.
void set_hosts(const RunWords& words, const std::string& ranks, JobOptions& options) {
  const auto hosts = parse_hosts(words.hosts);
  if (!hosts)
    wrong(fmt::format("--hosts {}: must be names, each with a number of ranks if you like: a,b:4", words.hosts));
  if (options.shape.placement == Placement::sim) wrong("--hosts: --place sim runs in one process");
  if (!words.nodes.empty() && number_of("--nodes", words.nodes) != hosts->size())
    wrong(fmt::format("--nodes {}: --hosts names {}; leave --nodes out", words.nodes, hosts->size()));
  std::uint64_t sum = 0;
  for (const HostWord& host : *hosts) {
    options.hosts.push_back(host.name);
    if (host.ranks.has_value() != hosts->front().ranks.has_value())
      wrong(fmt::format("--hosts {}: give all hosts a number of ranks, or none", words.hosts));
    if (!host.ranks) continue;
    options.ranks_per_node.push_back(*host.ranks);
    sum += *host.ranks;
  }
  options.shape.nodes = static_cast<std::uint32_t>(hosts->size());
  if (sum == 0 && ranks.empty()) wrong("--hosts: say how many ranks, by -n or as in a:4,b:4");
  if (sum > kRanksMax) wrong(fmt::format("--hosts: {} ranks in all: must be from 1 to {}", sum, kRanksMax));
  options.shape.size = ranks.empty() ? static_cast<std::uint32_t>(sum) : number_of("-n", ranks);
  if (sum != 0 && options.shape.size != sum)
    wrong(fmt::format("-n {}: the hosts have {} ranks; leave -n out, or their numbers", ranks, sum));
}

/// `ranks`: how many are wanted, as a word; "": it is not said.
void set_size(const RunWords& words, const std::string& ranks, JobOptions& options) {
  JobShape& shape = options.shape;
  if (!words.hosts.empty()) {
    set_hosts(words, ranks, options);
  } else {
    shape.size = ranks.empty() ? static_cast<std::uint32_t>(usable_cores().size()) : number_of("-n", ranks);
    shape.nodes = words.nodes.empty() ? 1 : number_of("--nodes", words.nodes);
  }
  if (shape.nodes > shape.size) {
    wrong(fmt::format("--nodes {}: there are only {} rank{}, and every node needs one", shape.nodes, shape.size,
                      shape.size == 1 ? "" : "s"));
  }
  if (shape.network.transport == RemoteTransport::tca && shape.nodes > 1 && shape.placement != Placement::sim)
    wrong(fmt::format("--transport tca: its devices (in software) join the ranks of one node; leave out --nodes {}",
                      shape.nodes));
  if (shape.network.transport == RemoteTransport::tca && shape.size > tca::PacketArea::kRanksMax)
    wrong(fmt::format("--transport tca: joins at most {} ranks, not {}", tca::PacketArea::kRanksMax, shape.size));
  // Inboxes are for the ranks of one node: the largest.
  std::uint32_t most = shape.placement == Placement::sim ? shape.size : (shape.size + shape.nodes - 1) / shape.nodes;
  for (const std::uint32_t count : options.ranks_per_node) most = std::max(most, count);
  shape.inbox_bytes = transport_inbox_bytes(most, shape.network.transport);
}

/// Where the ranks run, and how their messages go there.
void set_placement(const RunWords& words, JobShape& shape) {
  const bool by_processes = words.intranode == "shm" || words.intranode == "cma";
  if (by_processes)
    shape.messages.scheme = words.intranode == "shm" ? RendezvousScheme::shm : RendezvousScheme::cma;
  else if (words.intranode != "auto" && words.intranode != "pvas")
    wrong(fmt::format("--intranode {}: must be auto, pvas, shm or cma", words.intranode));
  const std::string fitting = by_processes ? "process" : "pvas";
  const auto placement = parse_placement(words.placement.empty() ? fitting : words.placement);
  if (!placement) wrong(fmt::format("--place {}: must be pvas, process, thread or sim", words.placement));
  if (words.intranode == "pvas" && *placement != Placement::pvas)
    wrong(fmt::format("--intranode pvas: the ranks of --place {} share no address space", words.placement));
  if (by_processes && *placement == Placement::sim)
    wrong(fmt::format("--intranode {}: --place sim has a network of its own", words.intranode));
  shape.placement = *placement;
}

std::uint64_t bytes_up_to(const char* option, const std::string& word, std::uint64_t most) {
  const auto bytes = parse_bytes(word);
  if (!bytes || *bytes > most)
    wrong(fmt::format("{} {}: must be a size from 1 to {} bytes, such as 64K", option, word, most));
  return *bytes;
}

void set_messages(const RunWords& words, MessageOptions& messages) {
  messages.eager_bytes = static_cast<std::uint32_t>(bytes_up_to("--eager", words.eager, 1 << 20));
  messages.unexpected_bytes = bytes_up_to("--unexpected", words.unexpected, std::uint64_t{1} << 40);
}

/// Fills in who runs what. The job's number of ranks is known.
void set_programs(const RunWords& words, std::vector<ProgramPart> programs, JobOptions& options) {
  if (programs.size() == 1) programs.front().ranks = options.shape.size;
  options.programs = std::move(programs);
  const Placement placement = options.shape.placement;
  if (options.programs.size() > 1 && (placement == Placement::thread || placement == Placement::sim))
    wrong(
        fmt::format("--place {}: all ranks are in one process, and so of one program; several programs need --place "
                    "pvas or process",
                    to_string(placement)));
  if (words.placement.empty() && words.intranode == "auto" && placement == Placement::pvas) suit_programs(options);
}

/// Which address others use. Nobody else is there when all ranks run on one node here.
void set_interface(const RunWords& words, JobOptions& options) {
  if (words.interface.empty()) return;
  const bool alone = options.hosts.empty() && options.shape.nodes == 1 && !PmixClient::is_wanted();
  if (alone || options.shape.placement == Placement::sim)
    wrong(
        fmt::format("--interface {}: this job has no other nodes that it would be for; leave it out, or name "
                    "--hosts or --nodes",
                    words.interface));
  options.interface = words.interface;
}

void set_trace(const RunWords& words, JobOptions& options) {
  const auto bytes = parse_bytes(words.trace_buffer);
  if (!bytes || *bytes < TraceMemory::kBytesMin)
    wrong(fmt::format("--trace-buffer {}: must be a size of at least {}K, such as 16M", words.trace_buffer,
                      TraceMemory::kBytesMin >> 10));
  if (words.trace.empty()) return;
  if (words.trace.ends_with(".json"))
    options.open_trace = open_chrome_trace;
  else if (words.trace.ends_with(".otf2") || words.trace.ends_with(".otf2/"))
    options.open_trace = open_otf2_trace;
  else
    wrong(
        fmt::format("--trace {}: the file's name must end in .json (Chrome's format, which Perfetto opens) or .otf2 "
                    "(a folder in the format OTF2, which Vampir opens)",
                    words.trace));
  options.trace = words.trace;
  options.shape.trace_bytes = *bytes;
}

void set_summary(const RunWords& words, JobOptions& options) {
  options.summary = words.summary_files;
  if (words.summary || !options.summary.empty()) options.shape.summary_bytes = SummaryMemory::kBytes;
}

void set_binding(const std::string& word, JobOptions& options) {
  if (word == "core")
    options.binding = Binding::core;
  else if (word == "share")
    options.binding = Binding::share;
  else if (word == "none")
    options.binding = Binding::none;
  else
    wrong(fmt::format("--bind {}: must be core, share or none", word));
}

void set_shell(const RunWords& words, JobOptions& options) {
  if (!words.shell.empty() && words.hosts.empty())
    wrong(fmt::format("--ssh {}: it is for reaching hosts; name them by --hosts, or leave it out", words.shell));
  const char* variable = std::getenv("CORACLE_SSH");
  if (variable != nullptr && variable[0] != '\0') options.shell = variable;
  if (!words.shell.empty()) options.shell = words.shell;
  if (options.shell.find_first_not_of(' ') == std::string::npos) wrong("--ssh: the command is empty");
}

void set_stall(const std::string& word, const std::string& log, JobOptions& options) {
  constexpr auto kLeast = std::chrono::milliseconds(100);
  const char* const variable = std::getenv("CORACLE_STALL");
  const bool by_variable = word.empty() && variable != nullptr && variable[0] != '\0';
  const std::string wanted = by_variable ? variable : word.empty() ? "30s" : word;
  if (wanted == "0") return;
  const std::chrono::nanoseconds time = duration(by_variable ? "CORACLE_STALL" : "--stall", wanted);
  if (time < kLeast)
    wrong(fmt::format("{} {}: must be at least 100ms, or 0 for never", by_variable ? "CORACLE_STALL" : "--stall",
                      wanted));
  const char* const log_of_all = std::getenv("CORACLE_STALL_LOG");
  options.stall = StallOptions{time, log.empty() && log_of_all != nullptr ? log_of_all : log};
}

std::uint64_t ranks_of(const std::vector<ProgramPart>& programs) {
  std::uint64_t sum = 0;
  for (const ProgramPart& part : programs) sum += part.ranks;
  return sum;
}

/// Throws WrongUsage for what can't be meant, and Error for a file that can't be read.
JobOptions job_options(const CLI::App& run, const RunWords& words) {
  JobOptions options;
  JobShape& shape = options.shape;
  set_placement(words, shape);
  shape.network = network_options(words);
  std::vector<ProgramPart> programs = programs_of(run, words.program);
  set_size(words, programs.size() == 1 ? words.program.ranks : std::to_string(ranks_of(programs)), options);
  set_segment(words.segment, shape);
  set_seed(words.seed, shape);
  set_messages(words, shape.messages);
  set_simulation(words, shape);
  set_interface(words, options);
  set_shell(words, options);
  if (!words.timeout.empty()) options.timeout = duration("--timeout", words.timeout);
  set_stall(words.stall, words.stall_log, options);
  set_binding(words.binding, options);
  set_trace(words, options);
  set_summary(words, options);
  options.verbose = words.verbose;
  options.notes = describe_transports(shape);
  set_programs(words, std::move(programs), options);
  set_streams(words.streams, options);
  if (const MpiLibraries mpi; !mpi.folder().empty())
    options.notes.push_back(fmt::format("MPI programs made for Open MPI's libmpi.so.40 find it in {}", mpi.folder()));
  try {
    set_choices(options);
  } catch (const Error& error) {
    if (error.code() != Errc::bad_input) throw;
    wrong(error.what());
  }
  return options;
}

void add_options_of_nodes(CLI::App& run, RunWords& words) {
  run.add_option("--nodes", words.nodes, "Nodes, each with its own shared memory: groups of consecutive ranks [1]");
  run.add_option("--hosts", words.hosts, "Machines, one node each, with ranks for each if you like: a,b or a:4,b:8");
  run.add_option("--ssh", words.shell,
                 "How to run a command on a host: COMMAND HOST ... (default: $CORACLE_SSH, or ssh -o BatchMode=yes)");
  run.add_option("--interface", words.interface,
                 "Which address of a node others use: a name (eth0) or a network (10.0.0.0/24)");
  run.add_option("--transport", words.transport,
                 "To other nodes: auto, tcp, verbs; or tca, between the ranks of one node")
      ->capture_default_str();
  run.add_option("--silence", words.silence, "A peer that owes an answer for so long is lost")->capture_default_str();
  run.add_option("--connections", words.connections, "A rank keeps at most so many open")->capture_default_str();
  run.add_flag("--survive", words.survive, "Go on when a rank is lost: operations with it fail");
}

void add_options(CLI::App& run, RunWords& words) {
  add_options_of_program(run, words.program);
  run.add_option("--place", words.placement,
                 "What a rank is: pvas (a process inside one shared address space; the default), process, thread, or "
                 "sim (simulated network, virtual time)");
  add_options_of_nodes(run, words);
  run.add_option("--segment", words.segment, "Memory of each rank that others may reach; taken when touched")
      ->capture_default_str();
  run.add_option("--timeout", words.timeout,
                 "End a job that takes longer (500ms, 30s, 5m; 30: seconds), and say what its ranks await");
  run.add_option("--stall", words.stall,
                 "Say why, when ranks have waited for so long and can't go on, or for one that computes; the job goes "
                 "on; 0: never (default: $CORACLE_STALL, or 30s)");
  run.add_option("--stall-log", words.stall_log,
                 "File to which that is appended, too: a JSON object a line (default: $CORACLE_STALL_LOG, or none)");
  run.add_option("--seed", words.seed, "sim: repeats a schedule (default: 1)");
  run.add_option("--network", words.network, "sim: file with the network's model");
  run.add_option("--faults", words.faults,
                 "sim: what goes wrong, and when: a file, or `random` for what the seed decides");
  run.add_option("--intranode", words.intranode,
                 "How messages go inside a node: auto; pvas (one copy between addresses that ranks share); or, for "
                 "processes, shm (two copies, through shared memory) or cma (one copy by the kernel)")
      ->capture_default_str();
  run.add_option("--eager", words.eager, "Messages up to this are sent before they are asked for")
      ->capture_default_str();
  run.add_option(
         "--unexpected", words.unexpected,
         "Room of each rank for messages that nobody has asked for, shared out to its senders; 16 times as much for "
         "short ones of senders that would wait")
      ->capture_default_str();
  run.add_option("--bind", words.binding,
                 "core: one core per rank where there are enough; share: also where there are not; none")
      ->capture_default_str();
  run.add_option("--trace", words.trace,
                 "Write what the ranks do, and when, to a file NAME.json, which https://ui.perfetto.dev opens, or a "
                 "folder NAME.otf2 "
                 "(an archive of OTF2), whose traces.otf2 Vampir opens");
  run.add_option("--trace-buffer", words.trace_buffer,
                 "Memory of each rank for that; what does not fit is counted, and the rest of the trace is written")
      ->capture_default_str();
  run.add_flag("--summary", words.summary,
               "Say at the end where the ranks' time went, what they have sent, and who came late");
  run.add_option("--summary-files", words.summary_files,
                 "The same, and write all of it to NAME.json, and who sends to whom as a picture to NAME.svg")
      ->type_name("NAME");
  add_options_of_streams(run, words.streams);
  run.add_flag("-v,--verbose", words.verbose, "Say what is started where");
}

int run_job(JobOptions options) {
  if (options.input.who == InputReaders::Who::all) spool_input();
  const bool alone = options.hosts.empty() && options.shape.nodes == 1 && options.shape.placement != Placement::sim;
  if (alone && PmixClient::is_wanted() && !options.trace.empty())
    wrong(
        "--trace: a resource manager has started this launcher as one of several, and no one has the whole trace; "
        "name the machines by --hosts instead");
  if (alone && PmixClient::is_wanted() && options.shape.summary_bytes > 0)
    wrong(
        "--summary: a resource manager has started this launcher as one of several, and no one has the whole summary; "
        "name the machines by --hosts instead");
  if (alone && PmixClient::is_wanted()) return PmixLauncher(std::move(options)).run();
  const bool apart = options.shape.nodes > 1 && options.shape.placement != Placement::sim;
  if (apart || !options.hosts.empty()) return HeadLauncher(std::move(options)).run();
  return Launcher(std::move(options)).run();
}

}  // namespace

void add_run_command(CLI::App& app, int& status) {
  auto words = std::make_shared<RunWords>();
  CLI::App* run = app.add_subcommand(
      "run",
      "Run PROGRAM [ARGUMENTS...] as the ranks of a job; options go before PROGRAM. Further programs "
      "follow, each behind a ':', with -n, --env and --wdir of their own");
  add_options(*run, *words);
  run->footer(
      "SIGUSR1 to the launcher makes every rank say what its coroutines await. Exit status: that of the first rank "
      "that fails (with --survive too), 128 + signal for one that is killed, 124 after --timeout, 2 for wrong usage.");
  run->prefix_command();
  run->callback([run, words, &status] {
    words->program.command = run->remaining();
    status = run_job(job_options(*run, *words));
  });
}

}  // namespace coracle::internals
