#!/usr/bin/env python3
"""Runs oocsort and bfs under `coracle run` in one placement, with memory for a part of their data: the same results for
any number of ranks and nodes, the right status and words for wrong input, and nothing left behind.

    run_out_of_core.py FOLDER PLACEMENT      FOLDER holds coracle, oocsort and bfs
"""
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
PLACEMENT = sys.argv[2]
TIME_LIMIT_S = 100
JOBS = ((1, 1), (3, 1), (4, 2))
failures = []


def run(folder, ranks, nodes, program, *arguments):
    command = [PROGRAMS / "coracle", "run", "-n", ranks, "--nodes", nodes, "--place", PLACEMENT, "--timeout", "90s"]
    command = [str(word) for word in (*command, PROGRAMS / program, *arguments)]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)
    return command, result


def expect(condition, command, result, wanted):
    if condition:
        return
    failures.append(command)
    print(f"{' '.join(command)}\n  wanted: {wanted}\n  status: {result.returncode}")
    print(f"  stdout: {result.stdout}\n  stderr: {result.stderr}")


def check_left(folder, known, command, result):
    left = {path.name for path in folder.iterdir()}
    expect(left == known, command, result, f"{known} in the folder, not {left}")


def sorted_plainly(data, record, key, order):
    records = [data[at : at + record] for at in range(0, len(data), record)]
    records.sort(key=lambda one: one[:key] if order == "bytes" else one[:key][::-1])
    return b"".join(records)


def check_sort(folder):
    for count, record, key, order in ((60000, 16, 8, "little"), (9000, 100, 10, "bytes"), (20000, 7, 1, "little"),
                                      (3, 16, 8, "little"), (0, 16, 8, "little")):
        shape = ("--record", record, "--key", key, "--order", order)
        files = set()
        for ranks, nodes in JOBS:
            command, result = run(folder, ranks, nodes, "oocsort", "--generate", count, "in", "--force", *shape)
            expect(result.returncode == 0, command, result, "random records")
            files.add((folder / "in").read_bytes() if (folder / "in").exists() else None)
        expect(len(files) == 1, command, result, "the records of one rank")
        wanted = sorted_plainly(files.pop(), record, key, order)
        for ranks, nodes in JOBS:
            command, result = run(folder, ranks, nodes, "oocsort", "in", "out", "--force", "--memory", "1M", "--verify",
                                  "--json", "report", *shape)
            found = (folder / "out").read_bytes() if (folder / "out").exists() else None
            expect(result.returncode == 0 and found == wanted, command, result, "what sorting in memory gives")
            report = json.loads((folder / "report").read_text()) if (folder / "report").exists() else {}
            good = report.get("records") == count and "checksum" in report.get("verified", {})
            expect(good, command, result, "a report of it")
            check_left(folder, {"in", "out", "report"}, command, result)
            for name in ("out", "report"):
                (folder / name).unlink(missing_ok=True)


def check_sort_complaints(folder):
    (folder / "in").write_bytes(bytes(range(160)))
    (folder / "there").write_bytes(b"mine")
    (folder / "large").write_bytes(bytes(6 << 20))
    for words, status, text in (
        (("missing", "out"), 1, "can't open missing (give the path of a file in a folder that exists)"),
        (("in", "out", "--record", 11), 1, "in has 160 bytes, which is no multiple of 11"),
        (("in", "there"), 1, "there exists already; choose another name, or replace it by --force"),
        (("in", "none/out"), 1, "can't create none/out"),
        (("in", "out", "--scratch", "none"), 1, "give --scratch a folder that exists at every node"),
        (("large", "out", "--memory", "1M", "--page", "512K"), 1, "allow 32M or more"),
        (("in", "out", "--key", 17), 2, "the key is longer than the record"),
        (("in",), 2, "OUTPUT is required"),
    ):
        for ranks, nodes in ((1, 1), (3, 2)):
            command, result = run(folder, ranks, nodes, "oocsort", *words)
            expect(result.returncode == status and result.stderr.count(text) == 1, command, result,
                   f"{status}, once: {text}")
            check_left(folder, {"in", "there", "large"}, command, result)
    expect((folder / "there").read_bytes() == b"mine", command, result, "the file that was there")
    # In place.
    command, result = run(folder, 2, 1, "oocsort", "in", "in", "--force", "--quiet", "--record", 1, "--key", 1)
    same = (folder / "in").read_bytes() == bytes(range(160))
    expect(result.returncode == 0 and same and result.stdout == "", command, result, "the file sorted in its place")


def search(folder, ranks, nodes, *arguments):
    command, result = run(folder, ranks, nodes, "bfs", *arguments, "--json", "report")
    expect(result.returncode == 0, command, result, "status 0")
    path = folder / "report"
    found = json.loads(path.read_text()) if path.exists() else {}
    path.unlink(missing_ok=True)
    return command, result, found


