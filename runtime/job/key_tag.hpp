// Tags that prove knowledge of the job's key without showing it: SipHash-2-4 (Aumasson and Bernstein, INDOCRYPT 2012),
// a keyed hash made for short messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/job/directory.hpp"

namespace coracle::internals {

/// The tag of `message` under `key`. Who does not know the key can neither make nor change a tagged message.
std::uint64_t key_tag(std::span<const std::byte> message, const JobKey& key) noexcept;

/// Whether both are the same, in a time that does not tell where they differ: who guesses must not learn how much of
/// the guess was right.
bool same_key(const JobKey& one, const JobKey& other) noexcept;
bool same_tag(std::uint64_t one, std::uint64_t other) noexcept;

}  // namespace coracle::internals
