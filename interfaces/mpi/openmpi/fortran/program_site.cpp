// How far the library's frame reaches is found by unwinding, once for each of its calls: compilers give it a fixed
// size.
#include "interfaces/mpi/openmpi/fortran/program_site.hpp"

#include <link.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coracle::mpi::openmpi {
namespace {

struct Code {
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  bool holds(const void* address) const noexcept {
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    return begin <= place && place < end;
  }
};

/// The loader's first object is the main program.
int note_first(dl_phdr_info* object, std::size_t, void* place) noexcept {
  auto& found = *static_cast<Code*>(place);
  for (const ElfW(Phdr)* part = object->dlpi_phdr; part != object->dlpi_phdr + object->dlpi_phnum; ++part) {
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + part->p_vaddr;
    found.begin = std::min(found.begin, begin);
    found.end = std::max(found.end, begin + part->p_memsz);
  }
  return 1;
}

Code find_program() noexcept {
  Code found;
  ::dl_iterate_phdr(note_first, &found);
  return found;
}

const Code program_code = find_program();

/// A library's call, and how far behind the callee's frame the library's own ends.
struct Distance {
  std::atomic<const void*> returns_to{nullptr};
  std::atomic<std::ptrdiff_t> bytes{0};
};

/// Those that are known. Threads may race to note the same: they note the same numbers.
class Distances {
 public:
  /// 0: none.
  std::ptrdiff_t find(const void* returns_to) const noexcept {
    const Distance& place = places_[place_of(returns_to)];
    // acquire: pairs with note().
    return place.returns_to.load(std::memory_order_acquire) == returns_to ? place.bytes.load(std::memory_order_relaxed)
                                                                          : 0;
  }
  void note(const void* returns_to, std::ptrdiff_t bytes) noexcept {
    Distance& place = places_[place_of(returns_to)];
    const void* none = nullptr;
    // Whose place is taken is looked for each time: there are few such calls in a program.
    if (!place.returns_to.compare_exchange_strong(none, kBeingNoted, std::memory_order_relaxed)) return;
    place.bytes.store(bytes, std::memory_order_relaxed);
    place.returns_to.store(returns_to, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kPlaces = 1024;
  static std::size_t place_of(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address) / 16 % kPlaces;
  }
  static inline const char being_noted = 0;
  static constexpr const void* kBeingNoted = &being_noted;

  std::array<Distance, kPlaces> places_;
};

Distances distances;

struct Search {
  const void* returns_to;
  bool is_behind = false;
  const void* site = nullptr;
  std::uintptr_t frame = 0;
};

/// Of frames from the innermost on: that of the library's function is the one that the entry point returns to.
_Unwind_Reason_Code look_at_frame(_Unwind_Context* context, void* place) {
  auto& search = *static_cast<Search*>(place);
  const auto* address = reinterpret_cast<const void*>(_Unwind_GetIP(context));
  if (search.is_behind) {
    search.site = address;
    search.frame = _Unwind_GetCFA(context);
    return _URC_NORMAL_STOP;
  }
  search.is_behind = address == search.returns_to;
  return _URC_NO_REASON;
}

/// Where a function's return address lies, as its frame's end tells (x86-64).
const void* stored_site(std::uintptr_t frame) noexcept {
  return *reinterpret_cast<const void* const*>(frame - sizeof(void*));
}

}  // namespace

const void* program_site(const void* returns_to, const void* frame) noexcept {
  if (program_code.holds(returns_to)) [[likely]]
    return returns_to;
#if defined(__x86_64__)
  const auto own_frame = reinterpret_cast<std::uintptr_t>(frame);
  if (const std::ptrdiff_t distance = distances.find(returns_to); distance != 0) {
    const void* const site = stored_site(own_frame + static_cast<std::uintptr_t>(distance));
    if (program_code.holds(site)) return site;
  }
  Search search{returns_to};
  _Unwind_Backtrace(look_at_frame, &search);
  if (!program_code.holds(search.site)) return returns_to;
  if (search.frame > own_frame && stored_site(search.frame) == search.site)
    distances.note(returns_to, static_cast<std::ptrdiff_t>(search.frame - own_frame));
  return search.site;
#else
  (void)frame;
  return returns_to;
#endif
}

}  // namespace coracle::mpi::openmpi
