// Each place is looked up once: there are as many as calls in the program's text.
#include "interfaces/mpi/core/call_place.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "runtime/core/own_module.hpp"

namespace coracle::mpi {
namespace {

/// The file's whole path, which is good also in another folder.
std::string whole_path(const std::string& name) {
  const std::unique_ptr<char, void (*)(void*)> path(::realpath(name.c_str(), nullptr), ::free);
  return path == nullptr ? name : path.get();
}

class CallPlaces {
 public:
  CallPlaces() : program_(whole_path(internals::program_path())) {}

  const coracle_place* find(const void* returns_to) {
    const auto [known, is_new] = sites_.try_emplace(returns_to);
    if (is_new) set(known->second, returns_to);
    return known->second.place.file == nullptr ? nullptr : &known->second.place;
  }

 private:
  struct Site {
    std::string function;
    coracle_place place{};
  };

  /// The call is just before what it returns to.
  void set(Site& site, const void* returns_to) {
    const auto* const call = static_cast<const char*>(returns_to) - 1;
    Dl_info info{};
    void* module = nullptr;
    const int is_known = ::dladdr1(call, &info, &module, RTLD_DL_LINKMAP);
    if (is_known == 0 || info.dli_fname == nullptr || module == nullptr) return;
    const std::uintptr_t address =
        reinterpret_cast<std::uintptr_t>(call) - static_cast<const link_map*>(module)->l_addr;
    if (address > UINT32_MAX) return;
    if (info.dli_sname != nullptr) site.function = info.dli_sname;
    site.place = {file_of(info), site.function.c_str(), static_cast<std::uint32_t>(address), CORACLE_IN_MODULE};
  }
  const char* file_of(const Dl_info& module) {
    if (module.dli_fbase == internals::program_module().start) return program_.c_str();
    const auto [known, is_new] = files_.try_emplace(module.dli_fbase);
    if (is_new) known->second = whole_path(module.dli_fname);
    return known->second.c_str();
  }

  const std::string program_;
  std::unordered_map<const void*, Site> sites_;
  std::map<const void*, std::string> files_;
};

/// They stay: programs may call at their very end.
CallPlaces& call_places() {
  static CallPlaces& places = *new CallPlaces;
  return places;
}

}  // namespace

void prepare_call_places() noexcept {
  try {
    call_places();
  } catch (...) {  // without memory: then there may be some later
  }
}

const coracle_place* place_of_call(const void* returns_to) noexcept {
  try {
    return call_places().find(returns_to);
  } catch (...) {  // without memory
    return nullptr;
  }
}

}  // namespace coracle::mpi
