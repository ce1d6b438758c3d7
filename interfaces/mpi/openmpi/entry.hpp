// What generated entry points use: the check that MPI runs, the end of those that fail, and arguments that live during
// the call: handles in and out, statuses, arrays. What a call has changed is stored when they end, also where it threw:
// a request that has failed is gone all the same.
#pragma once

#include "interfaces/mpi/core/call_span.hpp"
#include "interfaces/mpi/core/program_call.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "interfaces/mpi/openmpi/fortran_numbers.hpp"
#include "interfaces/mpi/openmpi/fortran_site.hpp"
#include "interfaces/mpi/openmpi/inline_values.hpp"
#include "interfaces/mpi/openmpi/translate.hpp"

namespace coracle::mpi::openmpi {

/// The site of the call that an entry point of C answers: where the program has called Fortran's, if it has, which has
/// called this one.
inline const void* call_site(const void* returns_to) noexcept {
  return coracle_ompi_fortran_site != nullptr ? coracle_ompi_fortran_site : returns_to;
}

[[noreturn]] void refuse_outside();
/// While a function runs that can be called from MPI_Init to MPI_Finalize. Throws MpiError (other) outside of that, and
/// where this thread may not call.
class RunningCall : ThreadCall {
 public:
  RunningCall() : ThreadCall(refuse_outside) {}
};

/// The same of a function that any thread may call.
class LocalCall : ThreadCall {
 public:
  LocalCall() : ThreadCall(AnyThread{}, refuse_outside) {}
  using ThreadCall::is_elsewhere;
};

/// In a handler: asks the error handler of `on`, or of MPI_COMM_WORLD, what becomes of the exception in the function
/// `name`, and gives what the function returns.
int failed(const char* name, MPI_Comm on) noexcept;
int failed(const char* name) noexcept;
/// Of a function that there is not: Coracle has no `what` yet.
int refused(const char* name, const char* what) noexcept;
int not_written(const char* name) noexcept;

/// Stores a result when the call ends, also where it threw: of those that say what else has been stored.
template <class Store>
class AtEnd {
 public:
  explicit AtEnd(Store store) : store_(store) {}
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() { store_(); }

 private:
  Store store_;
};

/// Becomes the null handle where the call throws before it has given one.
template <class T>
class HandleOut {
 public:
  HandleOut(Handle<T>** place, const char* name) : place_(place) { check_place(place, name); }
  HandleOut(const HandleOut&) = delete;
  HandleOut& operator=(const HandleOut&) = delete;
  ~HandleOut() { *place_ = handle_of(object_); }
  T*& object() noexcept { return object_; }

 private:
  Handle<T>** place_;
  T* object_ = nullptr;
};

/// Becomes the null handle where the call has taken the object away.
template <class T>
class HandleInOut {
 public:
  HandleInOut(Handle<T>** place, const char* name) : place_(place) {
    check_place(place, name);
    object_ = object_of(*place, name);
  }
  HandleInOut(const HandleInOut&) = delete;
  HandleInOut& operator=(const HandleInOut&) = delete;
  ~HandleInOut() {
    if (object_ == nullptr) *place_ = null_handle<T>();
  }
  T*& object() noexcept { return object_; }

 private:
  Handle<T>** place_;
  T* object_;
};

inline int checked_length(int count, const char* name) {
  if (count < 0) [[unlikely]]
    raise(ErrorClass::count, "the number of {} is {}: a count is 0 or more", name, count);
  return count;
}

template <class T>
class HandlesIn {
 public:
  HandlesIn(int count, Handle<T>* const* handles, const char* name) : objects_(checked_length(count, name)) {
    if (objects_.count() != 0) check_place(handles, name);
    for (std::size_t i = 0; i < objects_.count(); ++i) objects_[i] = object_of(handles[i], name);
  }
  std::span<T* const> span() const noexcept { return {objects_.data(), objects_.count()}; }

 private:
  Values<T*> objects_;
};

template <class T>
class HandlesInOut {
 public:
  HandlesInOut(int count, Handle<T>** handles, const char* name)
      : handles_(handles), objects_(checked_length(count, name)) {
    if (objects_.count() != 0) check_place(handles, name);
    for (std::size_t i = 0; i < objects_.count(); ++i) objects_[i] = object_of(handles[i], name);
  }
  HandlesInOut(const HandlesInOut&) = delete;
  HandlesInOut& operator=(const HandlesInOut&) = delete;
  ~HandlesInOut() {
    for (std::size_t i = 0; i < objects_.count(); ++i)
      if (objects_[i] == nullptr) handles_[i] = null_handle<T>();
  }
  std::span<T*> span() noexcept { return objects_.span(); }

