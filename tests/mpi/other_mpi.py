#!/usr/bin/env python3
"""Programs that find another MPI before Coracle's: they are given Coracle's, or it is said that they have not got it.

other_mpi.py CORACLE LIBRARY PLACEMENT PROGRAM PROGRAM_WITH_RPATH OTHER_LIBRARY: the programs are those of world_size.c, the second
with the folder of Open MPI's libmpi.so.40 as its DT_RPATH; OTHER_LIBRARY is that libmpi.so.40, LIBRARY Coracle's."""

import os
import subprocess
import sys
import tempfile

coracle, library, place, program, with_rpath, other = sys.argv[1:7]
mistakes = 0


def check(what, command, status, wanted, unwanted=(), **kwargs):
    global mistakes
    done = subprocess.run([coracle, "run", "-n", "2", "--timeout", "60s", *command], capture_output=True, text=True,
                          timeout=100, check=False, **kwargs)
    text = done.stdout + done.stderr
    missing = [each for each in wanted if each not in text] + [f"(not) {each}" for each in unwanted if each in text]
    if done.returncode == status and not missing:
        return
    mistakes += 1
    print(f"{what}: exit status {done.returncode}, wanted {status}; misses {missing}:\n{text}")


folder = os.path.dirname(os.path.realpath(other))
ours = ["of 2\nof 2\n"]
silent = ["not Coracle's"]
check("as usual", ["--place", place, program], 0, ours, silent)
check("DT_RPATH", ["--place", place, with_rpath], 0, ours, silent)
check("DT_RPATH in a folder", ["--place", place, "--wdir", os.path.dirname(with_rpath), "./" + os.path.basename(with_rpath)],
      0, ours, silent)
check("DT_RPATH beside what the user loads first", ["--place", place, "-x", "LD_PRELOAD=libm.so.6", with_rpath], 0, ours,
      silent)
check("a library that is loaded, and not used", ["--place", place, with_rpath, other], 0, ["loaded\nloaded\n"], silent)
with tempfile.TemporaryDirectory() as scratch:
    script = os.path.join(scratch, "script")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nLD_LIBRARY_PATH={folder} \"$@\"\n")
    os.chmod(script, 0o700)
    # What a script starts has left the address space.
    started = ["--place", "process", script, program]
    if place == "pvas":
        check("what a script starts in a shared address space", ["--place", place, program, ":", "-n", "1", "sh", "-c", "exec " + os.path.abspath(program)],
              16, ["rank 2: MPI_Init: this program was started by another"])
    check("a script's own folders", started, 1, ["runs over " + folder, "libmpi.so.40", "each rank is a job of its own",
                                                 "coracle run -x LD_PRELOAD=", "job ended, exit status 1"],
          ["of 1", "should it call"])
    check("a script's own folders on two nodes", ["--nodes", "2", *started], 1, ["runs over " + folder, "exit status 1"],
          ["of 1"])
    check("the remedy", ["-x", f"LD_PRELOAD={library}", *started], 0, ours, silent)
    check("loaded by what a script starts", ["--place", "process", script, program, other], 0,
          ["loaded\nloaded\n", "has loaded " + folder, "should it call that MPI"])
sys.exit(1 if mistakes else 0)
