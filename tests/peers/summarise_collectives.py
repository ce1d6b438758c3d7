#!/usr/bin/env python3
"""Helper of compare-collectives: `summarise_collectives.py FIGURES REMARKS [JSON]` prints the tables (Markdown, µs) of
lines "PROGRAM COLLECTIVE RANKS BYTES NANOSECONDS": medians over rounds, and how many times longer each peer takes. JSON
gets the same figures."""

import collections
import json
import os
import platform
import statistics
import sys

OURS = "coracle"
PEERS = {"openmpi": "Open MPI", "mpich": "MPICH"}
DIGITS = 3


def read_figures(path):
    """Returns {(collective, ranks, bytes): {program: [nanoseconds]}}, in the order of the file."""
    figures = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) != 5 or words[0] not in (OURS, *PEERS):
                sys.exit(f"{path}: expected a program's figure, not: {line.rstrip()}")
            figures[words[1], int(words[2]), int(words[3])][words[0]].append(float(words[4]))
    return figures


def entry_of(key, samples):
    collective, ranks, size = key
    entry = {"collective": collective, "ranks": ranks, "bytes": size}
    for program, values in samples.items():
        entry[program] = {"median_ns": statistics.median(values), "min_ns": min(values), "max_ns": max(values),
                          "rounds": len(values)}
    entry["ratios"] = {peer: entry[peer]["median_ns"] / entry[OURS]["median_ns"]
                       for peer in PEERS if peer in entry and OURS in entry}
    return entry


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def microseconds(nanoseconds):
    value = nanoseconds / 1000
    return f"{value:,.0f}" if value >= 10**(DIGITS - 1) else f"{value:.{DIGITS}g}"


def size_text(size):
    for unit, factor in (("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size // factor} {unit}"
    return f"{size} B" if size else "–"


def table_rows(entries):
    columns = ["ranks", "bytes", "Coracle"]
    for name in PEERS.values():
        columns += [name, f"{name} / Coracle"]
    yield columns
    yield ["---"] * len(columns)
    for entry in entries:
        row = [str(entry["ranks"]), size_text(entry["bytes"])]
        row.append(microseconds(entry[OURS]["median_ns"]) if OURS in entry else "–")
        for peer in PEERS:
            ratio = entry["ratios"].get(peer)
            row.append(microseconds(entry[peer]["median_ns"]) if peer in entry else "–")
            row.append(f"{ratio:,.0f}" if ratio and ratio >= 100 else f"{ratio:.2f}" if ratio else "–")
        yield row


def main(arguments):
    if len(arguments) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    entries = [entry_of(key, samples) for key, samples in read_figures(arguments[0]).items()]
    with open(arguments[1], encoding="utf-8") as file:
        remarks = sorted({line.strip() for line in file})
    load = os.getloadavg()[0]
    print(f"µs per operation, medians of rounds; {processor()}, {os.cpu_count()} cores, load average {load:.1f}")
    for collective in dict.fromkeys(entry["collective"] for entry in entries):
        print(f"\n{collective}\n")
        for row in table_rows([entry for entry in entries if entry["collective"] == collective]):
            print("| " + " | ".join(row) + " |")
    for remark in remarks:
        print(f"\n{remark}")
    if len(arguments) == 3:
        result = {"processor": processor(), "cores": os.cpu_count(), "kernel": platform.release(), "load_average": load,
                  "remarks": remarks, "figures": entries}
        with open(arguments[2], "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
