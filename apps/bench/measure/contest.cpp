// Running a contest; and the counting operator new of the `coracle` command.
#include "apps/bench/measure/contest.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <utility>

#include "collectives/collectives.hpp"
#include "runtime/core/frame_pool.hpp"
#include "runtime/core/timer.hpp"

namespace coracle::internals::bench {
namespace {

constinit thread_local std::uint64_t allocations_made = 0;  // by thread: ranks may be threads

}  // namespace

std::uint64_t allocation_count() noexcept {
  return allocations_made;
}

#if !CORACLE_PLAIN_FRAMES
static void* counted(std::size_t bytes) {
  ++allocations_made;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
#endif

double now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

Task<> let_go_of_output() {
  co_await sleep_for(std::chrono::milliseconds(1));
}

std::size_t Contest::add(Batch batch) {
  Contender& contender = contenders_.emplace_back();
  contender.batch = std::move(batch);
  return contenders_.size() - 1;
}

std::size_t Contest::add_plain(PlainBatch batch) {
  Contender& contender = contenders_.emplace_back();
  contender.plain = std::move(batch);
  return contenders_.size() - 1;
}

Task<double> Contest::time_batch(Contender& contender, std::uint64_t count) {
  if (self_ != nullptr) {
    co_await self_->world().barrier();
    if (contender.plain && self_->nodes() > 1) co_await let_go_of_output();
  }
  const std::uint64_t allocated = allocation_count();
  const double begin = now_ns();
  fence_compiler();
  if (contender.plain)
    contender.plain(count);
  else
    co_await contender.batch(count);
  fence_compiler();
  const double nanoseconds = now_ns() - begin;
  contender.allocated += allocation_count() - allocated;
  co_return nanoseconds;
}

Task<double> Contest::fastest_of_three(Contender& contender, std::uint64_t count) {
  double fastest = co_await time_batch(contender, count);
  for (int more = 0; more < 2; ++more) fastest = std::min(fastest, co_await time_batch(contender, count));
  co_return std::max(fastest, 1.0);
}

// Rank 0 decides; the others learn the next count from it. 0 ends the search. A single slow batch (a page fault, a time
// slice lost) must not pass for a long one.
Task<> Contest::calibrate(Contender& contender) {
  contender.count = contender.fixed_count != 0 ? contender.fixed_count : 1;
  for (std::uint64_t next = contender.count; next != 0 && contender.fixed_count == 0;) {
    contender.count = next;
    const double nanoseconds = co_await fastest_of_three(contender, next);
    const double factor = std::min(1.3 * plan_.batch_ns / nanoseconds, 16.0);
    const bool long_enough = nanoseconds >= plan_.batch_ns;
    next = long_enough ? 0 : std::max(next + 1, static_cast<std::uint64_t>(static_cast<double>(next) * factor));
    if (self_ != nullptr) co_await self_->world().broadcast(std::span(&next, 1), 0);
  }
  if (contender.fixed_count != 0) co_await time_batch(contender, contender.count);
}

Task<> Contest::sum_up(Contender& contender) {
  const std::uint64_t allocated = co_await self_->world().all_reduce(contender.allocated, std::plus<>());
  contender.allocations = static_cast<double>(allocated) / (static_cast<double>(contender.count) * plan_.batches);
}

Task<> Contest::run() {
  for (Contender& contender : contenders_) co_await calibrate(contender);
  for (Contender& contender : contenders_) contender.allocated = 0;
  for (int batch = 0; batch < plan_.batches; ++batch) {
    for (Contender& contender : contenders_) {
      const double nanoseconds = co_await time_batch(contender, contender.count);
      contender.samples.push_back(nanoseconds / static_cast<double>(contender.count));
    }
  }
  if (self_ == nullptr) co_return;
  for (Contender& contender : contenders_) co_await sum_up(contender);
}

Figure Contest::of_pairs(std::size_t first, std::size_t second, double (*join)(double first, double second)) const {
  std::vector<double> joined;
  for (std::size_t i = 0; i < contenders_[first].samples.size(); ++i)
    joined.push_back(join(contenders_[first].samples[i], contenders_[second].samples[i]));
  return figure_of(std::move(joined));
}

Row Contest::row(std::string name, std::size_t ours, std::string limit_name, std::size_t limit, std::uint64_t bytes,
                 double factor) const {
  return {std::move(name),
          "ns",
          scaled(figure(ours), factor),
          std::move(limit_name),
          scaled(figure(limit), factor),
          static_cast<double>(bytes),
          allocations(ours)};
}

Figure Contest::difference(std::size_t more, std::size_t less) const {
  return of_pairs(more, less, [](double first, double second) { return first - second; });
}

Figure Contest::ratio(std::size_t of, std::size_t to) const {
  return of_pairs(of, to, [](double first, double second) { return first / second; });
}

}  // namespace coracle::internals::bench

#if !CORACLE_PLAIN_FRAMES
void* operator new(std::size_t bytes) {
  return coracle::internals::bench::counted(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif
