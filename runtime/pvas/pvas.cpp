// C callers get no exceptions: every call catches, keeps the sentence for pvas_error, and returns a plain failure.
#include "runtime/pvas/pvas.h"

#include <unistd.h>

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/pvas/address_space.hpp"

struct coracle_pvas {
  coracle::internals::pvas::AddressSpace space;
};

namespace {

// A C interface without an object to hang it on: the reason of a failed pvas_create has no other place to be.
thread_local std::string last_error;

template <typename Result, typename Action>
Result guarded(Result failure, Action&& action) noexcept {
  try {
    last_error.clear();
    return std::forward<Action>(action)();
  } catch (const std::exception& error) {
    try {
      last_error = error.what();
    } catch (const std::bad_alloc&) {
      last_error.clear();
    }
    return failure;
  }
}

std::vector<std::string> strings(char* const* texts) {
  std::vector<std::string> all;
  for (; texts != nullptr && *texts != nullptr; ++texts) all.emplace_back(*texts);
  return all;
}

}  // namespace

extern "C" {

pvas_t* pvas_create(void) {
  return guarded<pvas_t*>(nullptr, [] { return new coracle_pvas{coracle::internals::pvas::AddressSpace::create()}; });
}

pid_t pvas_spawn(pvas_t* space, const char* program, char* const arguments[], char* const environment[]) {
  return guarded<pid_t>(-1, [&] {
    if (space == nullptr || program == nullptr) {
      throw coracle::internals::Error(make_error_code(coracle::internals::Errc::bad_input),
                                      "pvas_spawn: no address space or no program given");
    }
    coracle::internals::SpawnOptions options;
    options.program = program;
    options.arguments = strings(arguments);
    options.environment = strings(environment != nullptr ? environment : environ);
    return space->space.spawn(options);
  });
}

int pvas_wait(pvas_t* space, pid_t task, pvas_exit* ended) {
  return guarded<int>(-1, [&] {
    if (space == nullptr || !space->space.contains(task)) {
      throw coracle::internals::Error(
          make_error_code(coracle::internals::Errc::bad_input),
          "pvas_wait: pid " + std::to_string(task) + " is no task that still has to be waited for");
    }
    const coracle::internals::ExitStatus status = space->space.wait(task);
    if (ended != nullptr) *ended = {status.code, status.signal};
    return 0;
  });
}

void pvas_destroy(pvas_t* space) {
  delete space;
}

const char* pvas_error(void) {
  return last_error.c_str();
}

}  // extern "C"
