#!/usr/bin/env python3
"""Helper of compare-messages. `rows FILE`: "NAME BYTES NANOSECONDS" from the JSON of `coracle bench pingpong`. `table
FILE [JSON]`: the table of all such lines, medians by name and size, and how many times longer the peers take than
Coracle; JSON gets the same figures."""

import collections
import json
import os
import platform
import statistics
import sys

from summarise_collectives import processor

OURS = "Coracle"
LIMIT = "limit"


def print_rows(path):
    with open(path, encoding="utf-8") as file:
        tables = json.load(file)["benchmarks"]["pingpong"]
    for row in (row for table in tables for row in table["rows"]):
        print(LIMIT, int(row["bytes"]), row["limit"]["median"])
        print(OURS, int(row["bytes"]), row["median"])


def save_figures(samples, peers, path):
    figures = []
    for size in sorted({size for _, size in samples}):
        entry = {"bytes": size}
        for name in (LIMIT, OURS, *peers):
            values = samples.get((name, size))
            if values:
                entry[key_of(name)] = {"median_ns": statistics.median(values), "min_ns": min(values),
                                       "max_ns": max(values), "rounds": len(values)}
        ours = entry.get(key_of(OURS))
        entry["ratios"] = {key_of(name): entry[key_of(name)]["median_ns"] / ours["median_ns"]
                           for name in peers if ours and key_of(name) in entry}
        figures.append(entry)
    result = {"processor": processor(), "cores": os.cpu_count(), "kernel": platform.release(),
              "load_average": os.getloadavg()[0], "figures": figures}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


def key_of(name):
    """As the other comparisons name the programs in their JSON."""
    return name.replace("_", "").lower()


def print_table(path, target=None):
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
    if target:
        save_figures(samples, peers, target)


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "rows":
        print_rows(arguments[1])
    elif len(arguments) in (2, 3) and arguments[0] == "table":
        print_table(*arguments[1:])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
