// PageErrors: what is told of pages of one segment that can't be had or written.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "runtime/core/error.hpp"
#include "storage/pages/page_home.hpp"
#include "storage/pages/segment_caches.hpp"
#include "storage/protocol/protocol.hpp"

namespace coracle::internals::storage {

Error closed_error();

class PageErrors {
 public:
  /// `home`: that beside this cache, or null.
  PageErrors(const SegmentCaches& caches, std::string path, const PageHome* home)
      : caches_(caches), path_(std::move(path)), home_(home) {}

  Error of(std::uint64_t page, PageFailure failure) const;
  Error home_lost(std::uint64_t page) const;

 private:
  const SegmentCaches& caches_;
  std::string path_;
  const PageHome* home_;
};

}  // namespace coracle::internals::storage
