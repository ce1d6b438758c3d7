// All addresses of a file are looked up at once, of all ranks.
#include "runtime/launch/call_sites.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "runtime/job/backtrace_text.hpp"

namespace coracle::internals {
namespace {

/// In all; addr2line reads whole files. The head waits meanwhile.
constexpr std::chrono::seconds kPatienceInAll{3};

class CallSites {
 public:
  void want(const std::string& module, std::uint32_t address) { modules_[module].try_emplace(address); }
  void find() {
    const auto end = std::chrono::steady_clock::now() + kPatienceInAll;
    for (auto& [module, sites] : modules_) {
      std::vector<std::uint64_t> addresses;
      for (const auto& [address, place] : sites) addresses.push_back(address);
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      std::vector<SourcePlace> places = places_in_source(module, addresses, left);
      auto place = places.begin();
      for (auto& [address, found] : sites) found = std::move(*place++);
    }
  }
  const SourcePlace& at(const std::string& module, std::uint32_t address) const {
    return modules_.at(module).at(address);
  }

 private:
  std::map<std::string, std::map<std::uint32_t, SourcePlace>> modules_;
};

void set_place(WaitLine& line, const SourcePlace& place) {
  // Of a path, and of words, what comes last tells most.
  const std::string_view file = place.file;
  std::string_view name = place.line == 0 ? file : file.substr(file.rfind('/') + 1);
  const std::size_t most = line.file.size() - 1;
  if (name.size() > most) name.remove_prefix(name.size() - most);
  name.copy(line.file.data(), most);
  line.line = place.line;
  line.module = line.address = 0;
}

/// Several calls may stand in one line.
void join_alike(std::vector<WaitLine>& lines) {
  std::map<std::tuple<std::string, std::uint32_t, std::string, std::string, WaitGroup>, std::size_t> known;
  std::vector<WaitLine> joined;
  for (const WaitLine& line : lines) {
    const auto [place, is_new] =
        known.try_emplace({line.file.data(), line.line, line.call.data(), line.name.data(), line.group}, joined.size());
    if (is_new) {
      joined.push_back(line);
      continue;
    }
    Waited& sum = joined[place->second].waited;
    sum.time += line.waited.time;
    sum.waits += line.waited.waits;
    sum.longest = std::max(sum.longest, line.waited.longest);
  }
  lines = std::move(joined);
}

/// By StoredEvent::place, of a rank: a program calls from few places, and often.
using NewPlaces = std::unordered_map<std::uint64_t, std::uint64_t>;

StoredEvent at_place(std::uint64_t place) noexcept {
  StoredEvent event{};
  event.place = place;
  return event;
}

/// Files that the rank has not named before become texts of it.
void find_new_places(NewPlaces& places, RankEvents& rank, const CallSites& sites) {
  std::unordered_map<std::string, std::uint64_t> numbers;
  std::vector<std::string> more;
  for (auto& [old, place] : places) {
    const StoredEvent event = at_place(old);
    const std::string& file = rank.text(event.file());
    if (file.empty()) continue;  // there was no room for it
    const SourcePlace& found = sites.at(file, event.line());
    const auto [known, is_new] = numbers.try_emplace(found.file, rank.texts.size() + more.size() + 1);
    if (is_new) more.push_back(found.file);
    place = known->second << 32 | found.line;
  }
  rank.texts.insert(rank.texts.end(), more.begin(), more.end());
}

}  // namespace

void find_call_sites(std::vector<RankSummary>& ranks) {
  const auto has_module = [](const RankSummary& rank, const WaitLine& line) {
    return line.module != 0 && line.module <= rank.modules.size();
  };
  CallSites sites;
  for (const RankSummary& rank : ranks)
    for (const WaitLine& line : rank.lines)
      if (has_module(rank, line)) sites.want(rank.modules[line.module - 1], line.address);
  sites.find();
  for (RankSummary& rank : ranks) {
    bool has_sites = false;
    for (WaitLine& line : rank.lines) {
      if (!has_module(rank, line)) continue;
      set_place(line, sites.at(rank.modules[line.module - 1], line.address));
      has_sites = true;
    }
    if (has_sites) join_alike(rank.lines);
  }
}

void find_call_sites(std::vector<RankEvents>& ranks) {
  CallSites sites;
  std::vector<NewPlaces> places(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i)
    for (const StoredEvent& event : ranks[i].events)
      if (event.is_in_module() && places[i].try_emplace(event.place).second)
        sites.want(ranks[i].text(event.file()), event.line());
  sites.find();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    find_new_places(places[i], ranks[i], sites);
    for (StoredEvent& event : ranks[i].events)
      if (event.is_in_module()) event.place = places[i].at(event.place);
  }
}

}  // namespace coracle::internals
