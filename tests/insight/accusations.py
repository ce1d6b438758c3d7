#!/usr/bin/env python3
"""Reads the stall log of a run of the tests (CORACLE_STALL_LOG) and tells of each job that was said to hang:

    tests/insight/accusations.py build/logs/stalls.json

Exit status 1 if one of them is none that hangs on purpose. That a rank computes while others wait, which is said of busy
machines and slow programs too, is told but is no failure."""

import json
import pathlib
import sys

ON_PURPOSE = ("tests/programs/hangs", "tests/mpi/programs/wrong_mpi_hangs", "tests/insight/ring")


def accusations(lines):
    """(command, sentence, whether it is certain) of each verdict of others than those."""
    for line in lines:
        told = json.loads(line)
        if any(f"{program} " in f"{told['command']} " for program in ON_PURPOSE):
            continue
        for verdict in told["explanation"]["verdicts"]:
            yield told["command"], verdict["sentence"], verdict["certain"]


def main():
    log = pathlib.Path(sys.argv[1])
    certain = 0
    for command, sentence, is_certain in accusations(log.read_text().splitlines() if log.exists() else []):
        print(f"{'accused' if is_certain else 'slow'}: {command}\n  {sentence}")
        certain += is_certain
    print(f"{certain} jobs were said to hang that don't hang on purpose")
    return 1 if certain else 0


if __name__ == "__main__":
    sys.exit(main())
