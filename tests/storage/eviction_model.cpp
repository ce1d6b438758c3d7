#include "tests/storage/eviction_model.hpp"

#include <algorithm>
#include <cmath>
#include <list>
#include <random>
#include <set>

namespace coracle::internals::test {

using coracle::internals::storage::EvictionKind;

namespace {

bool contains(const std::deque<std::uint64_t>& queue, std::uint64_t page) {
  return std::find(queue.begin(), queue.end(), page) != queue.end();
}

template <class T>
bool erase(std::deque<T>& queue, T value) {
  const auto found = std::find(queue.begin(), queue.end(), value);
  if (found == queue.end()) return false;
  queue.erase(found);
  return true;
}

}  // namespace

void NaiveRecency::insert(std::uint32_t frame, std::uint64_t) {
  frames_.push_front(frame);
}
void NaiveRecency::hit(std::uint32_t frame) noexcept {
  erase(frames_, frame);
  frames_.push_front(frame);
}
void NaiveRecency::remove(std::uint32_t frame, bool) noexcept {
  erase(frames_, frame);
}
std::optional<std::uint32_t> NaiveRecency::victim(std::uint64_t, const std::function<bool(std::uint32_t)>& may_evict) {
  std::optional<std::uint32_t> last;
  for (const std::uint32_t frame : frames_) {
    if (!may_evict(frame)) continue;
    if (newest_first_) return frame;
    last = frame;
  }
  return last;
}

double NaiveArc::wanted(std::uint64_t incoming) const {
  const auto once = static_cast<double>(ghosts_once_.size());
  const auto often = static_cast<double>(ghosts_often_.size());
  if (contains(ghosts_once_, incoming))
    return std::min(static_cast<double>(capacity_), once_wanted_ + std::max(1.0, often / once));
  if (contains(ghosts_often_, incoming)) return std::max(0.0, once_wanted_ - std::max(1.0, once / often));
  return once_wanted_;
}

void NaiveArc::insert(std::uint32_t frame, std::uint64_t page) {
  once_wanted_ = wanted(page);
  pages_[frame] = page;
  inserted_[frame] = ++insertions_;
  const bool known = erase(ghosts_once_, page) || erase(ghosts_often_, page);
  (known ? often_ : once_).push_front(page);
  while (once_.size() + ghosts_once_.size() > capacity_) ghosts_once_.pop_back();
  while (once_.size() + often_.size() + ghosts_once_.size() + ghosts_often_.size() > 2 * capacity_)
    ghosts_often_.pop_back();
}

void NaiveArc::hit(std::uint32_t frame) noexcept {
  const std::uint64_t page = pages_[frame];
  if (contains(once_, page) && insertions_ - inserted_[frame] <= capacity_ / 20) return;
  erase(once_, page);
  erase(often_, page);
  often_.push_front(page);
}

void NaiveArc::remove(std::uint32_t frame, bool evicted) noexcept {
  const std::uint64_t page = pages_[frame];
  const bool was_once = erase(once_, page);
  erase(often_, page);
  if (evicted) (was_once ? ghosts_once_ : ghosts_often_).push_front(page);
  inserted_[frame] = 0;
}

std::optional<std::uint32_t> NaiveArc::victim(std::uint64_t incoming,
                                              const std::function<bool(std::uint32_t)>& may_evict) {
  const double p = wanted(incoming);
  const auto once = static_cast<double>(once_.size());
  const bool from_once = once > p || (once == p && contains(ghosts_often_, incoming));
  for (const bool take_once : {from_once, !from_once}) {
    const auto& queue = take_once ? once_ : often_;
    for (auto page = queue.rbegin(); page != queue.rend(); ++page) {
      for (std::uint32_t frame = 0; frame < pages_.size(); ++frame)
        if (pages_[frame] == *page && inserted_[frame] != 0 && may_evict(frame)) return frame;
    }
  }
  return std::nullopt;
}

TracedCache::TracedCache(coracle::internals::storage::Eviction& eviction, std::uint32_t capacity)
    : eviction_(eviction), pages_(capacity) {}

bool TracedCache::use(std::uint64_t page) {
  const auto found = frames_.find(page);
  if (found != frames_.end()) {
    eviction_.hit(found->second);
    return true;
  }
  std::uint32_t frame = used_;
  if (used_ < pages_.size()) {
    ++used_;
  } else {
    frame = eviction_.victim(page, [](std::uint32_t) { return true; }).value();
    eviction_.remove(frame, true);
    frames_.erase(pages_[frame]);
  }
  pages_[frame] = page;
  frames_[page] = frame;
  eviction_.insert(frame, page);
  return false;
}

namespace {

/// Draws 0 to count - 1, i with a probability proportional to 1 / (i + 1)^exponent.
class Zipf {
 public:
  Zipf(std::uint32_t count, double exponent) : sums_(count) {
    double sum = 0;
    for (std::uint32_t i = 0; i < count; ++i) sums_[i] = sum += 1 / std::pow(i + 1, exponent);
  }
  std::uint64_t operator()(std::mt19937_64& random) const {
    const double drawn = std::uniform_real_distribution<double>(0, sums_.back())(random);
    return static_cast<std::uint64_t>(std::upper_bound(sums_.begin(), sums_.end() - 1, drawn) - sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

double percent(std::size_t hits, std::size_t uses) {
  return 100 * static_cast<double>(hits) / static_cast<double>(uses);
}

}  // namespace

NamedTrace zipf_trace() {
  std::mt19937_64 random(1);
  const Zipf zipf(10000, 0.9);
  NamedTrace made{"zipf 0.9, cache 10 %", 1000, {}};
  for (int i = 0; i < 300000; ++i) made.trace.push_back(zipf(random));
  return made;
}

// Half of the uses go through other pages one after the other, eight uses each.
NamedTrace zipf_and_scan_trace() {
  std::mt19937_64 random(2);
  const Zipf zipf(10000, 0.9);
  NamedTrace made{"zipf and a scan, 8 uses a page", 1000, {}};
  for (std::uint64_t i = 0; i < 300000; ++i) {
    made.trace.push_back(zipf(random));
    made.trace.push_back(10000 + i / 8 % 20000);
  }
  return made;
}

// C += A B, each a square of 40 x 40 pages, in the order of the three plain loops.
NamedTrace matrix_product_trace() {
  constexpr std::uint64_t kSide = 40;
  NamedTrace made{"tiles of a matrix product, 37 %", kSide * kSide * 3 * 37 / 100, {}};
  for (std::uint64_t i = 0; i < kSide; ++i)
    for (std::uint64_t j = 0; j < kSide; ++j)
      for (std::uint64_t k = 0; k < kSide; ++k) {
        made.trace.push_back(i * kSide + k);
        made.trace.push_back(kSide * kSide + k * kSide + j);
        made.trace.push_back(2 * kSide * kSide + i * kSide + j);
      }
  return made;
}

NamedTrace zigzag_trace() {
  constexpr std::uint64_t kPages = 1000;
  NamedTrace made{"zigzag sweep, 50 %", 500, {}};
  for (int sweep = 0; sweep < 40; ++sweep)
    for (std::uint64_t page = 0; page < kPages; ++page) made.trace.push_back(sweep % 2 == 0 ? page : kPages - 1 - page);
  return made;
}

NamedTrace loop_trace() {
  NamedTrace made{"loop, 50 %", 500, {}};
  for (std::uint64_t i = 0; i < 40000; ++i) made.trace.push_back(i % 1000);
  return made;
}

double hits(EvictionKind kind, const NamedTrace& trace) {
  const auto eviction = coracle::internals::storage::make_eviction(kind, trace.capacity);
  TracedCache cache(*eviction, trace.capacity);
  std::size_t count = 0;
  for (const std::uint64_t page : trace.trace) count += cache.use(page);
  return percent(count, trace.trace.size());
}

namespace {

/// ARC as in figure 4 of the paper, request by request.
class PlainArc {
 public:
  explicit PlainArc(std::size_t capacity) : capacity_(capacity) {}

  bool use(std::uint64_t page) {
    const auto found = places_.find(page);
    const List list = found == places_.end() ? kNowhere : found->second.list;
    if (list == kT1 || list == kT2) {
      move(page, kT2);
      return true;
    }
    if (list == kB1) {
      p_ = std::min(static_cast<double>(capacity_), p_ + std::max(1.0, size(kB2) / size(kB1)));
      replace(false);
    } else if (list == kB2) {
      p_ = std::max(0.0, p_ - std::max(1.0, size(kB1) / size(kB2)));
      replace(true);
    } else {
      make_room();
    }
    move(page, list == kNowhere ? kT1 : kT2);
    return false;
  }

 private:
  enum List { kT1, kT2, kB1, kB2, kNowhere };
  struct Place {
    List list = kNowhere;
    std::list<std::uint64_t>::iterator at;
  };
  double size(List list) const { return static_cast<double>(lists_[list].size()); }

  void move(std::uint64_t page, List target) {
    Place& place = places_[page];
    if (place.list != kNowhere) lists_[place.list].erase(place.at);
    lists_[target].push_front(page);
    place = {target, lists_[target].begin()};
  }
  void forget_last(List list) {
    places_.erase(lists_[list].back());
    lists_[list].pop_back();
  }
  void replace(bool in_b2) {
    const bool from_once = !lists_[kT1].empty() && (size(kT1) > p_ || (in_b2 && size(kT1) == p_));
    const List from = from_once ? kT1 : kT2;
    move(lists_[from].back(), from_once ? kB1 : kB2);
  }
  void make_room() {
    const std::size_t once = lists_[kT1].size() + lists_[kB1].size();
    const std::size_t all = once + lists_[kT2].size() + lists_[kB2].size();
    if (once == capacity_ && lists_[kT1].size() == capacity_) {
      forget_last(kT1);
    } else if (once == capacity_) {
      forget_last(kB1);
      replace(false);
    } else if (all >= capacity_) {
      if (all == 2 * capacity_) forget_last(kB2);
      replace(false);
    }
  }

  std::size_t capacity_;
  double p_ = 0;
  std::list<std::uint64_t> lists_[4];
  std::unordered_map<std::uint64_t, Place> places_;
};

}  // namespace

double hits_of_plain_arc(const NamedTrace& trace) {
  PlainArc cache(trace.capacity);
  std::size_t count = 0;
  for (const std::uint64_t page : trace.trace) count += cache.use(page);
  return percent(count, trace.trace.size());
}

double hits_of_optimum(const NamedTrace& trace) {
  const std::size_t uses = trace.trace.size();
  std::vector<std::size_t> next_use(uses);
  std::unordered_map<std::uint64_t, std::size_t> seen;
  for (std::size_t i = uses; i-- > 0;) {
    const auto [later, first] = seen.try_emplace(trace.trace[i], uses + i);  // never again: different from all others
    next_use[i] = later->second;
    later->second = i;
  }
  std::set<std::size_t> cached;  // by their next uses, which no two pages share
  std::size_t count = 0;
  for (std::size_t i = 0; i < uses; ++i) {
    if (cached.erase(i) > 0)
      ++count;
    else if (cached.size() == trace.capacity)
      cached.erase(std::prev(cached.end()));
    cached.insert(next_use[i]);
  }
  return percent(count, uses);
}

}  // namespace coracle::internals::test
