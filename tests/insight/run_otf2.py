#!/usr/bin/env python3
"""Runs programs under `coracle run --trace NAME.otf2`, in one placement: archives that check_otf2.py takes, as many messages
and collectives in them as in a trace in Chrome's format, and the right words for folders that can't be.

    run_otf2.py FOLDER PLACEMENT PROGRAMS TOOL

As run_traces.py. Exit status 77 (skipped): there is no otf2-print, or the command was built without OTF2.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from run_traces import BRIEF, CHECK, FOLDER, PLACEMENT, PROGRAMS, command_of, expect, failures, run

CHECK_OTF2 = pathlib.Path(__file__).parent / "check_otf2.py"
OTF2 = ("--trace", "t.otf2")
COUNTS = re.compile(r"(\d+) messages, (\d+) collectives")


def checked(checker, command, trace, *words):
    """The counts of messages and collectives."""
    check = [sys.executable, str(checker), str(trace), *map(str, words)]
    result = run(check, ".")
    expect(result.returncode == 0, command + ["#"] + check, result, "a trace")
    print(f"{' '.join(command[2:])}: {result.stdout.strip()}")
    counts = COUNTS.search(result.stdout)
    return counts.groups() if counts else ()


def check_program(folder, ranks, nodes, roles, program, *arguments):
    counts = {}
    for name, checker, has in (("t.otf2", CHECK_OTF2, roles), ("t.json", CHECK, ())):
        command = command_of(ranks, FOLDER / program, *arguments, nodes=nodes, options=("--trace", name))
        result = run(command, folder)
        expect(result.returncode == 0 and "trace" not in result.stderr, command, result, "status 0, and no word of the trace")
        words = [word for role in has for word in ("--has", role)]
        counts[name] = checked(checker, command, folder / name, "--ranks", ranks, *words)
    expect(counts["t.otf2"] == counts["t.json"], command, result, f"as much in both traces: {counts}")


def check_programs(folder):
    check_program(folder, 5, 2, ["POINT2POINT", "TASK_WAIT", "BARRIER", "RMA", "CODE"], "hello")
    if BRIEF and PLACEMENT in ("pvas", "thread"):
        return  # the same is written as in `process`; in `sim` time is another
    for ranks, nodes in ((3, 1), (4, 2)):
        check_program(folder, ranks, nodes, ["COLL_ONE2ALL", "TASK_WAIT"], "asp", "--random", 120)
        check_program(folder, ranks, nodes, ["TASK_WAIT", "RMA"], "himeno", "--size", "XS", "--iterations", 3, "--no-limit")
        run(command_of(2, FOLDER / "oocsort", "--generate", 20000, "in", "--force"), folder)
        check_program(folder, ranks, nodes, ["DATA_TRANSFER", "TASK_WAIT"], "oocsort", "in", "out", "--force", "--memory", "1M")
        check_program(folder, ranks, nodes, ["DATA_TRANSFER", "TASK_WAIT"], "bfs", "--kronecker", 10, "--cache", "256K",
                      "--page", "4K", "--memory", "1M")
        if BRIEF:
            break


def check_definitions(folder):
    """Nodes, ranks and places in the source, by names that a reader shows."""
    command = command_of(4, PROGRAMS / "insight" / "traced_spans", nodes=2, options=OTF2)
    result = run(command, folder)
    checked(CHECK_OTF2, command, folder / "t.otf2", "--ranks", 4, "--has", "FUNCTION")
    printed = run(["otf2-print", "-G", "t.otf2/traces.otf2"], folder).stdout
    for pattern in (
        r'REGION .* Name: "outer" .*Role: FUNCTION.* File: "[^"]*traced_spans.cpp" <\d+>, Begin: [1-9]',
        r'LOCATION_GROUP .* Name: "rank 3" .*Parent: "node::node 1"',
        r'LOCATION +2 +Name: "rank 2: tasks" .*Group: "rank 2"',
        r"CLOCK_PROPERTIES +Ticks per Seconds: 1000000000, Global Offset: 0, Length: [1-9]",
    ):
        expect(re.search(pattern, printed), command, result, f"{pattern} in:\n{printed[-6000:]}")


def check_full(folder):
    """Events without room are counted in the archive as well."""
    options = (*OTF2, "--trace-buffer", "256K")
    command = command_of(2, PROGRAMS / "insight" / "traced_spans", "20000", options=options)
    result = run(command, folder)
    told = "for which there was no room: give each rank more by --trace-buffer" in result.stderr
    expect(result.returncode == 0 and told, command, result, "status 0, and what is lacking")
    checked(CHECK_OTF2, command, folder / "t.otf2", "--cut")
    printed = run(["otf2-print", "-I", "t.otf2/traces.otf2"], folder).stdout
    count = re.search(r"Property name +CORACLE::DROPPED\nProperty value +(\d+)", printed)
    told = re.search(r"and lacks (\d+) that came later", result.stderr)
    expect(count and told and count.group(1) == told.group(1), command, result, f"what is lacking, in:\n{printed}")
    time_of = re.search(r"Property name +CORACLE::TIME\nProperty value +(\w+)", printed)
    expect(time_of and time_of.group(1) == ("virtual" if PLACEMENT == "sim" else "real"), command, result, printed)


def check_ends(folder):
    """Jobs that do not end by themselves leave a whole archive, too."""
    for nodes in (1, 2):
        for what in ("segv", "exit 7"):
            command = command_of(3, PROGRAMS / "programs" / "misbehave", what, "1", nodes=nodes, options=OTF2)
            result = run(command, folder)
            expect(result.returncode != 0, command, result, "a status other than 0")
            checked(CHECK_OTF2, command, folder / "t.otf2", "--cut", "--includes", 1)
        if PLACEMENT == "sim":
            break  # an hour passes in no time
        shutil.rmtree(folder / "t.otf2")
        command = command_of(3, PROGRAMS / "programs" / "misbehave", "sleep", nodes=nodes, options=OTF2)
        with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as job:
            time.sleep(2)
            job.send_signal(signal.SIGTERM)
            errors = job.communicate(timeout=60)[1]
        expect(job.returncode == 143, command, subprocess.CompletedProcess(command, job.returncode, "", errors), "status 143")
        checked(CHECK_OTF2, command, folder / "t.otf2", "--cut", "--includes", 1)
        if BRIEF:
            break


def check_full_disk(folder):
    """In a small file system of its own: an archive that is not whole is told, and why."""
    alone = ["unshare", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None or run([*alone, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], folder).returncode != 0:
        print("no trace on a full disk: file systems can't be mounted here, not even with unshare")
        return
    (folder / "small").mkdir()
    mount = 'mount -t tmpfs -o size=16k tmpfs small && exec "$@"'
    inner = command_of(3, FOLDER / "asp", "--random", 120, options=("--trace", "small/t.otf2"))
    command = [*alone, "/bin/sh", "-c", mount, "sh", *inner]
    # The library itself leaves two blocks behind then.
    result = run(command, folder, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
    told = "the trace in small/t.otf2 is not whole: No space left on device" in result.stderr
    expect(result.returncode == 0 and told, command, result, "status 0, and why the trace is not whole")


def names_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def check_refused(folder, name, text):
    """Nothing has run, and all is as it was."""
    before = names_in(folder)
    for nodes in (1, 2):
        command = command_of(2, FOLDER / "hello", nodes=nodes, options=("--trace", name))
        result = run(command, folder)
        expect(result.returncode not in (0, 139) and text in result.stderr, command, result, text)
        expect("greeted" not in result.stdout, command, result, "nothing run")
        expect(names_in(folder) == before, command, result, f"{before} as before, not {names_in(folder)}")


def check_words(folder):
    check_refused(folder, "t.otf", "--trace t.otf: the file's name must end in .json")
    check_refused(folder, "t.otf", "or .otf2")
    check_refused(folder, "none/t.otf2", "can't write the trace to none/t.otf2 (--trace: a folder): No such file or directory")
    (folder / "file.otf2").write_text("kept")
    check_refused(folder, "file.otf2", "can't write the trace to file.otf2 (--trace: a folder): Not a directory")
    foreign = "this folder holds something other than a trace that Coracle has left"
    for inside in ("thesis.tex", "traces.otf2", "traces/0.evt"):
        other = folder / f"{inside.replace('/', '-')}.otf2"
        (other / inside).parent.mkdir(parents=True)
        (other / inside).write_text("kept")
        check_refused(folder, other.name, foreign)
    command = command_of(2, "./no-such-program", options=("--trace", "none.otf2"))
    result = run(command, folder)
    expect(result.returncode != 0 and not (folder / "none.otf2").exists(), command, result, "no folder where nothing has run")


def check_replaced(folder):
    """An archive of ours goes for the next, and nothing else does."""
    (folder / "r.otf2").mkdir()
    for ranks, name in ((5, "r.otf2"), (2, "r.otf2/")):
        command = command_of(ranks, FOLDER / "hello", options=("--trace", name))
        result = run(command, folder)
        expect(result.returncode == 0 and result.stderr == "", command, result, "status 0, and no word of the trace")
        checked(CHECK_OTF2, command, folder / "r.otf2", "--ranks", ranks)
    (folder / "r.otf2" / "traces" / "notes").write_text("kept")
    check_refused(folder, "r.otf2", "this folder holds something other than a trace that Coracle has left")
    (folder / "r.otf2" / "traces" / "notes").unlink()
    # What comes into it while the job runs is kept as well.
    command = command_of(1, "/bin/sh", "-c", "echo kept >r.otf2/notes", options=("--trace", "r.otf2"))
    if PLACEMENT != "thread":  # where it may be under ThreadSanitizer, which goes with no other
        command[command.index("--place") + 1] = "process"
    before = names_in(folder)
    result = run(command, folder)
    expect("the trace in r.otf2 is not whole: this folder holds" in result.stderr, command, result, "the trace is not whole")
    expect(names_in(folder) == sorted(before + ["r.otf2/notes"]), command, result, "all as it was")
    command = command_of(2, "true", options=("--trace", "e.otf2"))
    result = run(command, folder)
    expect(result.returncode == 0 and "is empty: no rank has come to" in result.stderr, command, result, "an empty trace, told")
    checked(CHECK_OTF2, command, folder / "e.otf2")


def skip_without_otf2(folder):
    """What can't be tested; a build without the library says what to install."""
    if shutil.which("otf2-print") is None:
        print("skipped: there is no otf2-print (package otf2-tools)")
        sys.exit(77)
    command = command_of(1, FOLDER / "hello", options=OTF2)
    result = run(command, folder)
    if "was built without OTF2" in result.stderr:
        expect("install libotf2-trace-dev and rebuild" in result.stderr and "greeted" not in result.stdout, command, result,
               "what to install, and nothing run")
        print(f"skipped: {result.stderr.strip()}")
        sys.exit(1 if failures else 77)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        skip_without_otf2(folder)
        check_programs(folder)
        check_definitions(folder)
        check_full(folder)
        check_ends(folder)
        check_full_disk(folder)
        check_words(folder)
        check_replaced(folder)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
