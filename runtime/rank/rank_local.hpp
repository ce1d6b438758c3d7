// RankLocals: one object per type and rank, so that layers above the runtime keep their state without globals.
#pragma once

#include <vector>

namespace coracle::internals {

class Rank;

class RankLocals {
 public:
  RankLocals() noexcept;
  RankLocals(const RankLocals&) = delete;
  RankLocals& operator=(const RankLocals&) = delete;
  ~RankLocals();

  /// The T of this rank; T(rank) at first use.
  template <class T>
  T& get(Rank& rank) {
    for (const Local& local : objects_)
      if (local.key == &key_of<T>) return *static_cast<T*>(local.object);
    auto* object = new T(rank);
    add({&key_of<T>, object, [](void* dead) noexcept { delete static_cast<T*>(dead); }});
    return *object;
  }
  /// Destroys all, the newest first.
  void clear() noexcept;

 private:
  struct Local {
    const char* key;
    void* object;
    void (*destroy)(void* object) noexcept;
  };
  void add(const Local& local);
  template <class T>
  static constexpr char key_of = 0;  // its address tells types apart

  std::vector<Local> objects_;
};

}  // namespace coracle::internals
