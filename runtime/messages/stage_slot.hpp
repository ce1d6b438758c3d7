// StageSlot: a buffer of a stage on loan, for a message in pieces or a packed one; see stage.hpp.
#pragma once

#include <cstddef>
#include <utility>

namespace coracle::internals {

class Stage;

/// Goes back when it dies. Empty: none.
class [[nodiscard]] StageSlot {
 public:
  StageSlot() = default;
  StageSlot(Stage& stage, std::byte* data) noexcept : stage_(&stage), data_(data) {}
  StageSlot(StageSlot&& other) noexcept : stage_(other.stage_), data_(std::exchange(other.data_, nullptr)) {}
  StageSlot& operator=(StageSlot&& other) noexcept {
    std::swap(stage_, other.stage_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~StageSlot() {
    if (data_ != nullptr) give_back();
  }

  explicit operator bool() const noexcept { return data_ != nullptr; }
  /// Of Stage::kSlotBytes.
  std::byte* data() const noexcept { return data_; }

 private:
  void give_back() noexcept;

  Stage* stage_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace coracle::internals
