// Calls of one collective by its number, which is the same at all members.
#include "runtime/insight/late_ranks.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace coracle::internals {
namespace {

struct Call {
  const RankSummary* rank = nullptr;
  const CollectiveEntry* entry = nullptr;
};

class LateCount {
 public:
  explicit LateCount(std::uint64_t uncertainty_ns) : uncertainty_ns_(uncertainty_ns) {}

  void judge(std::vector<Call>& calls) {
    std::ranges::sort(calls, {}, [](const Call& call) { return call.entry->begin; });
    const Call& last = calls.back();
    if (calls.size() < 2) return;
    const auto is_close = [&](const Call& call) {
      return call.rank->node != last.rank->node && call.entry->begin + uncertainty_ns_ > last.entry->begin;
    };
    if (std::any_of(calls.begin(), calls.end() - 1, is_close)) {
      ++result_.undecided;
      return;
    }
    ++result_.judged;
    std::uint64_t others_ns = 0;
    for (const Call& call : calls)
      if (call.entry->end == 0 || call.entry->end >= last.entry->begin)
        others_ns += last.entry->begin - call.entry->begin;
    add(last, others_ns);
  }
  void lacks() { ++result_.unknown; }

  LateRanks take() {
    for (auto& [key, late] : by_rank_) result_.ranks.push_back(std::move(late));
    std::ranges::stable_sort(result_.ranks, std::greater(), &LateRank::others_ns);
    return std::move(result_);
  }

 private:
  void add(const Call& last, std::uint64_t others_ns) {
    const std::uint64_t call = last.entry->call;
    const std::string name = call < last.rank->calls.size() ? last.rank->calls[call].name.data() : "others";
    LateRank& late = by_rank_[{last.rank->rank, name}];
    late.rank = last.rank->rank;
    late.name = name;
    ++late.times;
    late.others_ns += others_ns;
    late.most_ns = std::max(late.most_ns, others_ns);
  }

  std::uint64_t uncertainty_ns_;
  LateRanks result_;
  std::map<std::pair<std::uint32_t, std::string>, LateRank> by_rank_;
};

}  // namespace

LateRanks late_ranks_of(const JobSummaries& job) {
  std::unordered_map<std::uint64_t, std::vector<Call>> by_id;
  std::unordered_map<std::uint64_t, std::set<std::uint32_t>> members;  // by team
  for (const RankSummary& rank : job.ranks) {
    for (const CollectiveEntry& entry : rank.entries) {
      by_id[entry.id].push_back({&rank, &entry});
      members[entry.id >> 32].insert(rank.rank);
    }
  }
  LateCount count(job.uncertainty_ns);
  for (auto& [id, calls] : by_id) {
    const std::uint64_t team = id >> 32;
    // Team 0 has all ranks, also those that have told of none.
    const bool is_whole = calls.size() == (team == 0 ? job.size : members[team].size());
    if (is_whole)
      count.judge(calls);
    else
      count.lacks();
  }
  return count.take();
}

}  // namespace coracle::internals
