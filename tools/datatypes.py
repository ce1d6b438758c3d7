#!/usr/bin/env python3
"""Measures DDTBench's patterns, draws the figures and puts them into docs/results/datatypes.md.

    tools/datatypes.py all                     # measures, draws and writes; on a quiet machine, 15 minutes
    tools/datatypes.py measure [peers|ways]    # into docs/results/data/datatypes*.json
    tools/datatypes.py draw                    # docs/results/datatypes*.svg of these
    tools/datatypes.py write                   # the tables of these in docs/results/datatypes.md

`peers`: tests/peers/compare-datatypes, beside Open MPI and MPICH. `ways`: three runs of `coracle bench ddt`, which sends
every pattern in every way. Needs build/apps/coracle-bench, and nothing else but Python."""

import collections
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "peers"))

from summarise_datatypes import (BY_HAND, OURS, PEERS, geometric_mean, markdown, microseconds,  # noqa: E402
                                 summary_rows)
from svg_plot import curve, key, line, page, save, scale, size_text, text  # noqa: E402

RESULTS = ROOT / "docs" / "results"
PEERS_DATA = RESULTS / "data" / "datatypes.json"
WAYS_DATA = RESULTS / "data" / "datatypes-ways.json"
DOCUMENT = RESULTS / "datatypes.md"
RUNS = 3

AUTOMATIC = "automatic"
FIXED = ("one-sided", "cooperative", "shm", "cma")
BY_LIBRARY = "by-library"
COLOURS = {
    OURS: "#0b5cad", "openmpi": "#c2571a", "mpich": "#8a8a8a",
    AUTOMATIC: "#0b5cad", "one-sided": "#6aa84f", "cooperative": "#b45f9e", "shm": "#8a8a8a", "cma": "#c2571a",
    BY_HAND: "#222222",
}
COLUMNS = 4
PANEL_WIDTH, PANEL_HEIGHT = 220, 150
LEFT, TOP, GAP_X, GAP_Y, BOTTOM, RIGHT = 60, 110, 56, 52, 40, 20


# --- measuring ---


def measure_peers():
    command = [ROOT / "tests" / "peers" / "compare-datatypes", "--json", PEERS_DATA]
    if subprocess.run(command, check=False).returncode not in (0, 3):
        sys.exit("tools/datatypes.py: compare-datatypes has failed")


