// Texts of Coracle's error conditions.
#include "runtime/core/error.hpp"

#include <fmt/format.h>

namespace coracle::internals {
namespace {

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "coracle"; }
  std::string message(int value) const override {
    switch (static_cast<Errc>(value)) {
      case Errc::out_of_segment:
        return "address outside its segment";
      case Errc::no_such_peer:
        return "no such rank";
      case Errc::segment_full:
        return "segment is full";
      case Errc::bad_handler:
        return "function has no address common to all ranks";
      case Errc::bad_input:
        return "bad input";
      case Errc::unsupported:
        return "not supported here";
      case Errc::misaligned:
        return "misaligned address";
      case Errc::deadlock:
        return "deadlock";
      case Errc::peer_lost:
        return "peer lost";
      case Errc::given_up:
        return "collective given up";
      case Errc::truncated:
        return "message longer than its buffer";
      case Errc::page_lost:
        return "page lost with the node that had its only current copy";
      case Errc::page_damaged:
        return "page does not match its checksum";
      case Errc::device_failed:
        return "a GPU has failed";
      case Errc::slab_gone:
        return "its slab is gone, or ends before";
    }
    return fmt::format("unknown condition {}", value);
  }
};

}  // namespace

const std::error_category& coracle_category() noexcept {
  static const Category category;
  return category;
}

std::error_code make_error_code(Errc value) noexcept {
  return {static_cast<int>(value), coracle_category()};
}

Error Error::of_operation(std::error_code code, const char* operation, int rank, int peer, const std::string& detail) {
  std::string text = operation;
  if (rank >= 0) text += fmt::format(" on rank {}", rank);
  if (peer >= 0) text += fmt::format(" with rank {}", peer);
  text += fmt::format(" failed: {}", code.message());
  if (!detail.empty()) text += fmt::format(" ({})", detail);
  return Error(code, text);
}

void throw_errno(int code, const std::string& what) {
  const std::error_code error(code, std::generic_category());
  throw Error(error, fmt::format("{}: {}", what, error.message()));
}

}  // namespace coracle::internals
