// Verdicts and states for machines.
#include <nlohmann/json.hpp>

#include "runtime/insight/verdict.hpp"

namespace coracle::internals::insight {
namespace {

const char* name_of(Doing doing) noexcept {
  switch (doing) {
    case Doing::starting:
      return "starting";
    case Doing::waiting:
      return "waiting";
    case Doing::running:
      return "running";
    case Doing::stopped:
      return "stopped";
    case Doing::ended:
      return "ended";
  }
  return "";
}

const char* name_of(WaitKind kind) noexcept {
  switch (kind) {
    case WaitKind::inside:
      return "inside";
    case WaitKind::children:
      return "children";
    case WaitKind::timer:
      return "timer";
    case WaitKind::io:
      return "io";
    case WaitKind::readiness:
      return "readiness";
    case WaitKind::device:
      return "device";
    case WaitKind::operation:
      return "operation";
    case WaitKind::call:
      return "call";
    case WaitKind::receive:
      return "receive";
    case WaitKind::transfer:
      return "transfer";
    case WaitKind::send:
      return "send";
    case WaitKind::signal:
      return "signal";
    case WaitKind::collective:
      return "collective";
    case WaitKind::loss:
      return "loss";
  }
  return "";
}

nlohmann::json to_json(const Wait& wait) {
  nlohmann::json json = {{"kind", name_of(wait.kind)},  {"what", wait.what},       {"place", wait.place},
                         {"waited_ms", wait.waited_ms}, {"callers", wait.callers}, {"library", wait.of_library}};
  if (wait.peer >= 0) json["peer"] = wait.peer;
  if (wait.team != WaitDetail::kNoTeam) {
    json["team"] = wait.team;
    if (wait.tag != Wait::kAnyTag) json["tag"] = wait.tag;
  }
  return json;
}

nlohmann::json to_json(const RankState& state) {
  nlohmann::json json = {{"rank", state.rank},
                         {"doing", name_of(state.doing)},
                         {"still_ms", state.still_ms},
                         {"place", state.place},
                         {"function", state.function},
                         {"waits", nlohmann::json::array()},
                         {"teams", nlohmann::json::array()}};
  for (const Wait& wait : state.waits.waits) json["waits"].push_back(to_json(wait));
  for (const TeamProgress& team : state.waits.teams)
    json["teams"].push_back({{"team", team.team},
                             {"number", team.number},
                             {"under_way", team.under_way},
                             {"call", team.call},
                             {"place", team.place}});
  return json;
}

nlohmann::json to_json(std::span<const HangVerdict> verdicts, std::span<const RankState> states) {
  nlohmann::json json = {{"verdicts", nlohmann::json::array()}, {"ranks", nlohmann::json::array()}};
  for (const HangVerdict& verdict : verdicts)
    json["verdicts"].push_back({{"kind", name_of(verdict.kind)},
                                {"certain", verdict.is_certain()},
                                {"culprits", verdict.culprits},
                                {"waiting", verdict.waiting},
                                {"places", verdict.places},
                                {"sentence", verdict.sentence},
                                {"details", verdict.details}});
  for (const RankState& state : states) json["ranks"].push_back(to_json(state));
  return json;
}

/// What a program calls its files need not be UTF-8.
std::string text_of(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string json_of(std::span<const HangVerdict> verdicts, std::span<const RankState> states) {
  return text_of(to_json(verdicts, states));
}

std::string log_line(const LoggedJob& job, std::span<const HangVerdict> verdicts, std::span<const RankState> states) {
  return text_of({{"time", job.time},
                  {"job", job.job},
                  {"command", job.command},
                  {"explanation", to_json(verdicts, states)}}) +
         "\n";
}

}  // namespace coracle::internals::insight
