// Making the transport, and trying whether it could be made.
#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "transports/verbs/verbs_transport.hpp"

namespace coracle::internals::verbs {

Support probe() {
  Support support;
  const std::optional<Port> port = open_port(0, support);
  if (!port) return support;
  try {
    const RegisteredBuffer some(port->domain.get(), std::size_t{16} << 20);
  } catch (const Error& error) {
    return {false, support.software,
            fmt::format("{} is there, but 16 MiB of memory can't be pinned for it: {}", support.detail,
                        error.code().message()),
            "raise the limit of locked memory: `ulimit -l unlimited` (memlock in /etc/security/limits.conf, or "
            "LimitMEMLOCK=infinity of the service)"};
  }
  return support;
}

std::unique_ptr<Transport> make_transport(Rank& rank, Transport& control, bool must) {
  Support support;
  std::optional<Port> port = open_port(rank.id() - rank.core().region().first_rank(), support);
  if (!port && must) throw Error(Errc::unsupported, fmt::format("verbs: {}; {}", support.detail, support.remedy));
  if (!port || (!must && port->software)) return nullptr;
  try {
    return std::make_unique<VerbsTransport>(rank, control, std::move(*port), must);
  } catch (const Error&) {
    if (must) throw;
    return nullptr;
  }
}

}  // namespace coracle::internals::verbs
