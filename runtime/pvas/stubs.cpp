// Writing stubs, byte by byte.
#include "runtime/pvas/stubs.hpp"

#include <cstring>

namespace coracle::internals::pvas {
namespace {

void put_distance(unsigned char* code, std::uint64_t from_next, std::uint64_t target) noexcept {
  const auto distance = static_cast<std::int32_t>(static_cast<std::int64_t>(target - from_next));
  std::memcpy(code, &distance, sizeof(distance));
}

}  // namespace

void write_stubs(unsigned char* page, const Control& control) noexcept {
  const std::uint64_t base = control.layout.stubs_begin();
  const auto address_of = [](const void* field) { return reinterpret_cast<std::uint64_t>(field); };
  std::memset(page, 0xcc, kPageBytes);  // int3
  const unsigned char indirect_jump[] = {0xff, 0x25};
  std::memcpy(page, indirect_jump, sizeof(indirect_jump));  // jmp *hook_entry(%rip)
  put_distance(page + 2, base + 6, address_of(&control.hook_entry));
  for (unsigned i = 0; i < kRedirectsMax; ++i) {
    unsigned char* code = page + kStubsOffset + i * kStubBytes;
    const std::uint64_t place = stub_address(control.layout, i);
    const unsigned char step_over[] = {0x48, 0x8d, 0x64, 0x24,
                                       0x80};  // lea -128(%rsp), %rsp: leaf code keeps data there
    std::memcpy(code, step_over, sizeof(step_over));
    code[5] = 0xe8;  // call the page's start
    put_distance(code + 6, place + kStubReturnOffset, base);
    const unsigned char step_back[] = {0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0};  // lea 128(%rsp), %rsp
    std::memcpy(code + 10, step_back, sizeof(step_back));
    std::memcpy(code + 18, indirect_jump, sizeof(indirect_jump));  // jmp *resume(%rip)
    put_distance(code + 20, place + 24, address_of(&control.redirects[i].resume));
  }
}

}  // namespace coracle::internals::pvas
