// Texts of errors and exceptions, and the remedies of shortages.
#include "runtime/core/error.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace coracle::internals {
namespace {

constexpr std::pair<Errc, const char*> kTexts[] = {
    {Errc::out_of_segment, "address outside its segment"},
    {Errc::no_such_peer, "no such rank"},
    {Errc::segment_full, "segment is full"},
    {Errc::bad_handler, "function has no address common to all ranks"},
    {Errc::bad_input, "bad input"},
    {Errc::unsupported, "not supported here"},
    {Errc::misaligned, "misaligned address"},
    {Errc::deadlock, "deadlock"},
    {Errc::peer_lost, "peer lost"},
    {Errc::given_up, "collective given up"},
    {Errc::truncated, "message longer than its buffer"},
    {Errc::page_lost, "page lost with the node that had its only current copy"},
    {Errc::page_damaged, "page does not match its checksum"},
    {Errc::device_failed, "a GPU has failed"},
    {Errc::slab_gone, "its slab is gone, or ends before"},
};

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "coracle"; }
  std::string message(int value) const override {
    for (const auto& [code, text] : kTexts)
      if (static_cast<int>(code) == value) return text;
    return fmt::format("unknown condition {}", value);
  }
};

constexpr const char* kNoText = "an exception that is not a std::exception";

}  // namespace

const std::error_category& coracle_category() noexcept {
  static const Category category;
  return category;
}

std::error_code make_error_code(Errc value) noexcept {
  return {static_cast<int>(value), coracle_category()};
}

Error Error::of_operation(std::error_code code, const char* operation, int rank, int peer, const std::string& detail) {
  std::string text = operation;
  if (rank >= 0) text += fmt::format(" on rank {}", rank);
  if (peer >= 0) text += fmt::format(" with rank {}", peer);
  text += fmt::format(" failed: {}", code.message());
  if (!detail.empty()) text += fmt::format(" ({})", detail);
  return Error(code, text);
}

void throw_errno(int code, const std::string& what) {
  const std::error_code error(code, std::generic_category());
  throw Error(error, fmt::format("{}: {}", what, error.message()));
}

std::string failure_text(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& caught) {
    return caught.what();
  } catch (...) {
    return kNoText;
  }
}

// Allocates nothing: what is told may be that there is no memory.
void report_failure(std::uint32_t rank, const char* what, const std::exception_ptr& error) noexcept {
  const auto say = [&](const char* how) { std::fprintf(stderr, "coracle: rank %u: %s: %s\n", rank, what, how); };
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& caught) {
    say(caught.what());
  } catch (...) {
    say(kNoText);
  }
}

bool is_shortage(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM || error == EADDRNOTAVAIL;
}

std::string shortage_remedy(int error) {
  if (error == ENFILE) return "the machine has as many files open as it may: raise sysctl fs.file-max";
  if (error == EADDRNOTAVAIL) return "no local port is free: widen sysctl net.ipv4.ip_local_port_range";
  if (error != EMFILE) return "";
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return fmt::format("this process may have {} descriptors (files, sockets), and all are in use: raise ulimit -n",
                     limit.rlim_cur);
}

}  // namespace coracle::internals
