// What chains of descriptors and launches of kernels must be for a GPU.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/error.hpp"
#include "transports/cuda/stream_device.hpp"

namespace coracle::internals::cuda {
namespace {

[[noreturn]] void refuse(const Reach& reach, tca::Chain chain, std::size_t index, const char* what) {
  const tca::Descriptor& each = chain[index];
  const std::string& refusal = reach.refusal();
  throw Error(
      Errc::bad_input,
      fmt::format("cuda: descriptor {} of {} (from {} to {}, {} blocks of {} bytes, strides {} and {}) {}{}{}", index,
                  chain.size(), fmt::ptr(each.source), fmt::ptr(each.target), each.count, each.block_bytes,
                  each.source_stride, each.target_stride, what, refusal.empty() ? "" : "; ", refusal));
}

}  // namespace

void check_chain(Reach& reach, tca::Chain chain) {
  if (chain.empty()) throw Error(Errc::bad_input, "a table of DMA descriptors is empty");
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const tca::Descriptor& each = chain[i];
    if (each.bytes() == 0) refuse(reach, chain, i, "copies nothing");
    const auto reached = [&](const std::byte* first, const std::byte* last) {
      const std::byte* begin = std::min(first, last);
      const std::byte* end = std::max(first, last) + each.block_bytes;
      return reach.location_of(begin, static_cast<std::size_t>(end - begin)).reached();
    };
    if (!reached(each.source, each.source_block(each.count - 1)))
      refuse(reach, chain, i, "reads memory that is neither a GPU's nor pinned");
    if (!reached(each.target, each.target_block(each.count - 1)))
      refuse(reach, chain, i, "writes memory that is neither a GPU's nor pinned");
  }
}

void check_launches(std::span<const Launch> launches) {
  if (launches.empty()) throw Error(Errc::bad_input, "a table of kernels is empty");
  for (std::size_t i = 0; i < launches.size(); ++i)
    if (launches[i].parameter.size() > kParameterBytesMax)
      throw Error(Errc::bad_input,
                  fmt::format("cuda: launch {} of {} has a parameter of {} bytes, and at most {} are possible: put the "
                              "rest into memory of the GPU, and its address into the parameter",
                              i, launches.size(), launches[i].parameter.size(), kParameterBytesMax));
}

}  // namespace coracle::internals::cuda
