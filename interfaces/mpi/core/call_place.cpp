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
  const coracle_place* find(const void* returns_to) {
    const auto [known, is_new] = places_.try_emplace(returns_to);
    if (is_new) known->second = make(returns_to);
    return known->second.file == nullptr ? nullptr : &known->second;
  }

 private:
  /// The call is just before what it returns to.
  coracle_place make(const void* returns_to) {
    const auto* const call = static_cast<const char*>(returns_to) - 1;
    Dl_info info{};
    const link_map* module = nullptr;
    const int is_known =
        ::dladdr1(call, &info, const_cast<void**>(reinterpret_cast<const void**>(&module)), RTLD_DL_LINKMAP);
    if (is_known == 0 || info.dli_fname == nullptr || module == nullptr) return {};
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(call) - module->l_addr;
    if (address > UINT32_MAX) return {};
    return {file_of(info), info.dli_sname == nullptr ? "" : info.dli_sname, static_cast<std::uint32_t>(address),
            CORACLE_IN_MODULE};
  }
  const char* file_of(const Dl_info& module) {
    const auto [known, is_new] = files_.try_emplace(module.dli_fbase);
    const bool is_program = module.dli_fbase == internals::program_module().start;
    if (is_new) known->second = whole_path(is_program ? internals::program_path() : module.dli_fname);
    return known->second.c_str();
  }

  std::unordered_map<const void*, coracle_place> places_;
  std::map<const void*, std::string> files_;
};

}  // namespace

const coracle_place* place_of_call(const void* returns_to) noexcept {
  try {
    static CallPlaces& places = *new CallPlaces;  // stays: programs may call at their very end
    return places.find(returns_to);
  } catch (...) {  // without memory
    return nullptr;
  }
}

}  // namespace coracle::mpi
