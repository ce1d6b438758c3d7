#!/usr/bin/env python3
"""Runs wrong programs of MPI, and reads what they are told: the function, the communicator, the values, the place.

wrong_programs.py CORACLE PLACEMENT WRONG_CALLS WRONG_ENDS HANGS [WRONG_MODULES]"""

import re
import subprocess
import sys

# Arguments of a program; its exit status; what must be in the output (regular expressions).
WRONG_CALLS = {
    "send_to_behind_last": (6, [r"MPI_Send on copy of the world: dest is 2: a rank of this communicator is from 0 to 1",
                                r"has called MPI_Send in\n    send_to_behind_last at \S*wrong_calls.c:\d+",
                                r"    main at \S*wrong_calls.c:\d+"]),
    "send_in_place": (1, [r"MPI_Send on copy of the world: the buffer is MPI_IN_PLACE"]),
    "send_freed_type": (3, [r"datatype is no datatype any more: it has been freed"]),
    "send_freed_comm": (5, [r"rank \d: MPI_Send: comm is no communicator any more: it has been freed"]),
    "recv_truncated": (15, [r"MPI_Recv on MPI_COMM_SELF: a message of 32 bytes from rank \d with tag 5 was received into a "
                            r"buffer of 8 bytes"]),
    "wait_truncated": (19, [r"MPI_Waitall on MPI_COMM_SELF: 1 of 2 requests has failed; the first is requests\[0\], a receive "
                            r"from rank 0( \(rank 1 of MPI_COMM_WORLD\))?, tag 6, on MPI_COMM_SELF: a message of 32 bytes"]),
    "bsend_no_buffer": (1, [r"no buffer is attached: call MPI_Buffer_attach first"]),
    "waitall_count": (2, [r"MPI_Waitall: the number of requests is -1"]),
    "type_count": (2, [r"rank \d: MPI_Type_contiguous: count is -1: a count is 0 or more"]),
    "cart_dims": (12, [r"MPI_Cart_create on copy of the world: dims make a grid of more cells than .* are 2"]),
    "keyval_unknown": (36, [r"this is no keyval \(it has not been made, or has been freed\)"]),
    "init_twice": (16, [r"MPI_Init is called a second time"]),
}
WRONG_ENDS = {
    "before": (16, [r"MPI_Comm_size: MPI has not been started: call MPI_Init first", r"main at \S*wrong_ends.c:\d+"]),
    "after": (16, [r"MPI_Barrier: MPI has ended: this can't be called after MPI_Finalize"]),
    "return": (1, [r"rank 1 \(pid \d+\) ended before .*without MPI_Finalize"]),
    "exit": (3, [r"rank 1 \(pid \d+\) exited with status 3"]),
    "abort": (42, [r"rank 1: the program called MPI_Abort, with error code 42"]),
    "crash": (139, [r"rank 1 \(pid \d+\) was killed by SIGSEGV", r"stay_or_go at \S*wrong_ends.c:\d+"]),
    "collectives": (15, [r"rank \d has called (MPI_Bcast of 96|MPI_Reduce of 64) bytes, root 0 \(wrong_ends.c:\d+\), and "
                         r"rank \d (MPI_Bcast of 96|MPI_Reduce of 64) bytes, root 0 \(wrong_ends.c:\d+\)"]),
    "missing": (0, [r"\Acoracle: rank 1: MPI_Win_create can't be done: Coracle has no windows yet; it has returned an error, as "
                    r"the program wants \(said of the first such call\)\n\Z"]),
    # (On one node other threads are let in.)
    "single": (16, [r"rank 1: MPI_Barrier on MPI_COMM_WORLD: another thread than .* MPI_Init calls it, .*asked for MPI_THREAD_SINGLE .*given that: "
                    r"let it call MPI_Init_thread with MPI_THREAD_MULTIPLE", r"call_barrier at \S*wrong_ends.c:\d+"]),
    "funneled": (16, [r"rank 1: MPI_Barrier on MPI_COMM_WORLD: another thread than .* MPI_Init calls it, .*asked for MPI_THREAD_FUNNELED"]),
    "returned": (0, [r"\Acoracle: rank 1: MPI_Barrier: another thread than .*OMPI_MPI_THREAD_LEVEL=3 in its environment; it has "
                     r"returned an error, as the program wants \(said of the first such call\)\n\Z"]),
    "finalize": (16, [r"rank 1: MPI_Finalize: another thread than the one that called MPI_Init calls it"]),
    "threads": (16, [r"rank 1: MPI_Finalize: another thread is in a function of MPI still, which waits from rank 0, tag 9, on "
                     r"MPI_COMM_WORLD: let all come back before"]),
    "pending": (18, [r"MPI_Finalize: a send or collective has not been completed \(.* rank 0\): wait for all requests"]),
}
ON_TWO_NODES = ("single", "funneled", "returned")
HANGS = {
    "messages": (124, [
        r"rank 0: in MPI_Recv from rank 1, tag 7, on ocean, for \d+\.\d+ s\n"
        r"  +not received: 4 bytes from rank 1, tag 8, on ocean\n"
        r"    in_messages at \S*hangs.c:\d+\n",
        r"rank 1: in MPI_Waitall, 3 of 4 requests not done, for \d+\.\d+ s\n"
        r"  +not done: a receive from rank 0, tag 3, on ocean\n"
        r"  +not done: a receive from any rank, tag 4, on ocean\n"
        r"  +not done: a receive from rank 2, any tag, on ocean\n"
        r"    wait_for_many at \S*hangs.c:\d+\n",
        r"rank 2: in MPI_Allreduce on ocean, for \d+\.\d+ s\n",
        r"rank 3: in no function of MPI\n"]),
    "long-messages": (124, [
        r"rank 0: in MPI_Ssend to rank 1 \(rank 2 of MPI_COMM_WORLD\), tag 2, on communicator \d+\.\d+ of 2 processes, for ",
        r"rank 1: in MPI_Probe from any rank, tag 9, on communicator \d+\.\d+ of 2 processes, for ",
        r"rank 2: in MPI_Sendrecv from rank 0, tag 5, on communicator \d+\.\d+ of 2 processes, for ",
        r"rank 3: in MPI_Barrier on communicator \d+\.\d+ of 2 processes, for "]),
    "end": (124, [
        r"rank 0: in MPI_Finalize, until all ranks have called it, for \d+\.\d+ s\n(  .*\n)*    main at \S*hangs.c:\d+",
        r"rank 1: in MPI_Wait for a receive from rank 0, tag 6, on ocean, for \d+\.\d+ s\n",
        r"\ndeadlock: 3 of 4 are in MPI_Finalize.*; rank 1 waits to receive from rank 0, tag 6 in MPI_Wait at "
        r"hangs.c:\d+\n"]),
    "cycles": (124, [
        r"\ndeadlock: rank 0 waits for rank 1 waits for rank 0, both in receive, tag 7\n"
        r"  rank 0 waits to receive from rank 1, tag 7 in MPI_Recv at hangs.c:\d+\n"
        r"  rank 1 waits to receive from rank 0, tag 7 in MPI_Recv at hangs.c:\d+\n"
        r"deadlock: rank 2 waits for rank 3 waits for rank 2, both in receive, tag 7\n"]),
    "missing": (124, [
        r"\ndeadlock: 3 of 4 are in MPI_Allreduce of 4 bytes #\d+ of team 0.\d+ at hangs.c:\d+; rank 1 waits to receive from "
        r"rank 0, tag 3 in MPI_Recv at hangs.c:\d+\n"]),
}
# By the module mpi_f08, whose library calls ours.
WRONG_MODULES = {
    "": (15, [r"MPI_Bcast of 48 bytes, root 0 \(wrong_modules.f90:9\)",
              r"MPI_Allreduce of 48 bytes.* \(wrong_modules.f90:10\)"]),
}


def check(words, status, patterns):
    done = subprocess.run(words, capture_output=True, text=True, timeout=100)
    missing = [pattern for pattern in patterns if not re.search(pattern, done.stderr + done.stdout)]
    if done.returncode == status and not missing:
        return True
    print(f"{' '.join(words)}\n  ended with status {done.returncode}, expected {status}; not there: {missing}; it said:\n"
          f"{done.stdout}{done.stderr}")
    return False


def main():
    coracle, placement, wrong_calls, wrong_ends, hangs, *wrong_modules = sys.argv[1:]
    good = True
    for program, ranks, limit, cases in ((wrong_calls, 2, "60s", WRONG_CALLS), (wrong_ends, 2, "60s", WRONG_ENDS),
                                         (hangs, 4, "3s", HANGS),
                                         *((program, 2, "60s", WRONG_MODULES) for program in wrong_modules)):
        for argument, (status, patterns) in cases.items():
            nodes = ["--nodes", "2"] if argument in ON_TWO_NODES else []
            words = [coracle, "run", "-n", str(ranks), *nodes, "--place", placement, "--timeout", limit, program, argument]
            good = check(words, status, patterns) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
