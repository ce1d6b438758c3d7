// Frames are told apart by the modules in which they lie.
#include "interfaces/mpi/core/program_stack.hpp"

#include <dlfcn.h>
#include <execinfo.h>

#include <string_view>

#include "runtime/core/own_module.hpp"
#include "runtime/job/backtrace_text.hpp"
#include "runtime/job/failure_record.hpp"

namespace coracle::mpi {
namespace {

bool is_own_code(const void* address) noexcept {
  return internals::kOwnModule.holds_code(static_cast<const char*>(address) - internals::kOwnModule.start);
}

std::string_view module_of(const void* address) noexcept {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string_view path(info.dli_fname);
  return path.substr(path.rfind('/') + 1);
}

/// MPI's libraries: the one for C, which calls this one, and those for other languages, which call that.
bool is_interface(const void* address) noexcept {
  const std::string_view module = module_of(address);
  return module.starts_with("libmpi_") || module.starts_with("libmpi.");
}

/// "MPI_Recv" of an address in PMPI_Recv, "coracle_put"; null where it is in no function of C's interfaces.
const char* function_at(const void* address) noexcept {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_sname == nullptr) return nullptr;
  const char* const name = info.dli_sname[0] == 'P' ? info.dli_sname + 1 : info.dli_sname;
  const std::string_view whole(name);
  return whole.starts_with("MPI") || whole.starts_with("coracle_") ? name : nullptr;
}

const void* before(const void* return_address) noexcept {
  return static_cast<const char*>(return_address) - 1;
}

}  // namespace

ProgramStack::ProgramStack(const void* interrupted) noexcept
    : frames_(std::span(room_).first(internals::frames_of(interrupted, room_))), is_exact_(true) {
  inside_library_ = !frames_.empty() && is_own_code(frames_.front());
  take_apart();
}

ProgramStack::ProgramStack() noexcept
    : frames_(std::span(room_).first(static_cast<std::size_t>(::backtrace(room_.data(), kFramesMax)))) {
  take_apart();
}

void ProgramStack::take_apart() noexcept {
  drop_start();
  std::size_t place = 0;
  while (place < frames_.size() && !is_own_code(frames_[place])) ++place;
  if (place == frames_.size()) return;  // in no function of MPI
  while (place < frames_.size() && is_own_code(frames_[place])) ++place;
  function_ = function_at(before(frames_[place - 1]));
  for (; place < frames_.size() && is_interface(before(frames_[place])); ++place)
    if (function_ == nullptr) function_ = function_at(before(frames_[place]));
  frames_ = frames_.subspan(place);
  is_exact_ = false;
}

/// What has called main() says nothing.
void ProgramStack::drop_start() noexcept {
  if (frames_.size() < 2) return;
  std::size_t end = frames_.size() - 1;
  while (end > 1 && module_of(before(frames_[end - 1])).starts_with("libc.")) --end;
  if (end < frames_.size() - 1) frames_ = frames_.first(end);
}

void ProgramStack::add_frames(internals::SignalText& text) const noexcept {
  constexpr std::size_t kToldMax = 16;
  for (std::size_t i = 0; i < frames_.size() && i < kToldMax; ++i)
    internals::add_frame(text, frames_[i], is_exact_ && i == 0);
}

std::string describe_callers() {
  constexpr std::size_t kTextBytes = 8 << 10;
  std::array<char, kTextBytes> room;
  internals::SignalText text(room.data(), room.size());
  text.add("callers\n");
  ProgramStack().add_frames(text);
  const std::string program = internals::program_path();
  return internals::readable_crash(text.view(), {&program, 1}, std::chrono::seconds(1)).details;
}

}  // namespace coracle::mpi
