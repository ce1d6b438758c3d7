#!/usr/bin/env python3
"""Runs programs under `coracle run --trace` and with a tool, in one placement: traces that check_trace.py takes, also of
jobs that were ended, and the right words for what can't be.

    run_traces.py FOLDER PLACEMENT PROGRAMS TOOL [MPI-PROGRAM]

FOLDER holds coracle, hello, asp, himeno, bfs and oocsort, PROGRAMS the folders of misbehave and traced_spans.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

FOLDER, PROGRAMS, TOOL = (pathlib.Path(sys.argv[place]).resolve() for place in (1, 3, 4))
PLACEMENT = sys.argv[2]
MPI_PROGRAMS = [pathlib.Path(program).resolve() for program in sys.argv[5:]]
CHECK = pathlib.Path(__file__).parent / "check_trace.py"
BRIEF = os.environ.get("CORACLE_TESTS") == "brief"
failures = []


def command_of(ranks, program, *arguments, nodes=1, options=()):
    words = [FOLDER / "coracle", "run", "-n", ranks, "--nodes", nodes, "--place", PLACEMENT, *options, program, *arguments]
    return [str(word) for word in words]


def run(command, folder, **environment):
    # ThreadSanitizer would take a crash for itself, and end the program with another status.
    options = {"TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", "") + ":handle_segv=0"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False,
                          env={**os.environ, **options, **environment})


def expect(condition, command, result, wanted):
    if condition:
        return
    failures.append(command)
    print(f"{' '.join(command)}\n  wanted: {wanted}\n  status: {result.returncode}")
    print(f"  stdout: {result.stdout[-3000:]}\n  stderr: {result.stderr[-3000:]}")


def check(command, trace, *words):
    checker = [sys.executable, str(CHECK), str(trace), *map(str, words)]
    result = run(checker, ".")
    expect(result.returncode == 0, command + ["#"] + checker, result, "a trace")
    print(f"{' '.join(command[2:])}: {result.stdout.strip()}")


def check_program(folder, ranks, nodes, categories, program, *arguments, transport="auto"):
    options = ("--trace", "t.json", "--transport", transport)
    command = command_of(ranks, FOLDER / program, *arguments, nodes=nodes, options=options)
    result = run(command, folder)
    expect(result.returncode == 0 and "trace" not in result.stderr, command, result, "status 0, and no word of the trace")
    has = [word for category in categories for word in ("--has", category)]
    check(command, folder / "t.json", "--ranks", ranks, *has)


def check_programs(folder):
    check_program(folder, 2, 1, ["message", "wait", "collective", "operation", "rank"], "hello")
    check_program(folder, 5, 2, ["message", "wait", "collective"], "hello")
    check_program(folder, 1, 1, ["message", "collective"], "hello")
    check_program(folder, 2, 1, ["message", "dma"], "hello", transport="tca")
    for ranks, nodes in ((3, 1), (4, 2)):
        check_program(folder, ranks, nodes, ["collective", "wait"], "asp", "--random", 120)
        check_program(folder, ranks, nodes, ["wait", "operation"], "himeno", "--size", "XS", "--iterations", 3, "--no-limit")
        run(command_of(2, FOLDER / "oocsort", "--generate", 20000, "in", "--force"), folder)
        check_program(folder, ranks, nodes, ["page", "wait"], "oocsort", "in", "out", "--force", "--memory", "1M")
        check_program(folder, ranks, nodes, ["page", "wait"], "bfs", "--kronecker", 10, "--cache", "256K", "--page", "4K",
                      "--memory", "1M")
        if BRIEF:
            break


def check_mpi(folder):
    """Calls of MPI are spans, and so is what the program has named by <coracle.h>."""
    for program in MPI_PROGRAMS:
        command = command_of(3, program, options=("--trace", "t.json"))
        result = run(command, folder)
        expect(result.returncode == 0, command, result, "status 0")
        check(command, folder / "t.json", "--ranks", 3, "--has", "span", "--has", "collective", "--has", "operation")
        events = json.loads((folder / "t.json").read_text())["traceEvents"]
        names = {event["name"] for event in events if event["ph"] == "X" and event["cat"] == "span"}
        expect({"MPI_Comm_rank", "named by C"} <= names, command, result, f"spans of calls, not {sorted(names)}")


def check_spans(folder):
    """What the program has named, around what it has awaited."""
    command = command_of(2, PROGRAMS / "insight" / "traced_spans", options=("--trace", "t.json"))
    result = run(command, folder)
    expect(result.returncode == 0, command, result, "status 0")
    check(command, folder / "t.json", "--ranks", 2, "--has", "span")
    spans = [event for event in json.loads((folder / "t.json").read_text())["traceEvents"] if event["ph"] == "X"]
    for rank in (0, 1):
        named = {span["name"]: span for span in spans if span["pid"] == rank and span["cat"] == "span"}
        expect(set(named) == {"outer", "inner 0", "inner 1", "moved"}, command, result, f"four spans of rank {rank}")
        if len(named) != 4:
            continue
        outer, inner = named["outer"], named["inner 1"]
        within = outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]
        expect(within and outer["tid"] == inner["tid"], command, result, "one in the other")
        expect(outer["args"]["at"].startswith("traced_spans.cpp:"), command, result, "the place of a span")


def check_full(folder):
    """Events without room are counted and told; the rest is a trace."""
    command = command_of(2, PROGRAMS / "insight" / "traced_spans", "20000", options=("--trace", "t.json", "--trace-buffer", "256K"))
    result = run(command, folder)
    told = "for which there was no room: give each rank more by --trace-buffer" in result.stderr
    expect(result.returncode == 0 and told, command, result, "status 0, and what is lacking")
    dropped = json.loads((folder / "t.json").read_text())["otherData"]["dropped"]
    expect(all(count > 1000 for count in dropped.values()) and len(dropped) == 2, command, result, "counts of what is lacking")
    check(command, folder / "t.json", "--cut")


def check_ends(folder):
    """Jobs that do not end by themselves leave a trace, too."""
    for nodes in (1, 2):
        for what, status in (("segv", 139), ("exit 7", 7), ("error", 1)):
            command = command_of(3, PROGRAMS / "programs" / "misbehave", what, "1", nodes=nodes, options=("--trace", "t.json"))
            (folder / "t.json").unlink(missing_ok=True)
            result = run(command, folder)
            expect(result.returncode in (status, 1, 134), command, result, f"status {status}")
            check(command, folder / "t.json", "--cut", "--includes", 1)
        if PLACEMENT == "sim":
            break  # an hour passes in no time
        command = command_of(3, PROGRAMS / "programs" / "misbehave", "sleep", nodes=nodes, options=("--trace", "t.json"))
        (folder / "t.json").unlink(missing_ok=True)
        with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as job:
            time.sleep(2)
            job.send_signal(signal.SIGTERM)
            errors = job.communicate(timeout=60)[1]
        result = subprocess.CompletedProcess(command, job.returncode, "", errors)
        expect(job.returncode == 143, command, result, "status 143")
        check(command, folder / "t.json", "--cut", "--includes", 1)
        if BRIEF:
            break


def check_words(folder):
    for options, text in (
        (("--trace", "t.jsn"), "--trace t.jsn: the file's name must end in .json"),
        (("--trace", ""), "--trace"),
        (("--trace", "none/t.json"), "can't write the trace to none/t.json (--trace)"),
        (("--trace", "."), "--trace .: the file's name must end in .json"),
        (("--trace", "t.json", "--trace-buffer", "1K"), "--trace-buffer 1K: must be a size of at least 256K"),
        (("--trace", "t.json", "--trace-buffer", "many"), "--trace-buffer many: must be a size"),
    ):
        (folder / "t.json").unlink(missing_ok=True)
        for nodes in (1, 2):
            command = command_of(2, FOLDER / "hello", nodes=nodes, options=options)
            result = run(command, folder)
            expect(result.returncode not in (0, 139) and text in result.stderr, command, result, text)
            expect("greeted" not in result.stdout, command, result, "nothing run")
            expect(not (folder / "t.json").exists(), command, result, "no file")
    command = command_of(2, "./no-such-program", options=("--trace", "t.json"))
    result = run(command, folder)
    expect(result.returncode != 0 and not (folder / "t.json").exists(), command, result, "no file where nothing has run")
    command = command_of(2, "true", options=("--trace", "t.json"))
    result = run(command, folder)
    expect(result.returncode == 0 and "is empty: no rank has come to" in result.stderr, command, result, "an empty trace, told")


def check_tool(folder):
    for nodes in (1, 2):
        command = command_of(4, FOLDER / "hello", nodes=nodes)
        result = run(command, folder, CORACLE_TOOL=str(TOOL))
        lines = sorted(line for line in result.stderr.splitlines() if line)
        wanted = [f"counting tool: rank {rank} of 4 on node {rank * nodes // 4} of {nodes}: sends " for rank in range(4)]
        fits = len(lines) == 4 and all(line.startswith(start) for line, start in zip(lines, wanted))
        expect(result.returncode == 0 and fits, command, result, "a line of each rank's tool, and no complaint")
    command = command_of(2, FOLDER / "hello", options=("--trace", "t.json"))
    result = run(command, folder, CORACLE_TOOL=str(TOOL))
    expect(result.returncode == 0 and result.stderr.count("counting tool: rank") == 2, command, result, "tool and trace")
    check(command, folder / "t.json", "--ranks", 2)
    for tool, mood, text in (
        ("./none.so", "", "CORACLE_TOOL=./none.so: the tool can't be loaded: "),
        ("libm.so.6", "", "CORACLE_TOOL=libm.so.6: it has no function coracle_tool_open"),
        (str(TOOL), "refuse", "the tool refuses: its coracle_tool_open gives 3"),
        (str(TOOL), "old", "it was compiled for version 0 of the tools' interface"),
        (str(TOOL), "mute", "its coracle_tool_open has set no function for events"),
    ):
        command = command_of(2, FOLDER / "hello")
        result = run(command, folder, CORACLE_TOOL=tool, COUNTING_TOOL=mood)
        expect(result.returncode == 1 and text in result.stderr, command + [tool, mood], result, f"status 1: {text}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_programs(folder)
        check_mpi(folder)
        check_spans(folder)
        check_full(folder)
        check_ends(folder)
        check_words(folder)
        check_tool(folder)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
