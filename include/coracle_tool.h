/* Tools: a shared object that is told what the ranks of a job do, as it happens. `CORACLE_TOOL=./libmine.so coracle run
   ...` loads it into the process of each rank; it has one function, coracle_tool_open. The traces of
   `coracle run --trace FILE` are written by such a tool, which knows of nothing but what stands here.

   The functions of a tool are called on the rank's own thread, in the middle of what it does: they must be short, must
   not wait, and must not call Coracle. In `thread` and `sim` several ranks share one process and one copy of the shared
   object: keep what belongs to a rank behind the `self` that coracle_tool_open sets. */
#ifndef CORACLE_TOOL_H
#define CORACLE_TOOL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when something below changes its meaning or its place. Kinds of events that are new do not raise it: tools
   pass over those that they do not know. 2: spans of functions of MPI have places. */
#define CORACLE_TOOL_VERSION 2

/* Events of which one follows the other begin with an even number: the end is the begin plus 1. What is in brackets is
   set beside `ticks` and `kind`; everything else is 0 (`peer`: CORACLE_NOBODY). */
enum coracle_event_kind {
  /* The rank. The end comes last of all, unless the rank has crashed or was killed. */
  CORACLE_RANK_BEGIN = 2,
  CORACLE_RANK_END = 3,
  /* A span that the program has named, or a function of MPI that it has called [task, id, name, place]. */
  CORACLE_SPAN_BEGIN = 4,
  CORACLE_SPAN_END = 5,
  /* A coroutine is suspended until something has come [task, id: the wait, name: for what, what: enum
     coracle_wait_kind, peer: from whom, place: the program's innermost await; where none is known, the library's]. The
     end has task and id. */
  CORACLE_WAIT_BEGIN = 6,
  CORACLE_WAIT_END = 7,
  /* A transfer, atomic or active message, also where it is over at once
     [id, name: "put" ..., what: enum coracle_verb, peer, bytes; number: 1 when it raises a signal, too]. The end has
     `what`, and `number`: 0, or 1 where it has failed. */
  CORACLE_OPERATION_BEGIN = 8,
  CORACLE_OPERATION_END = 9,
  /* A tagged message leaves for `peer` [number, bytes, tag, team]. Messages between two ranks keep their order:
     `number` counts those from this rank to `peer`, from 1, and is the same at both ends. The end: the sender may use
     its buffer again [peer, number]. */
  CORACLE_SEND_BEGIN = 10,
  CORACLE_SEND_END = 11,
  /* It, or the word that it can be fetched, has come from `peer` [number, bytes, tag, team]; the end: it lies in the
     buffer of the receive [peer, number]. */
  CORACLE_RECEIVE_BEGIN = 12,
  CORACLE_RECEIVE_END = 13,
  /* A collective of a team [task, name, what: the number of the name, peer: the root, bytes, place; number: it is the
     how manieth of its team, the same at all members; id: the team, times 2^32, plus the lower half of the number]. */
  CORACLE_COLLECTIVE_BEGIN = 14,
  CORACLE_COLLECTIVE_END = 15,
  /* A part of a collective [task, id, name, peer: who leads; number: the id of the collective]. */
  CORACLE_PHASE_BEGIN = 16,
  CORACLE_PHASE_END = 17,
  /* A piece of a broadcast that leaves for `peer`, or (nobody) that has come, while others are still to follow
     [task, id, number: of the piece, from 0; peer, bytes]. */
  CORACLE_CHUNK_BEGIN = 18,
  CORACLE_CHUNK_END = 19,
  /* A page of a paged segment that is not here [id, number: the page, bytes, peer: its home]. The end has
     what: enum coracle_page_way, and peer: who gave it. */
  CORACLE_PAGE_MISS_BEGIN = 20,
  CORACLE_PAGE_MISS_END = 21,
  /* A table of descriptors that a DMA device works on [id, name: the device, number: the channel, bytes]. */
  CORACLE_DMA_BEGIN = 22,
  CORACLE_DMA_END = 23,
  /* The rank has nothing to do, and its thread sleeps, or gives the processor to others as long as any want it. */
  CORACLE_SLEEP_BEGIN = 24,
  CORACLE_SLEEP_END = 25,
  /* The rank has closed a paged segment: how often it has used a page of it, once for each page that a get, a put or a
     pin concerned [number], and how often that page was in its node's cache [id]. It has no end. Loads and stores of a
     mapped segment are not among them, unless they fault. */
  CORACLE_PAGE_USES = 26
};

