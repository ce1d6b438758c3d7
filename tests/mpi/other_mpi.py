#!/usr/bin/env python3
"""Programs that find another MPI before Coracle's: they are given Coracle's, or it is said that they have not got it.

other_mpi.py CORACLE LIBRARY PLACEMENT PROGRAM PROGRAM_WITH_RPATH TOOL OTHER_LIBRARY: the programs are those of world_size.c, the second
with the folder of Open MPI's libmpi.so.40 as its DT_RPATH; OTHER_LIBRARY is that libmpi.so.40, LIBRARY Coracle's."""

import os
import shutil
import subprocess
import sys
import tempfile

coracle, library, place, program, with_rpath, tool, other = sys.argv[1:8]
mistakes = 0


def check(what, command, status, wanted, unwanted=(), ranks=2, by=coracle):
    global mistakes
    done = subprocess.run([by, "run", "-n", str(ranks), "--timeout", "60s", *command], capture_output=True, text=True,
                          timeout=100, check=False)
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
check("DT_RPATH behind a tool that the user loads", ["--place", place, "-x", f"LD_PRELOAD={os.path.abspath(tool)}", with_rpath],
      0, ["seen by the tool\n", "of 2\n"], silent)
check("a library that is loaded, and not used", ["--place", place, with_rpath, other], 0, ["loaded\nloaded\n"], silent)
with tempfile.TemporaryDirectory() as scratch:  # a build folder of which ./quickstart has built a part
    os.makedirs(os.path.join(scratch, "apps"))
    os.makedirs(os.path.join(scratch, "interfaces/mpi/openmpi"))
    partly = shutil.copy(coracle, os.path.join(scratch, "apps/coracle"))
    for each in program, with_rpath:
        check("Coracle's library is not built", ["--place", place, each], 1,
              ["is a program of MPI", "is not there: 'ninja -C " + scratch + "' builds it"], ["of 1"], by=partly)
    if place == "process":
        check("not built, and a script starts the program",
              ["--place", place, "sh", "-c", f"LD_LIBRARY_PATH={folder} {program}; true"], 0,
              ["which is not Coracle's", "is not there: 'ninja -C " + scratch + "' builds it"], ["LD_PRELOAD"], by=partly)
if place == "process":  # what a script starts has left an address space
    with tempfile.TemporaryDirectory() as scratch:
        def script(name, last_line):
            path = os.path.join(scratch, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\nexport LD_LIBRARY_PATH={folder}\n{last_line}\n")
            os.chmod(path, 0o700)
            return ["--place", "process", path, program]

        become, start = script("become", 'exec "$@"'), script("start", '"$@"; true')
        check("a script that becomes the program", become, 1,
              ["runs over " + folder, "libmpi.so.40", "each rank is a job of its own", "coracle run -x LD_PRELOAD=",
               "job ended, exit status 1"], ["of 1", "should it call"])
        check("the same on two nodes", ["--nodes", "2", *become], 1, ["runs over " + folder, "exit status 1"], ["of 1"])
        check("a job of one rank", become, 0, ["of 1\n"], silent, ranks=1)
        check("the same in a job that survives", ["--survive", *become], 0, ["runs over " + folder, "of 1\nof 1\n"])
        check("a script that starts the program", start, 0,
              ["has started a process that runs over " + folder, "of 1\nof 1\n"])
        check("the remedy", ["-x", f"LD_PRELOAD={library}", *start], 0, ours, silent)
        check("loaded by what a script becomes", [*become, other], 0,
              ["loaded\nloaded\n", "has loaded " + folder, "should it call that MPI"])
else:
    check("what a script becomes in a shared address space",
          ["--place", place, program, ":", "-n", "1", "sh", "-c", "exec " + os.path.abspath(program)], 16,
          ["rank 2: MPI_Init: this program was started by another"])
sys.exit(1 if mistakes else 0)
