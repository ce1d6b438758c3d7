// MappingQuery: what the kernel says of one mapping of this process, without reading the list of all.
#pragma once

#include <cstdint>
#include <optional>

namespace coracle::internals {

/// Where an address lies.
struct Mapping {
  std::uintptr_t begin;
  std::uintptr_t end;
  bool is_writable;
  bool is_anonymous;  ///< Of no file, and of this process alone: what malloc() gives.
};

/// Asks by an open file, which it keeps. One thread's at a time.
class MappingQuery {
 public:
  MappingQuery() = default;
  ~MappingQuery();
  MappingQuery(const MappingQuery&) = delete;
  MappingQuery& operator=(const MappingQuery&) = delete;

  /// Nothing: there is none at `address`, or the kernel is older than Linux 6.11.
  std::optional<Mapping> mapping_of(std::uintptr_t address) noexcept;

 private:
  int fd_ = -1;
  bool is_refused_ = false;
};

}  // namespace coracle::internals
