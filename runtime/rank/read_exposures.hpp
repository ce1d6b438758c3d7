// ReadExposures: pieces of a rank's memory that peers of other nodes may read for a while, by address. Peers of the
// same node need no permission: they read it by themselves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/job/remote.hpp"

namespace coracle::internals {

/// Of one rank; its thread only.
class ReadExposures {
 public:
  /// Whether all of `bytes` at `address` is exposed.
  bool covers(std::uint64_t address, std::uint64_t bytes) const noexcept {
    return std::any_of(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
      return address >= piece.address && bytes <= piece.bytes && address - piece.address <= piece.bytes - bytes;
    });
  }

 private:
  friend class ReadExposure;
  struct Piece {
    std::uint64_t address;
    std::uint64_t bytes;
    bool operator==(const Piece&) const = default;
  };
  std::vector<Piece> pieces_;
};

/// Exposes `memory` as long as it lives: readable at RemoteAddress{address, rank, kWholeMemory}.
class [[nodiscard]] ReadExposure {
 public:
  ReadExposure(ReadExposures& list, std::span<const std::byte> memory)
      : list_(list), piece_{reinterpret_cast<std::uint64_t>(memory.data()), memory.size()} {
    list_.pieces_.push_back(piece_);
  }
  ~ReadExposure() {
    auto& pieces = list_.pieces_;
    const auto mine = std::find(pieces.begin(), pieces.end(), piece_);
    *mine = pieces.back();
    pieces.pop_back();
  }
  ReadExposure(const ReadExposure&) = delete;
  ReadExposure& operator=(const ReadExposure&) = delete;

 private:
  ReadExposures& list_;
  ReadExposures::Piece piece_;
};

}  // namespace coracle::internals
