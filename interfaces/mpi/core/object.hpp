// Object: what a handle refers to; counted by those who use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace coracle::mpi {

class Object;

/// What an ABI's handle points to, if its handles are pointers: the object, or null once it is freed. It is the first
/// word of what an ABI exports for a predefined object.
struct HandleWord {
  Object* object = nullptr;
  /// In interfaces whose handles are numbers, and of which kind; -1: none has been asked for.
  std::int32_t number = -1;
  std::int32_t kind = 0;
};

/// The program's handle is one use; what is under way holds others, so that freeing a handle never frees what still is
/// needed. One thread.
///
/// The memory of one that has gone stays readable, all zero, until some hundreds more have gone: a stale handle is told
/// as such. Classes whose objects come and go with each message have an operator new and delete of their own.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  /// The program's handle.
  HandleWord* handle() noexcept { return handle_; }
  /// Of a predefined object: what the ABI exports.
  void set_handle(HandleWord* handle) noexcept {
    handle_ = handle;
    handle->object = this;
  }
  bool is_predefined() const noexcept { return predefined_; }
  void set_predefined() noexcept { predefined_ = true; }
  /// At MPI_Finalize, of one that goes with its last use then.
  void clear_predefined() noexcept { predefined_ = false; }

  void take() noexcept { ++uses_; }
  /// The last one deletes it, but for a predefined one.
  void release() noexcept {
    if (--uses_ == 0) retire();
  }
  std::uint32_t uses() const noexcept { return uses_; }
  /// What messages call it: "MPI_COMM_WORLD"; empty where there is nothing to say.
  virtual std::string label() const { return {}; }

  /// Is told of each that goes and has a number: the ABI's business.
  static void (*number_ended)(const HandleWord& handle) noexcept;

  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory, std::size_t bytes) noexcept;

 protected:
  virtual ~Object() = default;
  /// It goes: its handle means nothing from now on.
  void leave_handle() noexcept {
    handle_->object = nullptr;
    if (handle_->number >= 0 && number_ended != nullptr) [[unlikely]]
      number_ended(*handle_);
    handle_->number = -1;
  }

 private:
  void retire() noexcept;

  std::uint32_t uses_ = 1;
  bool predefined_ = false;
  HandleWord* handle_ = &own_handle_;
  HandleWord own_handle_{this};
};

/// A use of an object.
template <class T>
class Ref {
 public:
  Ref() = default;
  /// Takes a use of its own.
  explicit Ref(T* object) noexcept : object_(object) {
    if (object_ != nullptr) object_->take();
  }
  /// Takes over the use that a new object is born with.
  static Ref adopt(T* object) noexcept {
    Ref made;
    made.object_ = object;
    return made;
  }
  Ref(const Ref& other) noexcept : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }
  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  /// Gives the use to the caller: for a new object whose handle the program gets.
  T* give() noexcept { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

/// Drops the program's use and makes its handle null: what MPI_*_free does.
template <class T>
void free_handle(T*& object) noexcept {
  std::exchange(object, nullptr)->release();
}

}  // namespace coracle::mpi
