#include "interfaces/mpi/openmpi/fortran_numbers.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace coracle::mpi::openmpi {
namespace {

struct Numbering {
  std::vector<HandleWord*> handles;
  std::vector<int> free;
  /// Predefined ones keep theirs.
  std::size_t predefined = 0;
};

Numbering& numbering(HandleKind kind) {
  // Never destroyed: destructors of the program may still ask.
  static auto* const all = new std::array<Numbering, kHandleKinds>;
  return (*all)[static_cast<std::size_t>(kind)];
}

/// When an object has gone.
void forget(const HandleWord& word) noexcept {
  Numbering& all = numbering(static_cast<HandleKind>(word.kind));
  if (word.number < static_cast<int>(all.predefined)) return;
  all.handles[static_cast<std::size_t>(word.number)] = nullptr;
  // Its room was reserved when the number was made.
  all.free.push_back(word.number);
}

}  // namespace

void set_fortran_number(HandleKind kind, HandleWord& word, int number) {
  Numbering& all = numbering(kind);
  const auto place = static_cast<std::size_t>(number);
  if (all.handles.size() <= place) all.handles.resize(place + 1);
  all.handles[place] = &word;
  all.predefined = std::max(all.predefined, place + 1);
  word.number = number;
  word.kind = static_cast<std::int32_t>(kind);
}

int fortran_number(HandleKind kind, HandleWord& word) {
  if (word.number >= 0) return word.number;
  Object::number_ended = forget;
  word.kind = static_cast<std::int32_t>(kind);
  Numbering& all = numbering(kind);
  if (all.free.empty()) {
    all.free.reserve(all.handles.size() + 1);
    word.number = static_cast<int>(all.handles.size());
    all.handles.push_back(&word);
    return word.number;
  }
  word.number = all.free.back();
  all.free.pop_back();
  all.handles[static_cast<std::size_t>(word.number)] = &word;
  return word.number;
}

HandleWord* fortran_handle(HandleKind kind, int number) noexcept {
  const Numbering& all = numbering(kind);
  return number >= 0 && static_cast<std::size_t>(number) < all.handles.size()
             ? all.handles[static_cast<std::size_t>(number)]
             : nullptr;
}

}  // namespace coracle::mpi::openmpi
