#include "apps/bench/measure/rounds.hpp"

#include <algorithm>
#include <utility>

#include "runtime/core/clock.hpp"

namespace coracle::internals::bench {

std::size_t Rounds::add(Batch batch) {
  ways_.emplace_back().batch = std::move(batch);
  return ways_.size() - 1;
}

std::size_t Rounds::add_plain(PlainBatch batch) {
  ways_.emplace_back().plain = std::move(batch);
  return ways_.size() - 1;
}

Task<double> Rounds::time_batch(Way& way) {
  const std::uint64_t begin = real_clock().now_ns();
  fence_compiler();
  if (way.plain)
    way.plain(way.count);
  else
    co_await way.batch(way.count);
  fence_compiler();
  co_return static_cast<double>(std::max<std::uint64_t>(real_clock().now_ns() - begin, 1));
}

/// A single slow batch must not pass for a long one: the faster of two counts.
Task<> Rounds::calibrate(Way& way) {
  while (true) {
    const double first = co_await time_batch(way);
    const double second = co_await time_batch(way);
    const double nanoseconds = std::min(first, second);
    if (nanoseconds >= plan_.batch_ns) co_return;
    const double factor = std::min(1.3 * plan_.batch_ns / nanoseconds, 16.0);
    way.count = std::max(way.count + 1, static_cast<std::uint64_t>(static_cast<double>(way.count) * factor));
  }
}

Task<> Rounds::run() {
  for (Way& way : ways_) co_await calibrate(way);
  for (int batch = 0; batch < plan_.batches; ++batch) {
    for (Way& way : ways_) {
      const double nanoseconds = co_await time_batch(way);
      way.samples.push_back(nanoseconds / static_cast<double>(way.count));
    }
  }
}

}  // namespace coracle::internals::bench
