// From states to lines, and over to another process and back.
#include "runtime/insight/job_picture.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/core/error.hpp"
#include "runtime/insight/wait_graph.hpp"
#include "runtime/insight/wait_words.hpp"

namespace coracle::internals::insight {
namespace {

/// Of whoever waits the rank's own clock tells; of others, since when nothing has been seen of them.
std::uint64_t time_of(const RankState& state) {
  const Wait* const wait = state.doing == Doing::waiting ? main_wait(state) : nullptr;
  return wait != nullptr ? wait->waited_ms : state.still_ms;
}

nlohmann::json to_json(const RankPicture& rank) {
  return {{"rank", rank.rank},
          {"node", rank.node},
          {"doing", static_cast<int>(rank.doing)},
          {"does", rank.does},
          {"does_alike", rank.does_alike},
          {"for_ms", rank.for_ms},
          {"processor_ms", rank.processor_ms},
          {"memory_bytes", rank.memory_bytes},
          {"sleeps", rank.sleeps},
          {"collectives", rank.collectives}};
}

RankPicture rank_of(const nlohmann::json& json) {
  RankPicture rank;
  json.at("rank").get_to(rank.rank);
  json.at("node").get_to(rank.node);
  const int doing = json.at("doing").get<int>();
  if (doing < 0 || doing > static_cast<int>(Doing::last)) throw Error(Errc::bad_input, "no such thing to do");
  rank.doing = static_cast<Doing>(doing);
  json.at("does").get_to(rank.does);
  json.at("does_alike").get_to(rank.does_alike);
  json.at("for_ms").get_to(rank.for_ms);
  json.at("processor_ms").get_to(rank.processor_ms);
  json.at("memory_bytes").get_to(rank.memory_bytes);
  json.at("sleeps").get_to(rank.sleeps);
  json.at("collectives").get_to(rank.collectives);
  return rank;
}

}  // namespace

std::vector<RankPicture> picture_of(std::span<const RankState> states) {
  const WaitGraph graph(states, 0);
  std::vector<RankPicture> ranks;
  ranks.reserve(states.size());
  for (std::uint32_t at = 0; at < states.size(); ++at) {
    const RankState& state = states[at];
    RankPicture& rank = ranks.emplace_back();
    rank.rank = state.rank;
    rank.doing = state.doing;
    rank.does = doing_words(graph, at);
    rank.does_alike = doing_words(graph, at, PeerNames::another);
    rank.for_ms = time_of(state);
    rank.processor_ms = state.processor_ms;
    rank.memory_bytes = state.memory_bytes;
    rank.sleeps = state.sleeps;
    for (const TeamProgress& team : state.waits.teams) rank.collectives += team.number;
  }
  return ranks;
}

std::string json_of(const JobPicture& picture) {
  nlohmann::json json = {{"program", picture.program},      {"placement", picture.placement}, {"size", picture.size},
                         {"nodes", picture.nodes},          {"age_ms", picture.age_ms},       {"hangs", picture.hangs},
                         {"ranks", nlohmann::json::array()}};
  for (const RankPicture& rank : picture.ranks) json["ranks"].push_back(to_json(rank));
  // What a program calls its files need not be UTF-8.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

JobPicture parse_picture(std::string_view text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    JobPicture picture;
    json.at("program").get_to(picture.program);
    json.at("placement").get_to(picture.placement);
    json.at("size").get_to(picture.size);
    json.at("nodes").get_to(picture.nodes);
    json.at("age_ms").get_to(picture.age_ms);
    json.at("hangs").get_to(picture.hangs);
    for (const nlohmann::json& rank : json.at("ranks")) picture.ranks.push_back(rank_of(rank));
    return picture;
  } catch (const nlohmann::json::exception& error) {
    throw Error(Errc::bad_input, fmt::format("a launcher's picture of its job can't be read ({}): is `coracle run` of "
                                             "the same version as this command?",
                                             error.what()));
  }
}

}  // namespace coracle::internals::insight
