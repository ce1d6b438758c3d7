// PMIx through dlopen: seven functions of its stable interface.
#include "runtime/launch/pmix_client.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

struct Library {
  decltype(&::PMIx_Init) init = nullptr;
  decltype(&::PMIx_Finalize) finalize = nullptr;
  decltype(&::PMIx_Abort) abort = nullptr;
  decltype(&::PMIx_Put) put = nullptr;
  decltype(&::PMIx_Commit) commit = nullptr;
  decltype(&::PMIx_Fence_nb) fence_nb = nullptr;
  decltype(&::PMIx_Fence) fence = nullptr;
  decltype(&::PMIx_Get) get = nullptr;
  decltype(&::PMIx_Error_string) error_string = nullptr;
};

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  return function != nullptr;
}

/// Empty text: it is there.
std::string load(Library& library) {
  void* handle = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL);  // its plugins look for its symbols
  if (handle == nullptr) return ::dlerror();
  const bool all = find(handle, "PMIx_Init", library.init) && find(handle, "PMIx_Finalize", library.finalize) &&
                   find(handle, "PMIx_Abort", library.abort) && find(handle, "PMIx_Put", library.put) &&
                   find(handle, "PMIx_Commit", library.commit) && find(handle, "PMIx_Fence_nb", library.fence_nb) &&
                   find(handle, "PMIx_Fence", library.fence) && find(handle, "PMIx_Get", library.get) &&
                   find(handle, "PMIx_Error_string", library.error_string);
  return all ? "" : "libpmix.so.2 lacks functions of PMIx 3";
}

void write_byte(pmix_status_t, void* place) {
  // PMIx_Fence_nb's thread; whoever waits reads it from the pipe.
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(place));
  [[maybe_unused]] const ssize_t written = ::write(fd, "", 1);
}

/// "Collect": every process gets what all have published, in one go.
pmix_info_t collecting() {
  pmix_info_t info{};
  std::strncpy(info.key, PMIX_COLLECT_DATA, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

class Client final : public PmixClient {
 public:
  explicit Client(const Library& library) : library_(library) {
    check(library_.init(&self_, nullptr, 0), "join the job (PMIx_Init)");
    size_ = number_of_job(PMIX_JOB_SIZE, 0);
    if (size_ == 0 || self_.rank >= size_)
      throw Error(Errc::bad_input,
                  fmt::format("the resource manager numbers this process {} of {}", self_.rank, size_));
  }

  std::uint32_t rank() const noexcept override { return self_.rank; }
  std::uint32_t size() const noexcept override { return size_; }
  std::uint32_t program() const override { return number_of(self_, PMIX_APPNUM, 0); }
  bool one_machine() const override { return number_of_job(PMIX_NUM_NODES, 0) == 1; }

  void publish(const std::string& key, std::span<const std::byte> bytes) override {
    pmix_value_t value{};
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
    value.data.bo.size = bytes.size();
    check(library_.put(PMIX_GLOBAL, key.c_str(), &value), "publish its address (PMIx_Put)");
    check(library_.commit(), "publish its address (PMIx_Commit)");
  }
  void fence() override {
    const pmix_info_t info = collecting();
    check(library_.fence(nullptr, 0, &info, 1), "wait for the others (PMIx_Fence)");
  }
  void fence_then_write(int fd) override {
    check(library_.fence_nb(nullptr, 0, nullptr, 0, write_byte, reinterpret_cast<void*>(std::intptr_t{fd})),
          "wait for the others (PMIx_Fence_nb)");
  }
  std::vector<std::byte> fetch(std::uint32_t from, const std::string& key) override {
    pmix_value_t* value = nullptr;
    pmix_proc_t peer = self_;
    peer.rank = from;
    check(library_.get(&peer, key.c_str(), nullptr, 0, &value), "learn of the others (PMIx_Get)");
    std::vector<std::byte> bytes;
    if (value->type == PMIX_BYTE_OBJECT) {
      const auto* start = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
      bytes.assign(start, start + value->data.bo.size);
      std::free(value->data.bo.bytes);
    }
    std::free(value);
    return bytes;
  }
  void abort(int exit_status, const std::string& why) override { library_.abort(exit_status, why.c_str(), nullptr, 0); }
  void finish() override { library_.finalize(nullptr, 0); }

 private:
  void check(pmix_status_t status, const char* what) const {
    if (status == PMIX_SUCCESS) return;
    throw Error(
        std::make_error_code(std::errc::io_error),
        fmt::format("can't {}: {} (is the resource manager that set PMIX_NAMESPACE still there? unset it to run "
                    "without)",
                    what, library_.error_string(status)));
  }
  std::uint32_t number_of_job(const char* key, std::uint32_t otherwise) const {
    pmix_proc_t job = self_;
    job.rank = PMIX_RANK_WILDCARD;
    return number_of(job, key, otherwise);
  }
  std::uint32_t number_of(const pmix_proc_t& whom, const char* key, std::uint32_t otherwise) const {
    pmix_value_t* value = nullptr;
    if (library_.get(&whom, key, nullptr, 0, &value) != PMIX_SUCCESS) return otherwise;
    const std::uint32_t number = value->type == PMIX_UINT32 ? value->data.uint32 : otherwise;
    std::free(value);
    return number;
  }

  const Library library_;
  pmix_proc_t self_{};
  std::uint32_t size_ = 0;
};

}  // namespace

std::unique_ptr<PmixClient> PmixClient::connect() {
  Library library;
  const std::string why = load(library);
  if (why.empty()) return std::make_unique<Client>(library);
  throw Error(Errc::unsupported,
              fmt::format("a resource manager has started this process, but its PMIx library can't be loaded: {} "
                          "(install libpmix2, or unset PMIX_NAMESPACE to run without)",
                          why));
}

PmixClient::Support PmixClient::probe() {
  Library library;
  const std::string why = load(library);
  if (!why.empty()) return {false, why, "install libpmix2 (Debian) for mpirun and srun --mpi=pmix"};
  return {true, "under mpirun and srun --mpi=pmix, as one launcher per node or one process per rank", ""};
}

}  // namespace coracle::internals
