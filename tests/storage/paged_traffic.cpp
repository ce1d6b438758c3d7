#include "tests/storage/paged_traffic.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <stdexcept>

namespace coracle::internals::test {
namespace {

using Words = std::vector<std::uint64_t>;

/// What a word holds: its place, and how often its owner has written it; 0: never.
std::uint64_t content(std::uint64_t word, std::uint64_t version) noexcept {
  return version == 0 ? 0 : word << 32 | version;
}

Task<> nap(std::uint64_t random) {
  co_await sleep_for(std::chrono::microseconds(random % 2'000'000));
}

struct Range {
  std::uint64_t first;
  std::uint64_t count;
};

/// The puts of a rank in a phase: ranges of words, of which it writes its own.
std::vector<Range> plan(const PagedTraffic& traffic, std::uint32_t rank, std::uint32_t phase, std::uint64_t words) {
  std::seed_seq seeds{traffic.seed, std::uint64_t{rank}, std::uint64_t{phase}};
  std::mt19937_64 random(seeds);
  std::vector<Range> ranges(traffic.steps);
  const std::uint64_t page_words = traffic.options.page_bytes / 8;
  for (Range& range : ranges) {
    const std::uint64_t longest = random() % 8 == 0 ? 3 * page_words : 4;
    range.first = random() % words;
    range.count = std::min(1 + random() % longest, words - range.first);
  }
  return ranges;
}

class Checker {
 public:
  Checker(Rank& self, const PagedTraffic& traffic, PagedSegment& segment)
      : self_(self),
        traffic_(traffic),
        segment_(segment),
        words_(segment.bytes() / 8),
        versions_(words_),
        seen_(words_) {}

  Task<> phase(std::uint32_t number) {
    const std::vector<Range> ranges = plan(traffic_, self_.id(), number, words_);
    std::seed_seq seeds{traffic_.seed, std::uint64_t{self_.id()}, std::uint64_t{number}, std::uint64_t{77}};
    random_.seed(seeds);
    PromiseBase& own = co_await this_coroutine();
    Scope scope(own.loop(), &own.scope());
    next_ = 0;
    for (std::uint32_t i = 0; i < traffic_.at_once; ++i) scope.spawn(work(ranges, i));
    co_await scope.join();
    co_await self_.world().barrier();
    for (std::uint32_t rank = 0; rank < self_.size(); ++rank)
      for (const Range& range : plan(traffic_, rank, number, words_))
        for (std::uint64_t word = range.first; word < range.first + range.count; ++word)
          if (word % self_.size() == rank && rank != self_.id()) ++versions_[word];
    co_await check_all(number);
    co_await self_.world().barrier();
  }

  void use(PagedSegment& segment) noexcept { segment_ = std::move(segment); }

 private:
  /// Worker i writes the words whose number in the rank's own is i modulo the workers, so that two of them don't race.
  Task<> work(const std::vector<Range>& ranges, std::uint32_t worker) {
    for (const Range& range : ranges) {
      for (std::uint64_t word = range.first; word < range.first + range.count; ++word) {
        if (word % self_.size() != self_.id() || word / self_.size() % traffic_.at_once != worker) continue;
        const std::uint64_t value = content(word, ++versions_[word]);
        co_await segment_.put(8 * word, std::as_bytes(std::span(&value, 1)));
      }
      const std::uint64_t first = random_() % words_;
      const std::uint64_t count = std::min<std::uint64_t>(1 + random_() % 700, words_ - first);
      if (traffic_.races)
        co_await read({first, count}, worker);
      else
        co_await read_own(first, worker);
      if (traffic_.durably && random_() % 16 == 0) co_await segment_.flush();
      if (traffic_.naps && random_() % 4 == 0) co_await nap(random_());
    }
  }

  /// The worker's own word next to `word`, if there is one.
  Task<> read_own(std::uint64_t word, std::uint32_t worker) {
    const std::uint64_t own = word / self_.size() / traffic_.at_once * traffic_.at_once + worker;
    const std::uint64_t place = own * self_.size() + self_.id();
    if (place < words_) co_await read({place, 1}, worker);
  }

  Task<> read(Range range, std::uint32_t worker) {
    Words values(range.count, ~std::uint64_t{0});
    const std::vector<std::uint64_t> before(seen_.begin() + static_cast<std::ptrdiff_t>(range.first),
                                            seen_.begin() + static_cast<std::ptrdiff_t>(range.first + range.count));
    co_await segment_.get(8 * range.first, std::as_writable_bytes(std::span(values)));
    for (std::uint64_t i = 0; i < range.count; ++i) {
      const std::uint64_t word = range.first + i;
      const std::uint64_t version = values[i] & 0xffffffff;
      if (values[i] != content(word, version)) wrong("is no value of it", word, values[i]);
      const bool mine = word % self_.size() == self_.id();
      if (mine && word / self_.size() % traffic_.at_once == worker && version != versions_[word])
        wrong(fmt::format("is not the version {} that was put", versions_[word]), word, values[i]);
      if (version < before[i]) wrong(fmt::format("is older than version {} seen before", before[i]), word, values[i]);
      seen_[word] = std::max(seen_[word], version);
    }
  }

  Task<> check_all(std::uint32_t phase) {
    Words values(words_);
    co_await segment_.get(0, std::as_writable_bytes(std::span(values)));
    for (std::uint64_t word = 0; word < words_; ++word)
      if (values[word] != content(word, versions_[word]))
        wrong(fmt::format("is not version {}, the last, after phase {}", versions_[word], phase), word, values[word]);
  }

