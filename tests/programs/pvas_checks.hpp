// Shared by the checks that run inside a task: a failed one says what failed and ends the task with status 1.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define REQUIRE_THAT(condition)                                                                      \
  do {                                                                                               \
    if (!(condition)) {                                                                              \
      std::fprintf(stderr, "pvas-checks: %s failed at %s:%d (%s)\n", #condition, __FILE__, __LINE__, \
                   std::strerror(errno));                                                            \
      std::exit(1);                                                                                  \
    }                                                                                                \
  } while (false)

void check_mappings();               ///< Random mmap, munmap, mremap with contents.
void check_large_mappings();         ///< Alignment for huge pages, partial unmapping, more than a partition.
void check_huge_pages(bool wanted);  ///< Which mappings are advised to have some.
void check_brk();                    ///< Also that the guard against the kernel's brk is gone.
void check_brk_guard();   ///< Without redirected calls: the kernel's brk is refused and malloc works nevertheless.
void check_allocation();  ///< malloc from several threads.
void check_system_v();
void check_uring();
