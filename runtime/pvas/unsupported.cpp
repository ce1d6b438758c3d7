// In place of the shared address space on machines it is not written for: everything says so.
#include "runtime/core/error.hpp"
#include "runtime/pvas/address_space.hpp"

namespace coracle::internals::pvas {
namespace {

constexpr const char* kReason = "it is written for x86-64 Linux only";
constexpr const char* kRemedy = "use --place process";

[[noreturn]] void refuse() {
  throw Error(make_error_code(Errc::unsupported),
              std::string("cannot make a shared address space: ") + kReason + "; " + kRemedy);
}

}  // namespace

struct AddressSpace::State {
  std::string mode_reason = kReason;
};

AddressSpace::AddressSpace(std::unique_ptr<State> state) : state_(std::move(state)) {}
AddressSpace::AddressSpace(AddressSpace&&) noexcept = default;
AddressSpace& AddressSpace::operator=(AddressSpace&&) noexcept = default;
AddressSpace::~AddressSpace() = default;

AddressSpace AddressSpace::create(const Options&) {
  refuse();
}
pid_t AddressSpace::spawn(const SpawnOptions&) {
  refuse();
}
ExitStatus AddressSpace::wait(pid_t) {
  refuse();
}
bool AddressSpace::reaped(pid_t) {
  return false;
}
bool AddressSpace::close_descriptors(pid_t) {
  return false;
}
void AddressSpace::destroy() {}
Mode AddressSpace::mode() const noexcept {
  return Mode::rlimit;
}
const std::string& AddressSpace::mode_reason() const noexcept {
  return state_->mode_reason;
}
bool AddressSpace::contains(pid_t) const noexcept {
  return false;
}
std::size_t AddressSpace::task_count() const noexcept {
  return 0;
}

Support probe() {
  return {false, Mode::rlimit, kReason, kRemedy};
}

}  // namespace coracle::internals::pvas
