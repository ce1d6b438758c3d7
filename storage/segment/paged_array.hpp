// PagedArray<T>: a paged segment as elements of T.
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

#include "runtime/core/byte_counts.hpp"
#include "storage/segment/paged_segment.hpp"

namespace coracle::internals {

/// Elements lie one behind the other from byte 0 of the segment. T is trivially copyable; where sizeof(T) divides the
/// page, elements don't cross pages and pages can be used in place (pin).
template <class T>
class PagedArray {
 public:
  static_assert(std::is_trivially_copyable_v<T>, "pages hold bytes");
  static Task<PagedArray> create(Team& team, PagedOptions options, std::uint64_t count) {
    options.bytes = byte_count(count, sizeof(T));  // where that is too much, create() says so
    PagedArray array(co_await PagedSegment::create(team, std::move(options)));
    co_return array;
  }
  static Task<PagedArray> open(Team& team, PagedOptions options, std::string checkpoint = {}) {
    PagedArray array(co_await PagedSegment::open(team, std::move(options), std::move(checkpoint)));
    co_return array;
  }
  explicit PagedArray(PagedSegment segment) noexcept : segment_(std::move(segment)) {}

  std::uint64_t size() const noexcept { return segment_.bytes() / sizeof(T); }
  PagedSegment& segment() noexcept { return segment_; }

  PagedTransfer get(std::uint64_t index, std::span<T> target) {
    return segment_.get(byte_count(index, sizeof(T)), writable_byte_span(target));
  }
  PagedTransfer put(std::uint64_t index, std::span<const T> source) {
    return segment_.put(byte_count(index, sizeof(T)), byte_span(source));
  }
  Task<T> get(std::uint64_t index) {
    T value;
    co_await get(index, std::span(&value, 1));
    co_return value;
  }
  Task<> put(std::uint64_t index, T value) { co_await put(index, std::span<const T>(&value, 1)); }

  /// Elements [first, first + count) one after the other, a block at a time, read ahead:
  /// `co_await array.for_each_block(0, array.size(), [](std::uint64_t index, std::span<const T> block) { ... });`
  template <class Body>
  Task<> for_each_block(std::uint64_t first, std::uint64_t count, Body body) {
    const std::uint64_t page_bytes = segment_.page_bytes();
    const std::uint64_t end = byte_end(first, count);
    if (end > size()) storage::throw_no_such_elements(first, count, size());
    std::uint64_t index = first;
    std::vector<T> crossing;
    while (index < end) {
      const std::uint64_t offset = byte_count(index, sizeof(T));
      const std::uint64_t in_page = offset % page_bytes;
      const std::uint64_t whole = std::min((page_bytes - in_page) / sizeof(T), end - index);
      if (whole > 0 && in_page % alignof(T) == 0) {
        const PinnedPage page = co_await segment_.pin(offset / page_bytes);
        body(index, std::span(reinterpret_cast<const T*>(page.bytes().data() + in_page), whole));
        index += whole;
      } else {
        crossing.resize(1);
        co_await get(index, std::span(crossing));
        body(index, std::span<const T>(crossing));
        index += 1;
      }
    }
  }

  Task<> flush() { co_await segment_.flush(); }
  Task<> checkpoint(std::string name) { co_await segment_.checkpoint(std::move(name)); }
  Task<> close() { co_await segment_.close(); }

 private:
  PagedSegment segment_;
};

}  // namespace coracle::internals