def run_ways():
    """{(pattern, size): (bytes, {way: (median, least)})} of one run, and what it was made on."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [ROOT / "build" / "apps" / "coracle", "bench", "ddt", "--json", file.name]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        description = json.load(file)
    found = {}
    for row in (row for table in description["benchmarks"]["ddt"] for row in table["rows"] if "details" in row):
        details = row["details"]
        figures = {details["way"]: row, **{other["name"]: other for other in row["others"]}}
        ways = {name: (figure["median"], figure["min"]) for name, figure in figures.items()}
        found[details["pattern"], details["size"]] = details["bytes"], ways
    return description, found


def measure_ways():
    samples = collections.defaultdict(lambda: collections.defaultdict(list))
    sizes = {}
    for run in range(RUNS):
        print(f"run {run + 1} of {RUNS}", file=sys.stderr)
        description, found = run_ways()
        for which, (size, ways) in found.items():
            sizes[which] = size
            for way, times in ways.items():
                samples[which][way].append(times)
    figures = [{"pattern": which[0], "size": which[1], "bytes": sizes[which],
                "ways": {way: round(statistics.median(median for median, _ in times), 1)
                         for way, times in ways.items()},
                "fastest": {way: round(min(least for _, least in times), 1) for way, times in ways.items()}}
               for which, ways in samples.items()]
    result = {"processor": description["processor"], "cores": description["cores"], "kernel": description["kernel"],
              "compiler": description["compiler"], "load_average": os.getloadavg()[0], "runs": RUNS,
              "figures": figures}
    WAYS_DATA.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


# --- drawing ---


def by_pattern(figures):
    """{pattern: [figure]}, the smallest first."""
    groups = collections.defaultdict(list)
    for figure in figures:
        groups[figure["pattern"]].append(figure)
    return {pattern: sorted(group, key=lambda figure: figure["bytes"]) for pattern, group in groups.items()}


class Panel:
    """Time (or a ratio) by size, of one pattern; sizes are logarithmic."""

    def __init__(self, number, sizes, low, high, function):
        self.left = LEFT + number % COLUMNS * (PANEL_WIDTH + GAP_X)
        self.top = TOP + number // COLUMNS * (PANEL_HEIGHT + GAP_Y)
        self.sizes = sorted(set(sizes))
        margin = 1 if len(self.sizes) > 1 else 2
        self.x = scale(self.sizes[0] / 2**(margin / 4), self.sizes[-1] * 2**(margin / 4), self.left,
                       self.left + PANEL_WIDTH, math.log2)
        self.y = scale(low, high, self.top + PANEL_HEIGHT, self.top, function)

    def frame(self, title, levels, words):
        for level in levels:
            yield line(self.left, self.y(level), self.left + PANEL_WIDTH, self.y(level))
            yield text(self.left - 6, self.y(level) + 4, words(level), "end")
        shown = self.sizes if len(self.sizes) < 3 else [self.sizes[0], self.sizes[-1]]
        for size in shown:
            yield line(self.x(size), self.top, self.x(size), self.top + PANEL_HEIGHT)
            yield text(self.x(size), self.top + PANEL_HEIGHT + 16, rough_size(size), "middle")
        yield text(self.left + 4, self.top - 6, title, style='font-weight="bold"')


def rough_size(size):
    return size_text(size if size < 1024 else size // 1024 * 1024 if size < 2**20 else size // 2**20 * 2**20)


def time_text(microseconds_):
    return f"{microseconds_ / 1000:g} ms" if microseconds_ >= 1000 else f"{microseconds_:g} µs"


def legend(names):
    for number, (colour, name, width) in enumerate(names):
        yield from key(LEFT + 130 * number, 76, name, colour, width=width, length=24, dashes=dashes_of(name))


def dashes_of(way):
    return "4 3" if way == BY_HAND else "none"


def extent(patterns):
    rows = -(-len(patterns) // COLUMNS)
    return LEFT + COLUMNS * (PANEL_WIDTH + GAP_X) - GAP_X + RIGHT, TOP + rows * (PANEL_HEIGHT + GAP_Y) - GAP_Y + BOTTOM


def peers_panel(number, pattern, figures):
    programs = [program for program in (*PEERS, OURS) if program in figures[0]]
    times = [figure[program]["median_ns"] / 1000 for figure in figures for program in programs]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    panel = Panel(number, [figure["bytes"] for figure in figures], 10.0**low, 10.0**high, math.log10)
    yield from panel.frame(pattern, [10.0**power for power in range(low, high + 1)], time_text)
    for program in programs:
        points = [(figure["bytes"], figure[program]["median_ns"] / 1000) for figure in figures]
        yield from curve(points, panel.x, panel.y, COLOURS[program], radius=2.5)


def draw_peers(report):
    patterns = by_pattern(report["figures"])
    width, height = extent(patterns)
    names = [(COLOURS[OURS], "Coracle", 2)] + [(COLOURS[peer], name, 2) for peer, name in PEERS.items()]
    body = list(legend(names))
    for number, (pattern, figures) in enumerate(patterns.items()):
        body += peers_panel(number, pattern, figures)
    subtitle = f'{report["processor"]}, {report["cores"]} cores; half a round trip, medians of rounds in alternation'
    return page(width, height, LEFT, "DDTBench's patterns: time of a message by size", subtitle, body)


def ways_panel(number, pattern, figures, top):
    panel = Panel(number, [figure["bytes"] for figure in figures], 0, top, float)
    yield from panel.frame(pattern, [0, 0.5, 1, 1.5, 2], lambda level: f"{level:g}")
    for way in (BY_HAND, *FIXED, AUTOMATIC):
        points = [(figure["bytes"], min(figure["ways"][way] / figure["ways"]["shm"], top)) for figure in figures
                  if way in figure["ways"]]
        if points:
            chosen = way == AUTOMATIC
            yield from curve(points, panel.x, panel.y, COLOURS[way], width=3.0 if chosen else 1.5,
                             dashes=dashes_of(way), radius=3.0 if chosen else 2.0)


def draw_ways(report):
    patterns = by_pattern(report["figures"])
    width, height = extent(patterns)
    names = [(COLOURS[AUTOMATIC], "as chosen", 3)] + [(COLOURS[way], way, 1.5) for way in (*FIXED, BY_HAND)]
    body = list(legend(names))
    for number, (pattern, figures) in enumerate(patterns.items()):
        body += ways_panel(number, pattern, figures, 2.0)
    subtitle = (f'{report["processor"]}, {report["cores"]} cores; half a round trip, divided by that through shared '
                "memory (shm); 2 stands for 2 and more")
    return page(width, height, LEFT, "DDTBench's patterns: each way beside shared memory", subtitle, body)


# --- writing ---


def best_of(times, among=FIXED):
    """The name and time of the best of these ways; without more, of those that the user can fix."""
    return min(((way, times[way]) for way in among if way in times), key=lambda each: each[1])


def peers_table(report):
    peers = [peer for peer in PEERS if peer in report["figures"][0]]
    rows = [["pattern", "size", "bytes", "Coracle", *(word for peer in peers for word in (PEERS[peer], "ratio"))]]
    for pattern, figures in by_pattern(report["figures"]).items():
        for figure in figures:
            row = [pattern, figure["size"], f"{figure['bytes']:,}", microseconds(figure[OURS]["median_ns"])]
            for peer in peers:
                row += [microseconds(figure[peer]["median_ns"]), f"{figure['ratios'][peer]:.2f}"]
            rows.append(row)
    return markdown(rows)


def ways_table(report):
    ways = [way for way in (AUTOMATIC, *FIXED, BY_HAND, BY_LIBRARY) if way in report["figures"][0]["ways"]]
    rows = [["pattern", "size", "bytes", *ways, "best fixed", "chosen / best"]]
    for pattern, figures in by_pattern(report["figures"]).items():
        for figure in figures:
            best, nanoseconds = best_of(figure["ways"])
            rows.append([pattern, figure["size"], f"{figure['bytes']:,}",
                         *(microseconds(figure["ways"][way]) if way in figure["ways"] else "–" for way in ways), best,
                         f"{figure['ways'][AUTOMATIC] / nanoseconds:.2f}"])
    return markdown(rows)


def spread(values):
    """The geometric mean, and from the least to the most."""
    return f"{geometric_mean(values):.2f}", f"{min(values):.2f}–{max(values):.2f}"


def ways_summary(report):
    figures = report["figures"]
    rows = [["", "geometric mean", "from – to", "figures"]]

    def add(what, pairs):
        values = [more / less for more, less in pairs]
        if values:
            rows.append([what, *spread(values), str(len(values))])

    all_others = (*FIXED, BY_HAND, BY_LIBRARY)
    for what, among in (("best fixed way", FIXED), ("best of all others", all_others)):
        for batches, times in (("", "ways"), (", fastest batches", "fastest")):
            add(f"chosen / {what}{batches}",
                [(figure[times][AUTOMATIC], best_of(figure[times], among)[1]) for figure in figures])
    for way in (*FIXED, BY_HAND, BY_LIBRARY):
        add(f"{way} / chosen", [(figure["ways"][way], figure["ways"][AUTOMATIC]) for figure in figures
                                if way in figure["ways"]])
    large = [figure for figure in figures if figure["bytes"] >= 128 * 1024]
    add("one-sided / cooperative, from 128 KiB", [(figure["ways"]["one-sided"], figure["ways"]["cooperative"])
                                                  for figure in large if "cooperative" in figure["ways"]])
    return markdown(rows)


def beside_paper(report):
    """How many times as long shared memory takes as the direct copy, by pattern, the sizes in order."""
    rows = [["pattern", "bytes", "shm / one-sided", "shm / cooperative"]]
    for pattern, figures in by_pattern(report["figures"]).items():
        sizes = [f"{figure['bytes']:,}" for figure in figures]
        cells = [" ".join(f"{figure['ways']['shm'] / figure['ways'][way]:.2f}" for figure in figures)
                 for way in ("one-sided", "cooperative")]
        rows.append([pattern, f"{sizes[0]} … {sizes[-1]}", *cells])
    return markdown(rows)


def data_link(path):
    return f"The data is in [data/{path.name}](data/{path.name})."


def put(document, name, *paragraphs):
    """Replaces what stands between the marks of this name."""
    words = "\n\n".join(paragraphs)
    marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
    pattern = re.escape(marks[0]) + ".*?" + re.escape(marks[1])
    found, count = re.subn(pattern, lambda _: f"{marks[0]}\n{words}\n{marks[1]}", document, flags=re.DOTALL)
    if count != 1:
        sys.exit(f"{DOCUMENT}: the marks {marks[0]} … {marks[1]} stand there {count} times, not once")
    return found


def write():
    document = DOCUMENT.read_text(encoding="utf-8")
    if PEERS_DATA.exists():
        report = load(PEERS_DATA)
        document = put(document, "peers in short", markdown(summary_rows(report["summary"])),
                       "![Time of a message by size, for each pattern](datatypes.svg)")
        document = put(document, "peers", peers_table(report), data_link(PEERS_DATA))
    if WAYS_DATA.exists():
        report = load(WAYS_DATA)
        document = put(document, "ways in short", ways_summary(report),
                       "![Time of a message by every way, divided by that through shared memory](datatypes-ways.svg)")
        document = put(document, "the paper", beside_paper(report))
        document = put(document, "ways", ways_table(report), data_link(WAYS_DATA))
    DOCUMENT.write_text(document, encoding="utf-8")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def draw():
    if PEERS_DATA.exists():
        save(RESULTS / "datatypes.svg", draw_peers(load(PEERS_DATA)))
    if WAYS_DATA.exists():
        save(RESULTS / "datatypes-ways.svg", draw_ways(load(WAYS_DATA)))


def measure(what=None):
    if what in (None, "peers"):
        measure_peers()
    if what in (None, "ways"):
        measure_ways()


def main(arguments):
    steps = {"measure": measure, "draw": draw, "write": write}
    if arguments == ["all"]:
        for step in steps.values():
            step()
    elif arguments[:1] == ["measure"] and arguments[1:] in ([], ["peers"], ["ways"]):
        measure(*arguments[1:])
    elif arguments in (["draw"], ["write"]):
        steps[arguments[0]]()
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
