#include "interfaces/mpi/openmpi/translate.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "interfaces/mpi/core/topology.hpp"
#include "interfaces/mpi/values.hpp"

namespace coracle::mpi::openmpi {
namespace {

// A keyval of the program is this much more here than in the core, where those of the standard are above it.
constexpr int kFirstKeyval = 16;

// MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY.
constexpr std::uintptr_t kAbiUnweighted = 2;
constexpr std::uintptr_t kAbiWeightsEmpty = 3;

}  // namespace

void refuse_handle(const void* handle, const HandleNoun& noun, const char* name) {
  if (handle == nullptr) raise(noun.error, "{} is no {}: it is a null pointer", name, noun.noun);
  raise(noun.error, "{} is no {} any more: it has been freed, and a copy of its handle was kept", name, noun.noun);
}

void refuse_other_kind(const HandleNoun& noun, const char* name) {
  raise(noun.error, "{} is no {}, but a handle of another kind", name, noun.noun);
}

void refuse_place(const char* name) {
  raise(ErrorClass::arg, "{} is a null pointer: a result is to be stored there", name);
}

void refuse_array(const char* name, int count) {
  raise(ErrorClass::arg, "{} is a null pointer: it is to be an array of {}", name, count);
}

int value_from(std::span<const Pair> values, int value, const char* name, const char* names) {
  const auto found = std::ranges::find(values, value, &Pair::abi);
  if (found == values.end()) raise(ErrorClass::arg, "{} is {}: it is to be one of {}", name, value, names);
  return found->core;
}

int value_to(std::span<const Pair> values, int value) noexcept {
  const auto found = std::ranges::find(values, value, &Pair::core);
  return found == values.end() ? kUndefined : found->abi;
}

int keyval_from(int keyval) noexcept {
  const auto found = std::ranges::find(kKeyvalValues, keyval, &Pair::abi);
  return found != std::end(kKeyvalValues) ? found->core : keyval - kFirstKeyval;
}

int keyval_to(int keyval) noexcept {
  const auto found = std::ranges::find(kKeyvalValues, keyval, &Pair::core);
  return found != std::end(kKeyvalValues) ? found->abi : keyval + kFirstKeyval;
}

int code_from(int code) noexcept {
  if (code < 0 || code >= static_cast<int>(std::size(kClassFrom))) return code;
  const int found = kClassFrom[code];
  return found >= 0 ? found : static_cast<int>(ErrorClass::unknown);
}

int code_to(int code) noexcept {
  return code < 0 || code >= static_cast<int>(std::size(kClassTo)) ? code : kClassTo[code];
}

int distribution_value_from(int distribution) {
  return distribution_from(distribution, "array_of_distribs");
}

const int* weights_from(const int* weights) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(weights);
  if (address == kAbiUnweighted) return nullptr;
  return weights == nullptr || address == kAbiWeightsEmpty ? &kNoWeights : weights;
}

int* weights_to(int* weights) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(weights);
  return address == kAbiUnweighted || address == kAbiWeightsEmpty ? nullptr : weights;
}

void refuse_wide(Count count, const char* name) {
  raise(ErrorClass::value_too_large, "{} would be {}, which no int holds", name, count);
}

Status status_from(const MPI_Status* status, const char* name) {
  if (status == nullptr) raise(ErrorClass::arg, "{} is MPI_STATUS_IGNORE: there is nothing to be read from it", name);
  Status made;
  made.source = rank_from(status->MPI_SOURCE);
  made.tag = tag_from(status->MPI_TAG);
  made.error = code_from(status->MPI_ERROR);
  made.cancelled = status->cancelled != 0;
  made.bytes = static_cast<Count>(status->bytes);
  return made;
}

void store_text(const std::string& text, char* to, int room, int* length) noexcept {
  const std::size_t taken = room > 0 ? std::min(text.size(), static_cast<std::size_t>(room) - 1) : 0;
  if (room > 0) {
    std::memcpy(to, text.data(), taken);
    to[taken] = '\0';
  }
  if (length != nullptr) *length = static_cast<int>(taken);
}

int sources_of(const Comm* comm) {
  if (comm == nullptr || comm->topology == nullptr) return 0;
  return static_cast<int>(neighbours_of(*comm->topology, comm->rank()).sources.size());
}

int destinations_of(const Comm* comm) {
  if (comm == nullptr || comm->topology == nullptr) return 0;
  return static_cast<int>(neighbours_of(*comm->topology, comm->rank()).destinations.size());
}

}  // namespace coracle::mpi::openmpi
