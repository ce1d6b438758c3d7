// RankLocals: one object per type and rank, so that layers above the runtime keep their state without globals.
#pragma once

#include <utility>
#include <vector>

#include "runtime/core/std_parts.hpp"

namespace coracle::internals {

class Rank;

class RankLocals {
 public:
  RankLocals() = default;
  RankLocals(const RankLocals&) = delete;
  RankLocals& operator=(const RankLocals&) = delete;
  ~RankLocals() { clear(); }

  /// The T of this rank; T(rank) at first use.
  template <class T>
  T& get(Rank& rank) {
    for (auto& [key, object] : objects_)
      if (key == &key_of<T>) return *static_cast<T*>(object.get());
    auto object = std::make_unique<T>(rank);
    T& made = *object;
    objects_.emplace_back(&key_of<T>, Owned(object.release(), [](void* dead) { delete static_cast<T*>(dead); }));
    return made;
  }
  /// Destroys all, the newest first.
  void clear() noexcept {
    while (!objects_.empty()) objects_.pop_back();
  }

 private:
  using Owned = std::unique_ptr<void, void (*)(void*)>;
  template <class T>
  static constexpr char key_of = 0;  // its address tells types apart

  std::vector<std::pair<const char*, Owned>> objects_;
};

}  // namespace coracle::internals
