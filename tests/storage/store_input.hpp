// What a fuzzer's bytes mean to a store: edits of a good file, sealed again so that they get past the checksums.
#pragma once

#include <cstddef>
#include <span>

#include "tests/storage/store_image.hpp"

namespace coracle::internals::test {

/// Must survive any input: checking, opening and reading either work or throw Error. The first bit of the first byte:
/// whether edited blocks are sealed again; the rest: edits of 12 bytes (block, place in it in words, 8 bytes for it).
/// `image` is the good file; the edited one is written to `path`.
void take_store_input(EventLoop& loop, const StoreImage& image, const std::string& path,
                      std::span<const std::byte> input);

}  // namespace coracle::internals::test
