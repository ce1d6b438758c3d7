#!/usr/bin/env python3
"""Helper of compare-datatypes. `rows FILE`: a line of JSON per size and way, as tests/peers/ddt.c prints them, from the
JSON of `coracle bench ddt`. `table FIGURES [JSON]`: the table (Markdown, µs) of all such lines, medians over rounds, and
how many times longer the peers take; JSON gets the same figures. Ends with status 3 when a peer was faster, and refuses
figures of programs whose patterns differ in any byte or in their order.

The machine is not always in the same state: its two cores may share a core, a cache or less of the host's (a cache line
then takes 14, 34 or 160 ns to change hands, by one loop in all programs), and may be moved when a program starts. Each run tells how long a line took,
and from that alone, in the same way for all programs, follows which runs of a figure are compared:
1. Runs of one state: between whose hand-overs no factor is above STATE_WIDTH. Of all such sets the one with most runs of
   the program that has fewest in it; it must be RUNS_MIN, and a third of the runs.
2. Where no state has so many, like with like: as many sets as there can be of one run of each program, no factor above
   STATE_WIDTH between them; so all programs have as many runs, and as many of each state. As many as in 1 are needed.
3. Else all: the figure says little, and is counted as such."""

import collections
import json
import math
import os
import platform
import statistics
import sys

from summarise_collectives import microseconds, processor

OURS = "coracle"
PEERS = {"openmpi": "Open MPI", "mpich": "MPICH"}
CHOSEN = {OURS: "automatic"}  # the peers' way is "datatype"
BY_HAND = "by-hand"
STATE_WIDTH = 1.25
RUNS_MIN = 3
SHAPE = ("bytes", "low", "high", "fingerprint")


def print_rows(path):
    with open(path, encoding="utf-8") as file:
        tables = json.load(file)["benchmarks"]["ddt"]
    for row in (row for table in tables for row in table["rows"] if "details" in row):
        details = row["details"]
        state = {"hand_over_ns": details.pop("hand_over_ns", None)}
        ways = {details["way"]: row, **{other["name"]: other for other in row.get("others", [])}}
        for way, figure in ways.items():
            print(json.dumps({**details, **state, "way": way, "median_ns": figure["median"], "min_ns": figure["min"],
                              "max_ns": figure["max"]}))


def check_shape(known, line):
    """`known`: {(pattern, size): (program, shape)}."""
    key = line["pattern"], line["size"]
    shape = {side: {name: line[side][name] for name in SHAPE} for side in ("send", "receive")}
    program, first = known.setdefault(key, (line["program"], shape))
    if shape != first:
        sys.exit(f"{' '.join(key)} is not the same pattern: {program} has {first}, {line['program']} has {shape}")


def read_figures(path):
    """Returns {(pattern, size): {program: {way: [(median, least, hand-over)]}}}, in the order of the file, and {(pattern,
    size): bytes and blocks}."""
    figures = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    facts = collections.defaultdict(dict)
    known = {}
    with open(path, encoding="utf-8") as file:
        for line in map(json.loads, file):
            check_shape(known, line)
            key = line["pattern"], line["size"]
            facts[key]["bytes"] = line["bytes"]
            if "blocks" in line["send"]:
                facts[key]["blocks"] = [line["send"]["blocks"], line["receive"]["blocks"]]
            figures[key][line["program"]][line["way"]].append(
                (line["median_ns"], line["min_ns"], line["hand_over_ns"]))
    return figures, facts


def runs_of_one_state(times):
    """`times`: {program: hand-over of each run}. Gives {program: the indexes of its runs} of 1 above, however few."""
    states = []
    for least in sorted(time for of_program in times.values() for time in of_program):
        runs = {program: [index for index, time in enumerate(of_program) if least <= time <= STATE_WIDTH * least]
                for program, of_program in times.items()}
        counts = [len(indexes) for indexes in runs.values()]
        states.append((min(counts), sum(counts), -least, runs))  # of two alike the one with the shorter hand-overs
    return max(states, key=lambda state: state[:3])[3]


def runs_of_alike(times):
    """The same for 2. Going up, no set of runs is missed: a run that is too short for one of the others' shortest is so for
    all that are left of them."""
    left = {program: sorted(range(len(of_program)), key=of_program.__getitem__, reverse=True)
            for program, of_program in times.items()}
    runs = {program: [] for program in times}
    while all(left.values()):
        shortest = {program: times[program][indexes[-1]] for program, indexes in left.items()}
        if max(shortest.values()) <= STATE_WIDTH * min(shortest.values()):
            for program, indexes in left.items():
                runs[program].append(indexes.pop())
        else:
            left[min(shortest, key=shortest.get)].pop()
    return runs


def runs_to_compare(times):
    """Gives {program: the indexes of its runs}, and why these: "one state", "alike" or "all"."""
    all_runs = {program: list(range(len(of_program))) for program, of_program in times.items()}
    if any(time is None for of_program in times.values() for time in of_program):
        return all_runs, "all"
    rounds = min(map(len, times.values()))
    needed = min(max(RUNS_MIN, math.ceil(rounds / 3)), rounds)
    for choose, why in ((runs_of_one_state, "one state"), (runs_of_alike, "alike")):
        runs = choose(times)
        if min(map(len, runs.values())) >= needed:
            return runs, why
    return all_runs, "all"


