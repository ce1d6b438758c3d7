// Descriptor: what one DMA controller is told to copy; a chain of them is a table, started by one doorbell.
//
// Source: the TCA/PEACH2 GASNet (IPSJ HPC-156, 2016): descriptors of source, destination and length, linked into a
// table in memory; block-stride transfers in one descriptor.
#pragma once

#include <span>

#include "runtime/job/strided_copy.hpp"

namespace coracle::internals::tca {

using Descriptor = StridedCopy;

/// Descriptors that are carried out in order.
using Chain = std::span<const Descriptor>;

}  // namespace coracle::internals::tca
