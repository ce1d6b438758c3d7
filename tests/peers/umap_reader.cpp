// Reads a file through LLNL's UMap when told to, as `coracle bench mapped --rival` asks: FILE PAGE_BYTES MEMORY_BYTES.
// Built and started by tests/peers/compare-windows.
#include <fcntl.h>
#include <sys/stat.h>
#include <umap/umap.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "apps/bench/pages/numbered_pages.hpp"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: umap-reader FILE PAGE_BYTES MEMORY_BYTES\n");
    return 2;
  }
  // UMap takes its settings from the environment, when it is used first. All but these as it chooses them.
  const unsigned long page_bytes = std::strtoul(argv[2], nullptr, 10);
  const unsigned long pages = std::strtoul(argv[3], nullptr, 10) / page_bytes;
  ::setenv("UMAP_PAGESIZE", argv[2], 1);
  ::setenv("UMAP_BUFSIZE", std::to_string(pages).c_str(), 1);
  const int fd = ::open(argv[1], O_RDWR | O_DIRECT | O_CLOEXEC);
  struct stat found {};
  if (fd < 0 || ::fstat(fd, &found) != 0) {
    std::perror(argv[1]);
    return 1;
  }
  const auto bytes = static_cast<std::size_t>(found.st_size);
  void* mapped = ::umap(nullptr, bytes, PROT_READ | PROT_WRITE, UMAP_PRIVATE, fd, 0);
  if (mapped == UMAP_FAILED) {
    std::fprintf(stderr, "umap-reader: umap of %zu bytes of %s failed\n", bytes, argv[1]);
    return 1;
  }
  for (coracle::internals::bench::ReaderRequest request{}; coracle::internals::bench::receive(0, request);) {
    const std::uint64_t wrong =
        coracle::internals::bench::load_on_threads(static_cast<const std::byte*>(mapped), request);
    if (!coracle::internals::bench::send(0, wrong)) return 1;
  }
  return ::uunmap(mapped, bytes) == 0 ? 0 : 1;
}
