#!/usr/bin/env python3
"""Helper of compare-messages. `rows FILE`: "NAME BYTES NANOSECONDS" from the JSON of `coracle bench am`. `table FILE`:
the table of all such lines, medians by name and size, and how many times longer the fastest peer takes than Coracle."""

import collections
import json
import statistics
import sys

OURS = {"request": "request", "long request": "long", "request and reply": "reply"}
LIMIT = "limit"


def print_rows(path):
    with open(path, encoding="utf-8") as file:
        tables = json.load(file)["benchmarks"]["am"]
    for row in (row for table in tables for row in table["rows"]):
        kind, _, size = row["name"].partition(", ")
        if kind not in OURS or not size[:1].isdigit():
            continue
        if kind == "request":
            print(LIMIT, int(row["bytes"]), row["limit"]["median"])
        print(OURS[kind], int(row["bytes"]), row["median"])


def print_table(path):
    samples = collections.defaultdict(list)
    names = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, size, value = line.split()
            samples[name, int(size)].append(float(value))
            if name not in names:
                names.append(name)
    peers = [name for name in names if name not in OURS.values() and name != LIMIT]
    columns = [LIMIT, *OURS.values(), *peers]
    print(f"{'bytes':>8}" + "".join(f"{name.replace('_', ' '):>10}" for name in columns) + "  fastest peer / request")
    sizes = {size for name, size in samples if name in peers} or {size for _, size in samples}
    for size in sorted(sizes):
        medians = {name: statistics.median(samples[name, size]) for name in columns if samples.get((name, size))}
        cells = (f"{medians[name]:>10.0f}" if name in medians else f"{'-':>10}" for name in columns)
        fastest = min((medians[name] for name in peers if name in medians), default=None)
        ratio = f"{fastest / medians['request']:>10.2f}" if fastest and "request" in medians else ""
        print(f"{size:>8}" + "".join(cells) + ratio)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("rows", "table"):
        sys.exit("usage: summarise.py rows|table FILE")
    (print_rows if sys.argv[1] == "rows" else print_table)(sys.argv[2])


if __name__ == "__main__":
    main()
