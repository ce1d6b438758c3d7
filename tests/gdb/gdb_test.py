#!/usr/bin/env python3
"""Attaches gdb with tools/gdb/coracle_gdb.py to a job whose ranks wait in a way that is known, and looks at what it shows.

    gdb_test.py COMMAND SCRIPT PROGRAM RELEASE_PROGRAM PLACEMENT

COMMAND: coracle. PROGRAM: tests/programs/suspended.cpp with debugging information, RELEASE_PROGRAM: without. Both wait for
ever. Also of a core file that gdb's gcore has made."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

COMMAND, SCRIPT, PROGRAM, RELEASE_PROGRAM, PLACEMENT = sys.argv[1:]
SOURCE = (pathlib.Path(__file__).parent.parent / "programs" / "suspended.cpp").read_text().splitlines()
SKIPPED = 77
RANKS = 3
WAITING = (0, 1)  # the third computes
PATIENCE_S = 60
failures = []


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def line_of(mark):
    """Number of the line of the program that has `mark` as its comment."""
    return next(number for number, line in enumerate(SOURCE, 1) if line.endswith(f"// {mark}"))


def gdb(arguments, *commands):
    words = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set confirm off", *map(str, arguments)]
    words += ["-x", SCRIPT]
    for command in commands:
        words += ["-ex", command]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)
    return ended.stdout + ended.stderr


def expect(condition, text, wanted):
    if not condition:
        failures.append(wanted)
        print(f"wanted: {wanted}\n{text}\n")


class Job:
    """`coracle run` with the ranks of one program, which wait for ever. Nobody asks them why: where memory is damaged on
    purpose, a rank that looked at its own waits would fall over that."""

    def __init__(self, program):
        self.errors = tempfile.TemporaryFile("w+")
        words = [COMMAND, "run", "-v", "-n", RANKS, "--place", PLACEMENT, "--segment", "1M", "--stall", "0", program, "busy"]
        self.process = subprocess.Popen([str(word) for word in words], stderr=self.errors, stdin=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)
        self.errors.close()

    def pids(self):
        """Of the processes that hold ranks; of a job of several ranks in one process that one."""
        for _ in range(PATIENCE_S * 10):
            self.errors.seek(0)
            found = [int(each) for each in re.findall(r" is process (\d+)", self.errors.read())]
            if len(found) == (RANKS if PLACEMENT in ("pvas", "process") else 1):
                return found
            time.sleep(0.1)
        self.errors.seek(0)
        sys.exit(f"the job has not started {RANKS} ranks: {self.errors.read()}")

    def seen_waiting(self, arguments):
        """What `coracle tasks` shows once the ranks in that memory wait."""
        wanted = 1 if PLACEMENT == "process" else len(WAITING)
        text = ""
        for _ in range(PATIENCE_S):
            text = gdb(arguments, "coracle tasks")
            if len(re.findall(r"receive_block$", text, re.M)) == wanted and text.count("  timer") == wanted:
                return text
            time.sleep(0.5)
        expect(False, text, f"{wanted} ranks that wait in receive_block")
        return text


def may_attach():
    """Whether a debugger may attach to a process that is not its child here."""
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        text = gdb(["-p", sleeper.pid], "info inferiors")
        sleeper.kill()
    return "ptrace: " not in text and "Could not attach" not in text, text


def is_sanitized():
    """Whether the program holds a sanitizer, whose shadow of the whole address space no core file can take in."""
    program = pathlib.Path(PROGRAM).read_bytes()
    return any(name in program for name in (b"__asan_init", b"__tsan_init"))


def number_of(text, rank):
    """Of the task that waits in receive_block in that rank."""
    of_rank = re.search(rf"^rank {rank} .*\n((?: .*\n)*)", text, re.M)
    found = re.search(r"^ +(\d+)  .* in receive_block$", of_rank.group(1), re.M) if of_rank else None
    return int(found.group(1)) if found else 0


def check_tasks(text, ranks):
    for rank in ranks:
        peer = (rank + 1) % RANKS
        receive = line_of("receive_block waits")
        chain = (rf" from rank {peer}, for (at least )?\d+\.\d\d\d s, at suspended.cpp:{receive} in receive_block\n"
                 rf" +<- suspended.cpp:{line_of('solve waits')} in solve\n"
                 rf" +<- suspended.cpp:{line_of('hang waits')} in hang\n")
        expect(re.search(chain, text), text, f"the chain of rank {rank}'s receive, {chain}")
    main = rf" +\d+  children, .*\n( +<- .*\n)* +<- suspended.cpp:{line_of('app waits')} in app\n( +<- .*\n)* +<- main task\n"
    expect(len(re.findall(main, text)) == len(ranks), text, f"{len(ranks)} main tasks that await children")
    timer = rf"\n( +)\d+  timer, .* at suspended.cpp:{line_of('sleep_long waits')} in sleep_long\n +<- a task spawned in a scope\n"
    expect(len(re.findall(timer, text)) == len(ranks), text, f"{len(ranks)} timers in spawned tasks")
    expect("note: " not in text, text, "nothing that can't be read")


def check_variables(text, rank):
    for wanted in (rf"parameter block = 21$", rf"twice = 42$", r"values = std::vector of length 4, capacity 4 = \{0.5, 0.5",
                   rf"peer = {(rank + 1) % RANKS}$", r"parameter tolerance = 0.125$", rf"steps = {100 + rank}$",
                   r"#0 .*receive_block.*suspended at suspended.cpp:", r"#1 .*solve.*suspended at suspended.cpp:"):
        expect(re.search(wanted, text, re.M), text, f"rank {rank}: {wanted}")


def ranks_in(rank):
    """Ranks whose memory is that of `rank`."""
    return [rank] if PLACEMENT == "process" else list(WAITING)


def check_attached(job):
    pids = job.pids()
    rank = 1 if len(pids) > 1 else 0
    where = ["-p", pids[rank]]
    text = job.seen_waiting(where)
    check_tasks(text, ranks_in(rank))
    for each in ranks_in(rank):
        check_variables(gdb(where, f"coracle task {number_of(text, each)}"), each)
    text = gdb(where, "coracle ranks")
    for each in ranks_in(rank):
        pid = pids[each if len(pids) > 1 else 0]
        expect(re.search(rf"^rank {each} \(process {pid}, thread \d+\): .* waits$", text, re.M), text, f"rank {each} listed")
    if PLACEMENT == "pvas":
        expect("in coracle::internals::" in gdb(where, "bt", "coracle symbols", "bt"), text, "the runtime in a backtrace")
    check_running(["-p", pids[-1]])
    return where


def check_running(where):
    """The rank that computes, in a coroutine that was started by an await."""
    text = gdb(where, "coracle tasks 2")
    running = (rf"^rank 2 .*: runs a coroutine, .*\n +\d+  runs now\n +<- suspended.cpp:{line_of('compute_later awaits')} in "
               rf"compute_later\n +<- suspended.cpp:{line_of('app awaits busy')} in app\n")
    expect(re.search(running, text, re.M), text, f"what rank 2 runs: {running}")


def check_together(launcher):
    """All ranks in one gdb, by the command that starts it."""
    words = [COMMAND, "gdb", str(launcher), "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "coracle attach",
             "-ex", "coracle tasks"]
    text = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False, stdin=subprocess.DEVNULL).stdout
    expect(f"attached to {RANKS} ranks of process {launcher}" in text, text, "all ranks attached")
    check_tasks(text, WAITING)
    expect("runs now" in text, text, "rank 2 beside them")


def check_core(where, folder):
    core = folder / "core"
    text = gdb(where, f"gcore {core}")
    if not core.exists():
        expect(False, text, "a core file")
        return
    text = gdb([PROGRAM, core], "coracle tasks")
    rank = 1 if PLACEMENT in ("pvas", "process") else 0
    check_tasks(text, ranks_in(rank))
    for each in ranks_in(rank):
        check_variables(gdb([PROGRAM, core], f"coracle task {number_of(text, each)}"), each)


def check_damage(where):
    """Links that lead nowhere, and in a circle, are told of and end."""
    text = gdb(where, "coracle tasks")
    frame = re.search(r"frame (0x[0-9a-f]+)", gdb(where, f"coracle task {number_of(text, ranks_in(1)[0])}"))
    if frame is None:
        expect(False, text, "a frame's address")
        return
    parent = f"*(unsigned long*)({frame.group(1)} + 16)"
    for value, wanted in ((8, "can't be read"), (f"{frame.group(1)} + 16", "awaits itself: its frame is damaged")):
        text = gdb(where, f"set $before = {parent}", f"set var {parent} = {value}", "coracle tasks",
                   f"set var {parent} = $before")
        expect(wanted in text and text.count("  timer") == len(ranks_in(1)), text, wanted)


def check_release(folder):
    stripped = folder / "stripped"
    shutil.copy(RELEASE_PROGRAM, stripped)
    subprocess.run(["strip", stripped], check=True)
    for program in (RELEASE_PROGRAM, stripped):
        with Job(program) as job:
            pids = job.pids()
            rank = 1 if len(pids) > 1 else 0
            where = ["-p", pids[rank]]
            text = job.seen_waiting(where)
            check_tasks(text, ranks_in(rank))
            text = gdb(where, f"coracle task {number_of(text, rank)}")
            if program == stripped or b".debug_info" not in pathlib.Path(program).read_bytes():
                expect("no debugging information here: compile with -g to see its variables" in text, text,
                       "why there are none")


def main():
    if shutil.which("gdb") is None:
        skip("there is no gdb here (package gdb)")
    if "python" in gdb([], "python print('it ' + 'works')").lower().replace("it works", ""):
        skip("this gdb has no Python")
    allowed, text = may_attach()
    if not allowed:
        skip(f"no debugger may attach to a process here: {text}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with Job(PROGRAM) as job:
            where = check_attached(job)
            if PLACEMENT in ("pvas", "process"):
                check_together(job.process.pid)
            check_damage(where)
            if not is_sanitized():
                check_core(where, folder)
        check_release(folder)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


os.environ["LC_ALL"] = "C"
sys.exit(main())