  [[noreturn]] void wrong(const std::string& what, std::uint64_t word, std::uint64_t value) const {
    throw std::runtime_error(fmt::format("seed {}, rank {} of {}: word {} of page {}: {:#x} {}", traffic_.seed,
                                         self_.id(), self_.size(), word, 8 * word / traffic_.options.page_bytes, value,
                                         what));
  }

  Rank& self_;
  const PagedTraffic& traffic_;
  PagedSegment& segment_;
  std::uint64_t words_;
  Words versions_;  // of all words, as far as phases have ended; of its own, now
  Words seen_;
  std::mt19937_64 random_;
  std::uint64_t next_ = 0;
};

/// Of a rank that knows what it put, and what it tried to.
class MortalChecker {
 public:
  MortalChecker(Rank& self, const PagedTraffic& traffic, PagedSegment& segment, PagedDeaths& deaths)
      : self_(self), traffic_(traffic), segment_(segment), deaths_(deaths), put_(segment.bytes() / 8), tried_(put_) {}

  Task<> run() {
    std::seed_seq seeds{traffic_.seed, std::uint64_t{self_.id()}};
    std::mt19937_64 random(seeds);
    const std::uint64_t words = put_.size();
    for (std::uint32_t step = 0; step < 4 * traffic_.steps; ++step) {
      const std::uint64_t word = random() % words / self_.size() * self_.size() + self_.id();
      if (word < words) co_await put(word);
      const std::uint64_t first = random() % words;
      co_await get({first, std::min<std::uint64_t>(1 + random() % 300, words - first)});
      if (random() % 8 == 0) co_await tolerate(segment_.flush());
      co_await sleep_for(std::chrono::microseconds(random() % 100));
      if (traffic_.naps && random() % 16 == 0) co_await nap(random());
      deaths_.taken_in += segment_.counts().taken_in - taken_in_;
      taken_in_ = segment_.counts().taken_in;
    }
  }

 private:
  Task<bool> tolerate(Task<> task) {
    const Result<> result = co_await as_result(std::move(task));
    if (result.ok()) co_return true;
    ++deaths_.errors;
    const std::error_code code = result.code();
    if (code != make_error_code(Errc::peer_lost) && code != make_error_code(Errc::page_lost) &&
        code != std::errc::bad_file_descriptor &&  // the segment could not be made everywhere
        code != std::errc::io_error)               // a call to a home that died while it worked
      throw std::runtime_error(result.error().what());
    co_return false;
  }

  Task<> put(std::uint64_t word) {
    const std::uint64_t version = std::max(put_[word], tried_[word]) + 1;
    const std::uint64_t value = content(word, version);
    tried_[word] = version;
    const bool done = co_await tolerate(as_task(segment_.put(8 * word, std::as_bytes(std::span(&value, 1)))));
    if (done) put_[word] = version;
  }

  Task<> get(Range range) {
    Words values(range.count);
    const bool done =
        co_await tolerate(as_task(segment_.get(8 * range.first, std::as_writable_bytes(std::span(values)))));
    if (!done) co_return;
    for (std::uint64_t i = 0; i < range.count; ++i) {
      const std::uint64_t word = range.first + i;
      const std::uint64_t version = values[i] & 0xffffffff;
      const bool mine = word % self_.size() == self_.id();
      if (values[i] == content(word, version) && (!mine || (version >= put_[word] && version <= tried_[word])))
        continue;
      throw std::runtime_error(fmt::format("seed {}, rank {} of {}: word {} is {:#x}; put was {}, tried {}",
                                           traffic_.seed, self_.id(), self_.size(), word, values[i], put_[word],
                                           tried_[word]));
    }
  }

  Rank& self_;
  const PagedTraffic& traffic_;
  PagedSegment& segment_;
  PagedDeaths& deaths_;
  Words put_;
  Words tried_;
  std::uint64_t taken_in_ = 0;
};

}  // namespace

Task<> run_mortal_traffic(Rank& self, PagedTraffic traffic, PagedDeaths& deaths) {
  std::optional<PagedSegment> segment;
  try {
    segment.emplace(co_await PagedSegment::create(self.world(), traffic.options));
  } catch (const Error&) {
    ++deaths.errors;  // somebody died before all had come
    co_return;
  }
  MortalChecker checker(self, traffic, *segment, deaths);
  co_await with_timeout(std::chrono::seconds(traffic.naps ? 80 : 10), checker.run());
  // Peers may still ask this rank: it may not go before they have ended, which nobody can tell now.
  co_await sleep_for(std::chrono::seconds(traffic.naps ? 160 : 20));
}

Task<> run_paged_traffic(Rank& self, PagedTraffic traffic) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), traffic.options);
  Checker checker(self, traffic, segment);
  for (std::uint32_t phase = 0; phase < traffic.phases; ++phase) {
    co_await checker.phase(phase);
    const bool last = phase + 1 == traffic.phases;
    if (traffic.taken_in != nullptr && (last || traffic.reopen)) *traffic.taken_in += segment.counts().taken_in;
    if (!traffic.reopen) continue;
    co_await segment.close();
    PagedOptions options = traffic.options;
    options.bytes = options.page_bytes = 0;
    segment = co_await PagedSegment::open(self.world(), options);
  }
  co_await segment.close();
}

}  // namespace coracle::internals::test
