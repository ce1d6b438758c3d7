// Which errors they are, and their remedies.
#include "runtime/core/shortage.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>

namespace coracle::internals {

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