enum coracle_verb {
  CORACLE_PUT = 0,
  CORACLE_GET = 1,
  CORACLE_FETCH_ADD = 2,
  CORACLE_COMPARE_SWAP = 3,
  CORACLE_MODIFY = 4,
  CORACLE_REQUEST = 5 /* an active message, or what carries a call or a tagged message */
};

enum coracle_page_way {
  CORACLE_PAGE_FROM_PEER = 1,
  CORACLE_PAGE_FROM_FILE = 2,
  CORACLE_PAGE_FRESH = 3 /* never written: zeroes, from nowhere */
};

/* By whom a wait can be ended. */
enum coracle_wait_kind {
  CORACLE_WAIT_INSIDE = 1,      /* another coroutine of this rank, or a call of a peer that comes in */
  CORACLE_WAIT_CHILDREN = 2,    /* what the coroutine has started itself */
  CORACLE_WAIT_TIMER = 3,       /* time */
  CORACLE_WAIT_IO = 4,          /* the kernel: of a file */
  CORACLE_WAIT_READINESS = 5,   /* the kernel: until a descriptor can be read or written */
  CORACLE_WAIT_DEVICE = 6,      /* a DMA device, a GPU, a helper thread */
  CORACLE_WAIT_OPERATION = 7,   /* the peer's runtime, whatever its program does */
  CORACLE_WAIT_CALL = 8,        /* a function that the peer runs for this rank */
  CORACLE_WAIT_RECEIVE = 9,     /* a message */
  CORACLE_WAIT_TRANSFER = 10,   /* a message that has been matched, and is being fetched */
  CORACLE_WAIT_SEND = 11,       /* a receive of the peer */
  CORACLE_WAIT_SIGNAL = 12,     /* whoever raises it */
  CORACLE_WAIT_COLLECTIVE = 13, /* members of a team */
  CORACLE_WAIT_LOSS = 14        /* the loss of a peer */
};

#define CORACLE_NOBODY UINT32_MAX

/* A place in a source, as compilers lay it down for std::source_location. Where a function of MPI was called is known
   in machine code only: `column` is CORACLE_IN_MODULE then, `file` the program or library, and `line` an address in it,
   as addr2line wants it. */
struct coracle_place {
  const char* file;
  const char* function; /* or "": not known */
  uint32_t line;
  uint32_t column;
};

#define CORACLE_IN_MODULE UINT32_MAX

/* 64 bytes. It is gone when the function that was told of it returns; `name` and `place` point to constants of the
   program, which stay until the rank ends. */
struct coracle_event {
  uint64_t ticks;  /* when: on the clock of coracle_rank_facts.ticks_of; it never goes back within a rank */
  uint16_t kind;   /* enum coracle_event_kind */
  uint16_t what;   /* by kind */
  uint32_t peer;   /* a rank of the job, or CORACLE_NOBODY */
  uint64_t task;   /* which of the rank's tasks: the same for all that is begun, and not yet ended, in it; 0: of none */
  uint64_t id;     /* begin and end of a pair have the same; it is used again after that */
  uint64_t number; /* by kind */
  uint64_t bytes;
  union {
    const char* name; /* or null; of all kinds but those of messages */
    uint64_t tag;     /* of messages */
  };
  union {
    const struct coracle_place* place; /* or null; of spans, waits and collectives */
    uint64_t team;                     /* of messages: a number that all members have in common */
  };
};

/* The rank in whose process the tool was opened. It stays until close() has returned. */
struct coracle_rank_facts {
  uint32_t version; /* CORACLE_TOOL_VERSION of the library */
  uint32_t rank;
  uint32_t size; /* ranks of the job */
  uint32_t node;
  uint32_t nodes;
  uint32_t is_virtual; /* 1 in `sim`: ticks are nanoseconds of virtual time */
  /* Nanoseconds of CLOCK_MONOTONIC of this machine (of virtual time in `sim`), of some event's ticks. */
  uint64_t (*nanoseconds)(const struct coracle_rank_facts* rank, uint64_t ticks);
  const void* reserved; /* the library's */
};

/* What a tool has. */
struct coracle_tool {
  uint32_t version; /* CORACLE_TOOL_VERSION that it was compiled with */
  void* self;       /* handed to its functions */
  void (*event)(void* self, const struct coracle_event* event);
  void (*close)(void* self); /* or null: nothing comes any more */
};

/* Fills in *tool, which is all zero. Anything but 0 ends the rank with an error that says so. */
int coracle_tool_open(const struct coracle_rank_facts* rank, struct coracle_tool* tool);

#ifdef __cplusplus
}
#endif

#endif
