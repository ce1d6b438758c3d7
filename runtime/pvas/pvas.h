/* The shared address space for C: the paper's three calls (pvas_create, pvas_spawn, pvas_destroy) and a wait. Link with
   Coracle's runtime library as for C++; docs/pvas.md says how it works and what to beware of. */
#ifndef CORACLE_RUNTIME_PVAS_PVAS_H
#define CORACLE_RUNTIME_PVAS_PVAS_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An address space; owned by the process and thread that created it, which is single-threaded while it spawns. */
typedef struct coracle_pvas pvas_t;

/** How a task ended. */
typedef struct pvas_exit {
  int code;   /**< exit()'s value, or -1 when a signal ended it. */
  int signal; /**< That signal, or 0. */
} pvas_exit;

/** Makes the process's address space one for tasks too. Null on failure, with the reason in pvas_error(); at most one a
 * process. */
pvas_t* pvas_create(void);

/**
 * Starts an unmodified position-independent program as a task, a child process of the caller in the caller's memory.
 * `program` is a path, or a name that is looked for in PATH. `arguments` is argv (program name first) and `environment`
 * is "NAME=value" strings; both end with a null pointer and are copied; a null `environment` means the caller's own.
 * Descriptors are inherited as by exec. Returns its pid, or -1 with the reason in pvas_error().
 */
pid_t pvas_spawn(pvas_t* space, const char* program, char* const arguments[], char* const environment[]);

/** Waits until the task has ended and takes its memory back. `ended` may be null. 0, or -1 with the reason in
 * pvas_error(). */
int pvas_wait(pvas_t* space, pid_t task, pvas_exit* ended);

/** Kills every task that still runs, takes everything back and frees `space`. Null is allowed. */
void pvas_destroy(pvas_t* space);

/** The calling thread's last error: what failed, where, how to mend it. Valid until the thread's next call here. */
const char* pvas_error(void);

#ifdef __cplusplus
}
#endif

#endif
