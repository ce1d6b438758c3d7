#!/usr/bin/env python3
"""Helper of compare-messages. `rows FILE`: "NAME BYTES NANOSECONDS" from the JSON of `coracle bench pingpong`. `table
FILE`: the table of all such lines, medians by name and size, and how many times longer the peers take than Coracle."""

import collections
import json
import statistics
import sys

OURS = "Coracle"
LIMIT = "limit"


def print_rows(path):
    with open(path, encoding="utf-8") as file:
        tables = json.load(file)["benchmarks"]["pingpong"]
    for row in (row for table in tables for row in table["rows"]):
        print(LIMIT, int(row["bytes"]), row["limit"]["median"])
        print(OURS, int(row["bytes"]), row["median"])


def print_table(path):
    samples = collections.defaultdict(list)
    names = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, size, value = line.split()
            samples[name, int(size)].append(float(value))
            if name not in names:
                names.append(name)
    peers = [name for name in names if name not in (OURS, LIMIT)]
    columns = [LIMIT, OURS, *peers]
    titles = [*columns, *(f"x {name}" for name in peers)]
    print(f"{'bytes':>9}" + "".join(f"{title.replace('_', ' '):>12}" for title in titles))
    for size in sorted({size for _, size in samples}):
        medians = {name: statistics.median(samples[name, size]) for name in columns if samples.get((name, size))}
        cells = [f"{medians[name]:,.0f}" if name in medians else "-" for name in columns]
        for name in peers:
            known = name in medians and OURS in medians
            cells.append(f"{medians[name] / medians[OURS]:.2f}" if known else "-")
        print(f"{size:>9}" + "".join(f"{cell:>12}" for cell in cells))


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("rows", "table"):
        sys.exit("usage: summarise.py rows|table FILE")
    (print_rows if sys.argv[1] == "rows" else print_table)(sys.argv[2])


if __name__ == "__main__":
    main()
