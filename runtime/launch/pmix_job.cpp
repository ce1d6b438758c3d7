// What holds with every PMIx library, and without.
#include <sys/random.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/launch/pmix_client.hpp"

namespace coracle::internals {

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

void agree(PmixClient& client, JobShape& shape) {
  constexpr const char* kName = "coracle.job";
  struct Agreed {
    JobKey key;
    decltype(JobShape::choices) choices;
  };
  static_assert(std::has_unique_object_representations_v<Agreed>);
  Agreed agreed{};
  if (client.rank() == 0) {
    agreed = {random_job_key(), shape.choices};
    client.publish(kName, std::as_bytes(std::span(&agreed, 1)));
  }
  client.fence();
  const std::vector<std::byte> bytes = client.fetch(0, kName);
  if (bytes.size() != sizeof agreed) throw Error(Errc::bad_input, "the first process has left no key for the job");
  std::memcpy(&agreed, bytes.data(), sizeof agreed);
  shape.key = agreed.key;
  shape.choices = agreed.choices;
  shape.choices.back() = '\0';
}

}  // namespace coracle::internals
