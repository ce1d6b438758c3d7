#!/usr/bin/env python3
"""Compares the speed of two builds: runs `coracle bench` of both in turn, benchmark by benchmark, so that both see the same
machine, and tells, row by row, how many times slower the new one is: the median of the ratios of the rounds. Rounds that
met another state of the machine before than behind are left out (tests/peers/turns.py); there are at most three times
--rounds.

    tools/compare_builds.py /tmp/old/build build loop put am --rounds 7 -- --quick

What stands behind `--` goes to both. Prints for each benchmark the geometric mean of its rows, and all rows that are
slower or faster by more than --beyond per cent. Exit status 1 if a row is slower by more than that."""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "peers"))
from turns import Crossings, take_turns  # noqa: E402

RATES = ("/s",)  # units of which more is better end so
TIMES = ("ns", "us", "ms", "s")


def rows_of(document):
    """{(benchmark, section, row): (median, unit)}; rows of one name are told apart by a number."""
    found = {}
    for benchmark, sections in document["benchmarks"].items():
        for section in sections:
            for row in section["rows"]:
                name, number = row["name"], 1
                while (benchmark, section["title"], name) in found:
                    number += 1
                    name = f"{row['name']} ({number})"
                found[benchmark, section["title"], name] = (row["median"], row["unit"])
    return found


def run(build, names, options):
    with tempfile.NamedTemporaryFile(suffix=".json") as figures:
        command = [build / "apps" / "coracle", "bench", *names, "--json", figures.name, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} has failed:\n{done.stderr}")
        return rows_of(json.loads(pathlib.Path(figures.name).read_text()))


def times_slower(old, new, unit):
    """None for what is no speed."""
    if old <= 0 or new <= 0:
        return None
    if unit.endswith(RATES):
        return old / new
    return new / old if unit in TIMES else None


def ratios_of(rounds):
    """{row: the ratios of all rounds}"""
    ratios = {}
    for old, new in rounds:
        for row in old.keys() & new.keys():
            ratio = times_slower(old[row][0], new[row][0], old[row][1])
            if ratio is not None:
                ratios.setdefault(row, []).append(ratio)
    return ratios


def tell(ratios, beyond):
    medians = {row: statistics.median(values) for row, values in ratios.items()}
    print("Old and new in turn; times slower: the median of the rounds' ratios\n")
    print("| benchmark | rows | geometric mean | slowest row | fastest row |\n|---|---:|---:|---:|---:|")
    for benchmark in sorted({row[0] for row in medians}):
        of_it = [value for row, value in medians.items() if row[0] == benchmark]
        mean = math.exp(statistics.fmean(map(math.log, of_it)))
        print(f"| {benchmark} | {len(of_it)} | {mean:.3f} | {max(of_it):.3f} | {min(of_it):.3f} |")
    outside = {row: value for row, value in medians.items() if not 1 - beyond <= value <= 1 + beyond}
    print(f"\nRows that differ by more than {beyond:.0%}:\n")
    print("| benchmark | row | times slower | lowest | highest |\n|---|---|---:|---:|---:|")
    for row, value in sorted(outside.items(), key=lambda each: -each[1]):
        print(f"| {row[0]} | {row[1]}: {row[2]} | {value:.3f} | {min(ratios[row]):.3f} | {max(ratios[row]):.3f} |")
    return any(value > 1 + beyond for value in medians.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path, help="build directory of the old tree")
    parser.add_argument("new", type=pathlib.Path, help="build directory of the new one")
    parser.add_argument("names", nargs="+", help="benchmarks")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beyond", type=float, default=5, help="per cent (default: 5)")
    words = sys.argv[1:]
    options = words[words.index("--") + 1:] if "--" in words else []
    given = parser.parse_args(words[: words.index("--")] if "--" in words else words)
    ratios = {}
    crossings = Crossings()
    for name in given.names:
        turns = take_turns(lambda: run(given.old.resolve(), [name], options), lambda: run(given.new.resolve(), [name], options),
                           given.rounds, crossings)
        turns.complain(name)
        rounds = [pair for _, pairs in turns.states() for pair in pairs]
        print(f"{name}: {len(rounds)} rounds, {turns.left_out} left out", file=sys.stderr, flush=True)
        ratios |= ratios_of(rounds)
    return 1 if tell(ratios, given.beyond / 100) else 0


if __name__ == "__main__":
    sys.exit(main())
