#!/usr/bin/env python3
"""Runs hello, stencil, himeno, asp and fft2d under `coracle run` in one placement: the same results for any number of ranks and nodes,
and the right status and words for wrong input.

    run_apps.py FOLDER PLACEMENT      FOLDER holds coracle, hello, asp, himeno, stencil, and fft2d where FFTW is there
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(sys.argv[1])
PLACEMENT = sys.argv[2]
TIME_LIMIT_S = 100
failures = []


def some(shapes):
    """Of the shapes of jobs, before a commit (see ./check) the first, the last and every third."""
    return sorted({*shapes[::3], shapes[-1]}, key=shapes.index) if os.environ.get("CORACLE_TESTS") == "brief" else shapes



def run(ranks, program, *arguments, nodes=1, transport="auto"):
    command = [FOLDER / "coracle", "run", "-n", ranks, "--nodes", nodes, "--place", PLACEMENT, "--transport", transport]
    command += [FOLDER / program, *arguments]
    command = [str(word) for word in command]
    return command, subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)


def expect(condition, command, result, wanted):
    if condition:
        return
    failures.append(command)
    print(f"{' '.join(command)}\n  wanted: {wanted}\n  status: {result.returncode}")
    print(f"  stdout: {result.stdout}\n  stderr: {result.stderr}")


def check_hello():
    for ranks, nodes in ((1, 1), (5, 1), (2, 2), (4, 2)):
        command, result = run(ranks, "hello", nodes=nodes)
        wanted = sorted(
            f"rank {rank} of {ranks} on node {rank * nodes // ranks} of {nodes} ({PLACEMENT}): "
            f"greeted by rank {(rank - 1) % ranks}"
            for rank in range(ranks)
        )
        expect(result.returncode == 0 and sorted(result.stdout.splitlines()) == wanted, command, result, wanted)


def check_stencil(folder):
    pictures = set()
    for ranks, nodes in some(((1, 1), (2, 1), (6, 1), (2, 2), (6, 2), (6, 4))):
        picture = folder / f"heat-{ranks}-{nodes}.pgm"
        command, result = run(
            ranks, "stencil", "--size", 48, "--steps", 40, "--verify", "--output", picture, nodes=nodes
        )
        expect(result.returncode == 0 and "bit for bit" in result.stdout, command, result, "a verified plate")
        pictures.add(picture.read_bytes() if picture.exists() else None)
        expect(len(pictures) == 1, command, result, "the picture of one rank")
    trace = folder / "arrivals.txt"
    command, result = run(3, "stencil", "--size", 48, "--steps", 4, "--output", picture, "--arrivals", trace)
    lines = trace.read_text().splitlines() if trace.exists() else []
    expect(lines[1:3] == ["unit = us", "ranks = 3"] and len(lines) == 7, command, result, "a trace of 4 steps")
    for words, text in (
        (("--output", folder / "heat.jpg"), "a picture's name ends in .png or .pgm; rename it"),
        (("--output", ""), "--output: the value is empty"),
        (("--size", 0), "0 is no whole number from 1 to 16384"),
        (("--steps", -1), "-1 is no whole number from 0"),
        (("--steps", 1, "--steps", 1), "--steps: is given 2 times; give it once"),
    ):
        command, result = run(3, "stencil", *words)
        expect(result.returncode == 2 and result.stderr.count(text) == 1, command, result, f"status 2, once: {text}")
    command, result = run(6, "stencil", "--size", 2)
    expect(result.returncode == 1 and "3 x 2 tiles" in result.stderr, command, result, "status 1 and the reason")


def check_himeno(folder):
    histories = set()
    report, history = folder / "himeno.json", folder / "history.txt"
    for ranks, nodes, grid in some((
        (1, 1, ""), (2, 1, ""), (4, 1, ""), (8, 1, ""), (2, 1, "1x1x2"), (4, 1, "4x1x1"), (6, 1, "1x3x2"), (2, 2, ""),
        (8, 2, "2x2x2"),
    )):
        words = ("--ranks-grid", grid) if grid else ()
        command, result = run(
            ranks, "himeno", "--size", "15x14x83", "--iterations", 5, "--verify", "--history", history, "--json",
            report, *words, nodes=nodes
        )
        found = json.loads(report.read_text() or "{}") if report.exists() else {}
        histories.add(history.read_text() if history.exists() else "")
        report.unlink(missing_ok=True)
        history.unlink(missing_ok=True)
        good = found.get("verified") and found["ranks"] == ranks and (not grid or grid == "x".join(map(str, found["ranks_grid"])))
        expect(result.returncode == 0 and good, command, result, "a verified solution")
        expect(len(histories) == 1 and max(histories).count("\n") == 8, command, result, "the residuals of one rank")
        wanted = " Loop executed for 5 times\n Gosa : "
        expect(wanted in result.stdout, command, result, wanted)
    if PLACEMENT != "sim":
        command, result = run(2, "himeno", "--size", "XS", "--time", 0.05)
        expect(result.returncode == 0 and "Limit of the memory" in result.stdout, command, result, "a run by time")
    command, result = run(2, "himeno", "--size", "XS", "--iterations", 2, "--no-limit", "--json", report)
    found = json.loads(report.read_text() or "{}") if report.exists() else {}
    good = result.returncode == 0 and found.get("measured") and "limit" not in found
    expect(good and "Limit of the memory" not in result.stdout, command, result, "no limit")


def check_himeno_over_boards(folder):
    history = folder / "history.txt"
    histories = set()
    for ranks, grid in some(((1, "1x1x1"), (2, "2x1x1"), (2, "1x2x1"), (4, "2x2x1"), (4, "1x2x2"), (8, "2x2x2"))):
        command, result = run(
            ranks, "himeno", "--size", "15x14x83", "--iterations", 3, "--verify", "--ranks-grid", grid, "--history",
            history, transport="tca"
        )
        histories.add(history.read_text() if history.exists() else "")
        history.unlink(missing_ok=True)
        good = result.returncode == 0 and len(histories) == 1 and max(histories).count("\n") == 6
        expect(good, command, result, "the residuals of one rank, over tca")


def check_himeno_complaints(folder):
    for words, status, text in (
        (("--size", "huge"), 2, "huge is none of XS, S, M, L, XL"),
        (("--ranks-grid", "3"), 2, "3 is not IxJxK"),
        (("--ranks-grid", "2x2x1"), 1, "--ranks-grid 2x2x1 is for 4 ranks, and the job has 3"),
        (("--ranks-grid", "3x1x1", "--size", "4x9x9"), 1, "shares 2 inner points in i among 3 ranks"),
        (("--size", "3x3x3"), 1, "a grid of 3x3x3 can't be shared by 3 ranks"),
        (("--size", "4096x4096x4096"), 1, "GiB, and this machine has"),
        (("--history", folder / "none" / "history"), 1, "can't create"),
    ):
        if status == 1:
            words = (*words, "--iterations", 1)
        command, result = run(3, "himeno", *words)
        expect(result.returncode == status and result.stderr.count(text) == 1, command, result, f"{status}, once: {text}")


def asp_results(folder, ranks, nodes, *arguments):
    report = folder / "report.json"
    command, result = run(ranks, "asp", *arguments, "--json", report, nodes=nodes)
    expect(result.returncode == 0, command, result, "status 0")
    found = json.loads(report.read_text()) if report.exists() else {}
    report.unlink(missing_ok=True)
    for varying in ("ranks", "block", "broadcast", "arrivals", "computing_s", "waiting_s", "total_s", "kernel"):
        found.pop(varying, None)
    return command, result, found


def check_asp(folder):
    for graph in (("--random", 150, "--degree", 3), ("--random", 1), ("--random", 90, "--degree", 1, "--undirected")):
        expected = None
        # Blocks of 16 rows: with 12 ranks some have none. 7 ranks: blocks come back to each rank in another buffer.
        for ranks, nodes, block in some(((1, 1, 16), (2, 1, 16), (2, 1, 64), (7, 1, 16), (12, 1, 16), (2, 2, 16), (7, 4, 16))):
            command, result, found = asp_results(folder, ranks, nodes, *graph, "--block", block, "--verify", 20)
            expected = expected or found
            exact = found.get("verified", {}).get("exactly")
            expect(found == expected and exact, command, result, f"what one rank finds, exactly: {expected}")


def check_asp_broadcasts(folder):
    command, result = run(2, "asp", "--random", 150, "--json", folder / "none" / "report")
    good = result.returncode == 1 and result.stderr.count("can't create") == 1 and result.stdout == ""
    expect(good, command, result, "a complaint before anything is computed")
    graph = ("--random", 150, "--degree", 3, "--block", 16)
    _, _, expected = asp_results(folder, 1, 1, *graph)
    trace = folder / "trace"
    for words in ("direct", "automatic", "plain", "pipelined,binomial,chunk=128", "competitive,ring,chunk=256,depth=2"):
        for ranks, nodes in some(((2, 1), (7, 1), (7, 4))):
            command, result, found = asp_results(
                folder, ranks, nodes, *graph, "--broadcast", words, "--arrivals", trace
            )
            expect(found == expected, command, result, f"what one rank finds: {expected}")
            lines = trace.read_text().splitlines() if trace.exists() else []
            trace.unlink(missing_ok=True)
            delays = [[float(word) for word in line.split()] for line in lines[3:]]
            good = len(delays) == 10 and all(len(line) == ranks and min(line) == 0 for line in delays)
            expect(lines[1:3] == ["unit = us", f"ranks = {ranks}"] and good, command, result, "a trace of 10 blocks")


def check_fft2d(folder):
    report = folder / "fft2d.json"
    # Sizes that all ranks divide, that none divides, and fewer rows than ranks.
    for ranks, nodes in some(((1, 1), (2, 1), (5, 1), (2, 2), (5, 3))):
        for size in ("40", "37x53", "3x2"):
            command, result = run(
                ranks, "fft2d", "--size", size, "--repeat", 3, "--verify", "--json", report, nodes=nodes
            )
            found = json.loads(report.read_text()) if report.exists() else {}
            report.unlink(missing_ok=True)
            good = found.get("verified") and found["difference"] < 1e-12 and len(found["seconds"]) == 3
            expect(result.returncode == 0 and good, command, result, "a verified transform")
    command, result = run(2, "fft2d", "--size", "4x0")
    expect(result.returncode == 2 and "neither N nor ROWSxCOLUMNS" in result.stderr, command, result, "status 2")


def check_fft2d_pictures(folder):
    # A black dot on white, wherever the ranks' strips begin: what it spreads to is the same from everywhere.
    picture, out = folder / "dot.pgm", folder / "out.pnm"
    samples = bytearray(b"\xff" * (30 * 20))
    samples[7 * 30 + 4] = 0
    picture.write_bytes(b"P5\n30 20\n255\n" + samples)
    filtered = set()
    for ranks, nodes in ((1, 1), (3, 1), (4, 2)):
        command, result = run(ranks, "fft2d", "--image", picture, "--cutoff", 0.2, "--out", out, nodes=nodes)
        expect(result.returncode == 0 and "as by one alone" in result.stdout, command, result, "a filtered picture")
        filtered.add(out.read_bytes() if out.exists() else b"")
        out.unlink(missing_ok=True)
        spread = max(filtered)[-600:]
        centre, beside = (spread + b"\xff" * 600)[7 * 30 + 4], (spread + b"\xff" * 600)[7 * 30 + 5]
        expect(0 < centre < beside < 255, command, result, "a dot that has spread")
    expect(len(filtered) == 1, command, result, "the picture of one rank")
    colours = folder / "colours.ppm"
    colours.write_text("P3 2 2 65535 0 1 2 3 4 5 6 7 8 9 10 65535")
    command, result = run(2, "fft2d", "--image", colours, "--out", out)
    expect(result.returncode == 0 and out.read_bytes().startswith(b"P6\n2 2\n65535\n"), command, result, "colours")
    cut = folder / "cut.ppm"
    cut.write_bytes(b"P6 2 2 255\n123")
    for words, status, text in (
        (("--image", cut, "--out", out), 1, "cut.ppm, byte 11: 3 bytes are left for 12 samples of 1 bytes; get"),
        (("--image", cut), 2, "--image requires --out"),
        (("--image", picture, "--out", out, "--cutoff", "much"), 2, "much is no number above 0"),
        (("--image", picture, "--out", folder / "none" / "out.pgm"), 1, "can't create"),
    ):
        command, result = run(3, "fft2d", *words)
        expect(result.returncode == status and result.stderr.count(text) == 1, command, result, f"{status}, once: {text}")


def check_complaints(folder):
    cut = folder / "cut.gr"
    cut.write_text("p sp 3 2\na 1 2 3\n")
    negative = folder / "negative.gr"
    negative.write_text("p sp 2 1\na 1 2 -3\n")
    for words, status, text in (
        ((cut,), 1, "cut.gr:2: the file ends after 1 of 2 arcs"),
        ((negative,), 1, 'negative.gr:2: the weight "-3" is negative'),
        ((folder / "missing.gr",), 1, "missing.gr: No such file or directory"),
        (("--dpkg", cut), 2, "Exactly 1 option from"),
        (("--random", 9, "--broadcast", "fast"), 2, '"fast" is none of plain, pipelined, competitive'),
        (("--random", 9, "--block", 20), 2, "20 is no multiple of 16"),
    ):
        command, result = run(3, "asp", *words)
        expect(result.returncode == status and result.stderr.count(text) == 1, command, result, f"{status}, once: {text}")


with tempfile.TemporaryDirectory() as name:
    check_hello()
    check_stencil(pathlib.Path(name))
    check_himeno(pathlib.Path(name))
    check_himeno_over_boards(pathlib.Path(name))
    check_himeno_complaints(pathlib.Path(name))
    check_asp(pathlib.Path(name))
    check_asp_broadcasts(pathlib.Path(name))
    check_complaints(pathlib.Path(name))
    if (FOLDER / "fft2d").exists():
        check_fft2d(pathlib.Path(name))
        check_fft2d_pictures(pathlib.Path(name))
sys.exit(1 if failures else 0)