def figure_of(rounds, indexes):
    rounds = [rounds[index] for index in indexes]
    medians = [median for median, *_ in rounds]
    return {"median_ns": statistics.median(medians), "min_ns": min(medians), "max_ns": max(medians),
            "fastest_batch_ns": min(least for _, least, _ in rounds), "rounds": len(rounds)}


def entry_of(key, programs, facts):
    entry = {"pattern": key[0], "size": key[1], **facts}
    chosen = {program: ways[CHOSEN.get(program, "datatype")] for program, ways in programs.items()}
    times = {program: [time for *_, time in rounds] for program, rounds in chosen.items()}
    runs, entry["compared"] = runs_to_compare(times)
    known = [times[program][index] for program, indexes in runs.items() for index in indexes]
    entry["hand_over_ns"] = None if None in known else [min(known), max(known)]
    for program, ways in programs.items():
        entry[program] = {**figure_of(chosen[program], runs[program]), BY_HAND: figure_of(ways[BY_HAND], runs[program])}
    ours = entry[OURS]["median_ns"]
    entry["ratios"] = {peer: entry[peer]["median_ns"] / ours for peer in PEERS if peer in entry}
    entry["by_hand_ratio"] = entry[OURS][BY_HAND]["median_ns"] / ours
    # Says more where other programs run beside: half of the batches then have met them.
    entry["fastest_batch_ratios"] = {peer: entry[peer]["fastest_batch_ns"] / entry[OURS]["fastest_batch_ns"]
                                     for peer in PEERS if peer in entry}
    return entry


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def summary_of(entries):
    """For each peer, the faster of all, each by its fastest batches, and our own loops by hand."""
    columns = {peer: [entry["ratios"][peer] for entry in entries] for peer in PEERS if peer in entries[0]}
    if columns:
        columns["fastest"] = [min(entry["ratios"].values()) for entry in entries]
    for peer in PEERS:
        if peer in entries[0]:
            columns[f"{peer}, fastest batches"] = [entry["fastest_batch_ratios"][peer] for entry in entries]
    columns[BY_HAND] = [entry["by_hand_ratio"] for entry in entries]
    return {name: {"geometric_mean": geometric_mean(ratios), "least": min(ratios), "most": max(ratios),
                   "missed": sum(ratio <= 1 for ratio in ratios), "figures": len(ratios)}
            for name, ratios in columns.items()}


def table_rows(entries):
    """Cells of a table of all figures; `entries` as in the JSON."""
    peers = [peer for peer in PEERS if peer in entries[0]]
    yield ["pattern", "size", "bytes", "blocks", "Coracle", *(PEERS[peer] for peer in peers),
           *(f"{PEERS[peer]} / Coracle" for peer in peers), "Coracle by hand",
           *(f"{PEERS[peer]} by hand" for peer in peers)]
    for entry in entries:
        programs = [OURS, *peers]
        blocks = sorted(set(entry.get("blocks", [])))
        yield [entry["pattern"], entry["size"], f"{entry['bytes']:,}", " to ".join(f"{block:,}" for block in blocks),
               *(microseconds(entry[program]["median_ns"]) for program in programs),
               *(f"{entry['ratios'][peer]:.2f}" for peer in peers),
               *(microseconds(entry[program][BY_HAND]["median_ns"]) for program in programs)]


def summary_rows(summary):
    yield ["", "geometric mean", "least", "most", "not faster"]
    names = {**PEERS, "fastest": "the faster of them", BY_HAND: "Coracle by hand",
             **{f"{peer}, fastest batches": f"fastest batches: {name}" for peer, name in PEERS.items()}}
    for name, found in summary.items():
        yield [f"{names[name]} / Coracle", f"{found['geometric_mean']:.2f}", f"{found['least']:.2f}",
               f"{found['most']:.2f}", f"{found['missed']} of {found['figures']}"]


def markdown(rows):
    rows = list(rows)
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def print_table(source, target):
    figures, facts = read_figures(source)
    entries = [entry_of(key, programs, facts[key]) for key, programs in figures.items()]
    summary = summary_of(entries)
    load = os.getloadavg()[0]
    print(f"µs, half a round trip, medians of rounds; {processor()}, {os.cpu_count()} cores, load average {load:.1f}\n")
    print(markdown(table_rows(entries)))
    print(f"\n{markdown(summary_rows(summary))}")
    runs = [min(entry[program]["rounds"] for program in (OURS, *PEERS) if program in entry) for entry in entries]
    how = collections.Counter(entry["compared"] for entry in entries)
    print(f"\nCompared are {min(runs)} to {max(runs)} runs of each program: of {how['one state']} figures those of one state "
          f"of the machine, of {how['alike']} as many of each state, of {how['all']} all, whatever their state.")
    if target:
        result = {"processor": processor(), "cores": os.cpu_count(), "kernel": platform.release(), "load_average": load,
                  "summary": summary, "figures": entries}
        with open(target, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    return 3 if any(ratio <= 1 for entry in entries for ratio in entry["ratios"].values()) else 0


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "rows":
        print_rows(arguments[1])
        return 0
    if len(arguments) in (2, 3) and arguments[0] == "table":
        return print_table(arguments[1], arguments[2] if len(arguments) == 3 else None)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
