// The summary for machines.
#include <nlohmann/json.hpp>

#include "runtime/insight/job_summary.hpp"

namespace coracle::internals {
namespace {

using Json = nlohmann::ordered_json;

Json json(const Waited& waited) {
  return {{"ns", waited.time}, {"waits", waited.waits}, {"longest_ns", waited.longest}};
}

Json json(const Spread& of) {
  return {{"min_ns", of.min}, {"min_rank", of.min_rank}, {"mean_ns", of.mean()},
          {"max_ns", of.max}, {"max_rank", of.max_rank}, {"sum_ns", of.sum}};
}

/// `of`: the flows' counts or bytes; only what there was.
Json flows(const std::array<std::uint64_t, kTrafficKinds>& count,
           const std::array<std::uint64_t, kTrafficKinds>& bytes) {
  Json all = Json::object();
  for (std::size_t flow = 0; flow < kTrafficKinds; ++flow)
    if (count[flow] > 0)
      all[name_of(static_cast<TrafficKind>(flow))] = {{"count", count[flow]}, {"bytes", bytes[flow]}};
  return all;
}

/// `of`: a job, or what a rank has left.
template <class Facts>
Json pages(const Facts& of) {
  return {{"uses", of.page_uses},
          {"hits", of.page_hits},
          {"from_peers", of.pages[CORACLE_PAGE_FROM_PEER]},
          {"from_peers_bytes", of.page_bytes[CORACLE_PAGE_FROM_PEER]},
          {"from_files", of.pages[CORACLE_PAGE_FROM_FILE]},
          {"from_files_bytes", of.page_bytes[CORACLE_PAGE_FROM_FILE]},
          {"fresh", of.pages[CORACLE_PAGE_FRESH]},
          {"failed", of.pages[0]}};
}

Json json(const WaitLine& line) {
  Json one = {{"file", line.file.data()},
              {"line", line.line},
              {"call", line.call.data()},
              {"what", line.name.data()},
              {"kind", name_of(line.group)}};
  one.update(json(line.waited));
  return one;
}

Json json(const CollectiveCalls& call) {
  return {{"name", call.name.data()}, {"calls", call.calls}, {"ns", call.time}};
}

Json json(const RankSummary& rank) {
  Json waits = Json::object();
  for (std::size_t group = 0; group < kWaitGroups; ++group)
    if (rank.facts.groups[group].waits > 0)
      waits[name_of(static_cast<WaitGroup>(group))] = json(rank.facts.groups[group]);
  Json lines = Json::array();
  for (const WaitLine& line : rank.lines) lines.push_back(json(line));
  Json calls = Json::array();
  for (const CollectiveCalls& call : rank.calls) calls.push_back(json(call));
  return {{"rank", rank.rank},
          {"node", rank.node},
          {"ended", rank.facts.has_ended != 0},
          {"lifetime_ns", lifetime_of(rank)},
          {"computing_ns", rank.facts.computing},
          {"waiting_ns", rank.facts.waiting},
          {"library_ns", unexplained_of(rank)},
          {"waits", waits},
          {"lines", lines},
          {"other_lines", json(rank.facts.other_lines)},
          {"collectives", calls},
          {"pages", pages(rank.facts)}};
}

Json times(const JobSummary& job) {
  Json waits = Json::object();
  for (std::size_t group = 0; group < kWaitGroups; ++group) {
    if (job.waits[group] == 0) continue;
    Json& kind = waits[name_of(static_cast<WaitGroup>(group))] = json(job.groups[group]);
    kind["waits"] = job.waits[group];
  }
  return {{"lifetime", json(job.lifetime)},
          {"computing", json(job.computing)},
          {"waiting", json(job.waiting)},
          {"waits", waits},
          {"library", json(job.unexplained)}};
}

Json lines(const JobSummary& job) {
  Json all = Json::array();
  for (const JobLine& line : job.lines) {
    Json& one = all.emplace_back(json(line.line));
    one["worst_rank"] = line.worst_rank;
    one["worst_rank_ns"] = line.worst_ns;
  }
  return all;
}

Json pairs(const JobSummary& job) {
  Json all = Json::array();
  for (const JobPair& pair : job.pairs) {
    Json& one = all.emplace_back(Json{{"from", pair.from}, {"to", pair.to}});
    one.update(flows(pair.count, pair.bytes));
  }
  return all;
}

Json late(const JobSummary& job) {
  Json ranks = Json::array();
  for (const LateRank& rank : job.late.ranks)
    ranks.push_back({{"rank", rank.rank},
                     {"collective", rank.name},
                     {"times", rank.times},
                     {"others_waited_ns", rank.others_ns},
                     {"worst_ns", rank.most_ns}});
  return {{"judged", job.late.judged},
          {"undecided", job.late.undecided},
          {"unknown", job.late.unknown},
          {"not_kept", job.other_entries},
          {"kept_per_rank", SummaryMemory::kEntriesMax},
          {"ranks", ranks}};
}

}  // namespace

std::string json_of(const JobSummary& job, const JobSummaries& all) {
  Json calls = Json::array();
  for (const CollectiveCalls& call : job.calls) calls.push_back(json(call));
  Json ranks = Json::array();
  for (const RankSummary& rank : all.ranks)
    if (rank.was_there()) ranks.push_back(json(rank));
  const Json whole = {{"version", 2},
                      {"size", job.size},
                      {"nodes", job.nodes},
                      {"ranks_told", job.ranks},
                      {"ranks_cut", job.cut},
                      {"virtual_time", job.is_virtual},
                      {"clock_uncertainty_ns", job.uncertainty_ns},
                      {"duration_ns", job.duration_ns},
                      {"times", times(job)},
                      {"lines", lines(job)},
                      {"other_lines", json(job.other_lines)},
                      {"traffic", flows(job.totals.count, job.totals.bytes)},
                      {"pairs", pairs(job)},
                      {"other_pairs", flows(job.other_pairs.count, job.other_pairs.bytes)},
                      {"collectives", calls},
                      {"other_collectives", job.other_calls},
                      {"late", late(job)},
                      {"pages", pages(job)},
                      {"ranks", ranks}};
  // Names of spans are the program's, and were cut.
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace coracle::internals
