#!/usr/bin/env python3
"""Where programs of MPI call its functions: lines of the source, functions where there are no lines, else addresses, in
summaries and in traces.

    call_sites.py CORACLE PLACEMENT KIND=PROGRAM...

KIND: lines (compiled with -g), fixed (the same, at addresses that it chooses itself), functions (without), stripped,
fortran (with -g). The first two tell where they crash, too.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

coracle, placement = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
programs = dict(argument.split("=", 1) for argument in sys.argv[3:])
sources = pathlib.Path(__file__).parent.parent / "mpi" / "programs"


def line_of(file, text):
    """The number of the one line that has this text."""
    (number,) = [number for number, line in enumerate((sources / file).read_text().splitlines(), 1) if text in line]
    return number


def wanted(kind, program):
    """By function: file and line, or a pattern of words without one."""
    if kind == "fortran":
        return {"MPI_Recv": ("known_calls.f90", line_of("known_calls.f90", "the receive"))}
    name = re.escape(pathlib.Path(program).name)
    functions = {"MPI_Recv": ("the receive", "await_word"), "MPI_Allreduce": ("the sum", "add")}
    if kind in ("lines", "fixed"):
        return {call: ("known_calls.c", line_of("known_calls.c", text)) for call, (text, _) in functions.items()}
    if kind == "functions":
        return {call: (f"{function} in {name}", 0) for call, (_, function) in functions.items()}
    return {call: (rf"{name}\+0x[0-9a-f]+", 0) for call in functions}


def is_place(file, line, place):
    return line == place[1] and re.fullmatch(place[0], file) is not None


def check(folder, kind, program, nodes):
    words = [coracle, "run", "-n", "2", "--place", placement, "--nodes", str(nodes), "--timeout", "60s",
             "--summary-files", "s", "--trace", "t.json", pathlib.Path(program).resolve()]
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    wrong = [] if ended.returncode == 0 else [f"status {ended.returncode}: {ended.stderr}"]
    lines = json.loads((folder / "s.json").read_text())["lines"]
    events = json.loads((folder / "t.json").read_text())["traceEvents"]
    for call, place in wanted(kind, program).items():
        found = [(line["file"], line["line"]) for line in lines if line["call"] == call and line["ns"] > 0]
        if not found or not all(is_place(*each, place) for each in found):
            wrong.append(f"{call} is to wait at {place} in the summary, not {found}")
        at = {event["args"].get("at", "") for event in events if event["ph"] == "X" and event["name"] == call}
        text = place[0] if place[1] == 0 else f"{place[0]}:{place[1]}"
        if not at or not all(re.fullmatch(text, each) for each in at):
            wrong.append(f"{call} is to be at {text} in the trace, not {at}")
        screen = place[0] if place[1] == 0 else f"{re.escape(place[0])}:{place[1]}"
        if not re.search(rf"^  {screen} .*  {call}, ", ended.stderr, re.M):
            wrong.append(f"{screen} and {call} are to be on the screen: {ended.stderr}")
    return [f"{kind}, {nodes} nodes: {each}" for each in wrong]


def check_crash(kind, program):
    words = [coracle, "run", "-n", "2", "--place", placement, "--timeout", "60s", program, "crash"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    place = rf"crash at \S*known_calls\.c:{line_of('known_calls.c', 'the crash')}\b"
    is_told = ended.returncode == 134 and re.search(place, ended.stderr) is not None
    return [] if is_told else [f"{kind}: status 134 and '{place}', not {ended.returncode}: {ended.stderr}"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        wrong = [each for kind, program in programs.items() for nodes in (1, 2)
                 for each in check(pathlib.Path(folder), kind, program, nodes)]
    wrong += [each for kind in ("lines", "fixed") if kind in programs for each in check_crash(kind, programs[kind])]
    return "\n".join(wrong) or 0


if __name__ == "__main__":
    sys.exit(main())