 private:
  Handle<T>** handles_;
  Values<T*> objects_;
};

template <class T>
class HandlesOut {
 public:
  HandlesOut(int count, Handle<T>** handles, const char* name)
      : handles_(handles), objects_(checked_length(count, name)) {
    if (objects_.count() != 0) check_place(handles, name);
  }
  std::span<T*> span() noexcept { return objects_.span(); }
  /// Those that have been given.
  void store() noexcept {
    for (std::size_t i = 0; i < objects_.count(); ++i)
      if (objects_[i] != nullptr) handles_[i] = handle_of(objects_[i]);
  }

 private:
  Handle<T>** handles_;
  Values<T*> objects_;
};

/// MPI_ERROR is left as it is.
class StatusOut {
 public:
  explicit StatusOut(MPI_Status* to) noexcept : to_(to) {}
  StatusOut(const StatusOut&) = delete;
  StatusOut& operator=(const StatusOut&) = delete;
  ~StatusOut() {
    if (to_ != nullptr) store_status(status_, to_);
  }
  Status* status() noexcept { return to_ != nullptr ? &status_ : nullptr; }

 private:
  MPI_Status* to_;
  Status status_;
};

/// MPI_ERROR is stored, too. Only so many as `written` says in the end, or all, or none where it says false.
class StatusesOut {
 public:
  StatusesOut(int count, MPI_Status* to) : to_(to), statuses_(to != nullptr ? count : 0) {}
  StatusesOut(int count, MPI_Status* to, const Count* written) : StatusesOut(count, to) { written_ = written; }
  StatusesOut(int count, MPI_Status* to, const bool* are_written) : StatusesOut(count, to) {
    are_written_ = are_written;
  }
  StatusesOut(const StatusesOut&) = delete;
  StatusesOut& operator=(const StatusesOut&) = delete;
  ~StatusesOut() {
    const std::size_t count = count_to_store();
    for (std::size_t i = 0; i < count; ++i) {
      store_status(statuses_[i], to_ + i);
      to_[i].MPI_ERROR = statuses_[i].error == 0 ? kSuccess : code_to(statuses_[i].error);
    }
  }
  std::span<Status> span() noexcept { return statuses_.span(); }

 private:
  std::size_t count_to_store() const noexcept {
    if (are_written_ != nullptr && !*are_written_) return 0;
    if (written_ == nullptr) return statuses_.count();
    return *written_ < 0 ? 0 : std::min(statuses_.count(), static_cast<std::size_t>(*written_));
  }
  MPI_Status* to_;
  Values<Status> statuses_;
  const Count* written_ = nullptr;
  const bool* are_written_ = nullptr;
};

/// A copy of an array with each value translated.
class MappedIntegers {
 public:
  template <class Map>
  MappedIntegers(int count, const int* values, Map map) : mapped_(count) {
    if (mapped_.count() != 0) check_place(values, "an array");
    for (std::size_t i = 0; i < mapped_.count(); ++i) mapped_[i] = map(values[i]);
  }
  const int* data() const noexcept { return mapped_.data(); }

 private:
  Values<int> mapped_;
};

/// Of MPI_Waitall: waits for requests of which each is a receive or a send that has ended, and takes them. False where
/// one has failed, which is left to be taken, and for all other lists.
bool wait_for_plain(int count, MPI_Request* requests, MPI_Status* statuses);
/// The same of MPI_Wait, which leaves MPI_ERROR as it is.
bool wait_for_plain(MPI_Request* request, MPI_Status* status);

/// Of MPI_Waitany and MPI_Testany (`flag`; else null): takes the first request that is done, without a look at those
/// behind it. False where there is none, or where an argument is wrong: then nothing has been done.
bool take_first_done(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status);

inline void map_ranks(int count, int* ranks) noexcept {
  for (int i = 0; i < count; ++i) ranks[i] = rank_to(ranks[i]);
}

}  // namespace coracle::mpi::openmpi
