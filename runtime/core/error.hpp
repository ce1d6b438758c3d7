// Errors of the world (not of the programmer): an std::error_code with what, rank, peer, operation and subject, so that
// a message always says what failed, where, and against whom.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>

namespace coracle::internals {

/// Coracle's own conditions, beside those of std::generic_category (ECANCELED, ETIMEDOUT, ...).
enum class Errc {
  out_of_segment = 1,  ///< A remote address or length lies outside its segment.
  no_such_peer,        ///< A rank number is outside 0..size-1.
  segment_full,        ///< The rank's segment has no room left (see `coracle run --segment`).
  bad_handler,         ///< A remote function lies outside the main program and has no common address.
  bad_input,           ///< A file or argument of the user is malformed.
  unsupported,         ///< This placement, kernel or transport can't do it.
  misaligned,          ///< An atomic's address is not a multiple of its size.
  deadlock,            ///< `sim`: nothing is left that could ever happen, but ranks still wait.
  peer_lost,  ///< The peer has died, hangs, or can't be reached any more: it stays lost for the rest of the job.
  given_up,   ///< A member of the team has ended a collective early, by an error or a time limit: the team is broken.
  truncated,  ///< A message is longer than the buffer it was received into.
  page_lost,  ///< The only current copy of a page of a paged segment was at a node that is lost.
  page_damaged,   ///< A page read from its file does not match its checksum.
  device_failed,  ///< A GPU, or its driver, has ended a copy with an error; what it was to write holds any bytes.
  slab_gone,      ///< A place's Slab has been given back, or ends before it (where slabs are marked, see SlabTags).
};

const std::error_category& coracle_category() noexcept;
std::error_code make_error_code(Errc value) noexcept;

/// Thrown at the await site (and by setup code). Owns all its text.
class Error : public std::runtime_error {
 public:
  /// `what` is the whole sentence: what failed, where, how to mend it.
  Error(std::error_code code, const std::string& what) : std::runtime_error(what), code_(code) {}

  const std::error_code& code() const noexcept { return code_; }

  /// Builds the sentence for a failed operation: "put on rank 0 with rank 3 failed: <code> (<detail>)".
  static Error of_operation(std::error_code code, const char* operation, int rank, int peer, const std::string& detail);

 private:
  std::error_code code_;
};

/// A code as a word that travels between ranks; 0: none. Errno's and Coracle's own stay what they are, others become
/// EIO, and so does on arrival what can be neither.
std::uint64_t to_wire(const std::error_code& code) noexcept;
std::error_code code_from_wire(std::uint64_t word) noexcept;

/// Throws Error with `what` for errno-like `code`.
[[noreturn]] void throw_errno(int code, const std::string& what);

/// What an exception says that nobody can catch any more: its what(), or that it has none.
std::string failure_text(const std::exception_ptr& error);

/// Tells standard error that on `rank` something (`what`, the first half of the sentence) has failed, and how.
void report_failure(std::uint32_t rank, const char* what, const std::exception_ptr& error) noexcept;

/// Whether the system says by `error` (an errno) that it has nothing left to make a descriptor or socket of, at the
/// moment: a lack of descriptors, ports or memory: on this side, so that it says nothing
/// about a peer, and may pass.
bool is_shortage(int error) noexcept;

/// What is used up and how to get more of it, as part of a sentence; "" for other errors, and for a lack of memory.
std::string shortage_remedy(int error);

}  // namespace coracle::internals

template <>
struct std::is_error_code_enum<coracle::internals::Errc> : std::true_type {};
