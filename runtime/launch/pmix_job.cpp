// What holds with every PMIx library, and without.
#include <sys/random.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/error.hpp"
#include "runtime/launch/pmix_client.hpp"

namespace coracle {

bool PmixClient::is_wanted() noexcept {
  return std::getenv("PMIX_NAMESPACE") != nullptr && std::getenv("PMIX_RANK") != nullptr &&
         std::getenv("CORACLE_JOB") == nullptr;
}

JobKey random_job_key() {
  JobKey key;
  if (::getrandom(key.bytes.data(), key.bytes.size(), 0) != static_cast<ssize_t>(key.bytes.size()))
    throw_errno(errno, "can't make the job's key (getrandom)");
  return key;
}

JobKey agree_on_key(PmixClient& client) {
  constexpr const char* kName = "coracle.key";
  JobKey key;
  if (client.rank() == 0) client.publish(kName, std::as_bytes(std::span((key = random_job_key()).bytes)));
  client.fence();
  const std::vector<std::byte> bytes = client.fetch(0, kName);
  if (bytes.size() != key.bytes.size()) throw Error(Errc::bad_input, "the first process has left no key for the job");
  std::memcpy(key.bytes.data(), bytes.data(), bytes.size());
  return key;
}

}  // namespace coracle
