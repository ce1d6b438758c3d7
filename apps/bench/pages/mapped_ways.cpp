#include "apps/bench/pages/mapped_ways.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/bench/pages/pages.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/scope.hpp"

namespace coracle::internals::bench {
namespace {

void check(std::uint64_t wrong, const char* how) {
  if (wrong > 0) throw Error(Errc::bad_input, fmt::format("{} pages are wrong, read by {}", wrong, how));
}

}  // namespace

Task<> Gets::random(std::uint64_t depth, std::uint64_t count, std::uint64_t seed) {
  PromiseBase& own = co_await this_coroutine();
  Scope scope(own.loop(), &own.scope());
  for (std::uint64_t i = 0; i < depth; ++i)
    scope.spawn(random_one(i, std::max<std::uint64_t>(count / depth, 1), seed + i));
  co_await scope.join();
}

Task<> Gets::random_one(std::uint64_t place, std::uint64_t count, std::uint64_t seed) {
  RandomPages random(segment_.bytes() / kNumberedPage, seed);
  const std::span<std::byte> target(buffer_.data() + place * kNumberedPage, kNumberedPage);
  std::uint64_t wrong = 0;
  for (; count > 0; --count) {
    const std::uint64_t page = random.next();
    co_await segment_.get(page * kNumberedPage, target);
    if (!is_numbered(target.data(), page)) ++wrong;
  }
  check(wrong, "get");
}

Task<> Gets::in_order(std::uint64_t count) {
  std::uint64_t wrong = 0;
  for (std::uint64_t bytes = count * kNumberedPage; bytes > 0;) {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>({bytes, kMappedChunk, segment_.bytes() - at_}));
    const std::span<std::byte> target(buffer_.data(), part);
    co_await segment_.get(at_, target);
    for (std::size_t i = 0; i < part; i += kNumberedPage)
      if (!is_numbered(target.data() + i, (at_ + i) / kNumberedPage)) ++wrong;
    at_ = at_ + part == segment_.bytes() ? 0 : at_ + part;
    bytes -= part;
  }
  check(wrong, "get");
  co_await finish_reading_ahead(segment_);
}

Task<> Loads::random(std::uint64_t threads, std::uint64_t count, std::uint64_t seed) const {
  PromiseBase& own = co_await this_coroutine();
  Scope scope(own.loop(), &own.scope());
  for (std::uint64_t i = 0; i < threads; ++i)
    scope.spawn(load({pages_, std::max<std::uint64_t>(count / threads, 1), seed + i, true}));
  co_await scope.join();
}

Task<> Loads::in_order(std::uint64_t first, std::uint64_t count) const {
  co_await load({pages_, count, first % pages_, false});
  co_await finish_reading_ahead(segment_);
}

Task<> Loads::load(LoadPlan plan) const {
  const std::byte* file = window_.data();
  const std::uint64_t wrong = co_await window_.run([file, plan] { return load_pages(file, plan); });
  check(wrong, "loads through the window");
}

}  // namespace coracle::internals::bench
