/* Coracle for programs of MPI in C: memory of a communicator that its members put to and get from, and signals that
   tell when data has come. Built by coracle-mpicc or mpicc.openmpi, linked with libcoracle-mpi
   (`pkg-config --libs libcoracle-mpi`), started by `coracle run`. For C++ there is <coracle/mpi.hpp>.

   All functions are called on the thread that has called MPI_Init, between that and MPI_Finalize. Those whose int is a
   result give CORACLE_OK or what went wrong; coracle_error_text() then tells it in a sentence. Sizes and offsets are in
   bytes; ranks are those of the memory's communicator. */
#ifndef CORACLE_H
#define CORACLE_H

#include <stddef.h>
#include <stdint.h>

#ifndef CORACLE_BUILDS_ITSELF /* the library, which knows no mpi.h */
#include <mpi.h>
#ifndef OPEN_MPI
#error "<coracle.h> needs Open MPI's mpi.h: compile with mpicc.openmpi"
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum coracle_result {
  CORACLE_OK = 0,
  CORACLE_NOT_HERE = 1,     /* this process's MPI is not Coracle's, or does not run; or it is another thread */
  CORACLE_BAD_ARGUMENT = 2, /* a null pointer, no communicator, a rank or signal that there is not */
  CORACLE_OUT_OF_RANGE = 3, /* bytes beyond the end of the target's memory; nothing was moved */
  CORACLE_NO_MEMORY = 4,    /* the segment is full: see `coracle run --segment` */
  CORACLE_PEER_LOST = 5,    /* the peer has died or can't be reached: it stays lost */
  CORACLE_OTHER_FAILURE = 6
};

/* Such as "0.1.0". The only function, beside the next two, that works anywhere and at any time. */
const char* coracle_version(void);

/* 1 where this process's MPI is Coracle's and runs, else 0: there the program goes on by MPI alone. */
int coracle_runs_mpi(void);

/* What the last function that failed on this thread has to say. It stays valid until the next one fails. Never null. */
const char* coracle_error_text(void);

/* Memory that each member of a communicator has for all of them, and signals: counters that peers raise. */
typedef struct coracle_memory coracle_memory;

/* Collective. Each member gets `bytes` of its own, all zero, aligned to 64 bytes, and `signals` counters, each 0. Sizes
   may differ from member to member, and be 0. *memory is the caller's until coracle_free. The communicator may be freed
   before that. When it fails at one member, it does so at all, and *memory is NULL. */
int coracle_allocate(MPI_Comm comm, size_t bytes, int signals, coracle_memory** memory);

/* Collective, and a barrier: completes this member's transfers, waits until all members are here, frees the memory and
   makes *memory NULL. Before MPI_Finalize. */
int coracle_free(coracle_memory** memory);

/* This member's own memory; and the size, and the member's number in the communicator that the memory was made for. */
void* coracle_local(const coracle_memory* memory);
int coracle_size(const coracle_memory* memory);
int coracle_rank(const coracle_memory* memory);

/* Copies `bytes` from `source` to `offset` in the memory of `rank`. It only begins: `source` must stay as it is until
   coracle_flush, which also tells of what fails later. Then the data is there. The peer does nothing for it. */
int coracle_put(coracle_memory* memory, int rank, size_t offset, const void* source, size_t bytes);

/* The same, and then raises the peer's `signal` (from 0) by 1: whoever sees it raised sees the data. `bytes` may be 0:
   then only the signal is raised. */
int coracle_put_signal(coracle_memory* memory, int rank, size_t offset, const void* source, size_t bytes, int signal);

/* Copies `bytes` from `offset` in the memory of `rank` to `target`, which is filled after coracle_flush. */
int coracle_get(coracle_memory* memory, int rank, size_t offset, void* target, size_t bytes);

/* Waits until all puts and gets of this memory that were begun here have ended, and gives the first failure among them.
   Puts are not ordered among each other but by this, or by awaited signals. */
int coracle_flush(coracle_memory* memory);

/* Waits until this member's own `signal` has been raised to at least `count`, since it was made: it is never reset, so
   in a loop wait for 1, 2, 3 and so on. What was put with it is there then. */
int coracle_wait_signal(coracle_memory* memory, int signal, uint64_t count);

/* How far this member's own `signal` has been raised, without waiting. 0 for a signal that there is not. */
uint64_t coracle_signal(const coracle_memory* memory, int signal);

/* A piece of the program's own work, for traces (`coracle run --trace`) and tools: from here to coracle_span_end, which
   takes what this gives. `name` is copied. Where nobody is told, and outside MPI, this gives 0. */
uint64_t coracle_span_begin(const char* name);
void coracle_span_end(uint64_t span);

/* Lets what is under way go on, once, without waiting: for programs that compute for long. Functions of MPI and those
   that wait do the same. */
int coracle_progress(void);

#ifdef __cplusplus
}
#endif

#endif