def check_search(folder):
    grid = [(f"{x},{y}", f"{x + dx},{y + dy}") for x in range(40) for y in range(30) for dx, dy in ((0, 1), (1, 0))]
    (folder / "grid").write_text("# a grid\n" + "".join(f"{one} {other}\n" for one, other in grid))
    small = ("--cache", "256K", "--page", "4K", "--memory", "1M", "--verify")
    for graph in (("--kronecker", 13, "--roots", 3), ("--kronecker", 9, "--edge-factor", 3, "--seed", 5, "--directed"),
                  ("--kronecker", 1, "--root", 0), ("grid", "--root", "0,0"), ("grid", "--roots", 2)):
        expected = None
        for ranks, nodes in JOBS:
            command, result, found = search(folder, ranks, nodes, *graph, *small)
            searches = [{word: one[word] for word in ("root", "reached", "levels", "digest")}
                        for one in found.get("searches", [])]
            expected = expected or searches
            good = searches and searches == expected and found.get("verified")
            expect(good, command, result, f"what one rank finds: {expected}")
            check_left(folder, {"grid"}, command, result)
    # Levels of a grid of 41 x 31 corners without the last: the diagonals.
    command, result, found = search(folder, 2, 1, "grid", "--root", "0,0")
    wanted = [sum(1 for x, y in itertools.product(range(41), range(31)) if x + y == level and (x, y) != (40, 30))
              for level in range(70)]
    expect(found.get("searches", [{}])[0].get("levels") == wanted, command, result, f"levels {wanted}")


# The same graph as a list of edges, as DIMACS' file and as a Matrix Market matrix, to which weights mean nothing.
def check_search_formats(folder):
    edges = [(1, 2), (2, 3), (2, 4), (4, 5)]
    (folder / "edges").write_text("".join(f"{one} {other}\n" for one, other in edges))
    (folder / "roads.gr").write_text(
        "c Shortest paths\np sp 9 4\n" + "".join(f"a {one} {other} -2.5\n" for one, other in edges))
    (folder / "roads.mtx").write_text("%%MatrixMarket matrix coordinate real symmetric\n9 9 4\n" +
                                      "".join(f"{other} {one} -1\n" for one, other in edges))
    (folder / "roads.txt").write_text((folder / "roads.gr").read_text())
    for graph, count in ((("edges",), 4), (("roads.gr",), 4), (("roads.mtx",), 4), (("roads.mtx", "--directed"), 8),
                         (("roads.txt", "--format", "gr"), 4)):
        command, result, found = search(folder, 3, 2, *graph, "--root", "2", "--verify")
        levels = found.get("searches", [{}])[0].get("levels")
        expect(levels == [1, 3, 1], command, result, "levels 1, 3, 1")
        # Followed both ways, an entry of a symmetric matrix is one edge, too.
        expect((found.get("edges"), found.get("arcs")) == (count, 8), command, result, f"{count} edges, 8 arcs")
    command, result = run(folder, 3, 2, "bfs", "roads.txt")
    text = "roads.txt:1: the weight is \"paths\", which is not a number"
    good = result.returncode == 1 and result.stderr.count(text) == 1 and "--format says how" in result.stderr
    expect(good, command, result, text)


def check_search_complaints(folder):
    (folder / "bad").write_text("a b\nb\n")
    (folder / "empty").write_text("")
    (folder / "good").write_text("a b\n")
    for words, status, text in (
        (("missing",), 1, "can't open missing"),
        (("bad",), 1, "bad:2: the line ends before its edge's end"),
        (("empty",), 1, "empty: the file ends without an edge"),
        (("good", "--root", "c"), 1, "--root c: there is no such vertex in good"),
        (("--kronecker", 4, "--root", 16), 1, "give one of its numbers, which count from 0"),
        (("--wordnet", "none"), 1, "none/data.noun: No such file or directory"),
        (("good", "--scratch", "none"), 1, "give --scratch a folder that exists at every node"),
        (("good", "--kronecker", 4), 2, "Exactly 1 option from"),
        (("bad", "--json", "report"), 1, "bad:2: the line ends before its edge's end"),
    ):
        command, result = run(folder, 3, 2, "bfs", *words)
        expect(result.returncode == status and result.stderr.count(text) == 1, command, result,
               f"{status}, once: {text}")
        check_left(folder, {"bad", "empty", "good"}, command, result)


for check in (check_sort, check_sort_complaints, check_search, check_search_formats,
              check_search_complaints):
    with tempfile.TemporaryDirectory() as name:
        check(pathlib.Path(name))
sys.exit(1 if failures else 0)
