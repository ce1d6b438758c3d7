#!/usr/bin/env python3
"""Runs programs that compute the same by different ways, on several numbers of ranks, and fails where one fails or prints
something else than the first. Arguments: the coracle command, the placement, numbers of ranks (1,4), and the programs."""

import subprocess
import sys

LIMIT_S = 150


def run(coracle, place, ranks, program):
    command = [coracle, "run", "-n", ranks, "--place", place, "--timeout", f"{LIMIT_S - 20}s", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0 or done.stderr or not done.stdout:
        sys.exit(f"{' '.join(command)}\nended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    coracle, place, numbers, *programs = sys.argv[1:]
    expected = None
    for ranks in numbers.split(","):
        for program in programs:
            printed = run(coracle, place, ranks, program)
            expected = expected or printed
            if printed != expected:
                sys.exit(f"{program} on {ranks} ranks printed\n{printed}and the first one\n{expected}")
    print(f"{len(programs)} programs on {numbers} ranks printed {expected}", end="")


if __name__ == "__main__":
    main()
