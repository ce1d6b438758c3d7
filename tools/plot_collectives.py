#!/usr/bin/env python3
"""Draws collectives beside those of Open MPI and MPICH, by size and number of ranks, as SVG.

    tests/peers/compare-collectives --json collectives.json
    tools/plot_collectives.py collectives.json collectives.svg

Needs nothing but Python."""

import math
import sys

from svg_plot import curve, key, line, main, page, scale, size_text, text

PANEL_WIDTH, PANEL_HEIGHT = 250, 190
LEFT, TOP, GAP_X, GAP_Y, BOTTOM, RIGHT = 70, 100, 14, 30, 40, 20
SERIES = {  # colour, name
    "coracle": ("#0b5cad", "Coracle"),
    "openmpi": ("#c2571a", "Open MPI"),
    "mpich": ("#8a8a8a", "MPICH"),
}
COLLECTIVES = ("broadcast", "all_reduce", "all_to_all")


class Axes:
    """Of one panel; logarithmic both ways."""

    def __init__(self, left, top, sizes, times):
        self.left, self.top = left, top
        self.powers = range(math.floor(math.log10(min(times))), math.ceil(math.log10(max(times))) + 1)
        self.x = scale(min(sizes), max(sizes), left, left + PANEL_WIDTH, math.log2)
        self.y = scale(10.0 ** self.powers[0], 10.0 ** self.powers[-1], top + PANEL_HEIGHT, top, math.log10)


def time_text(microseconds):
    for unit, factor in (("s", 1e6), ("ms", 1e3), ("µs", 1)):
        if microseconds >= factor:
            return f"{microseconds / factor:g} {unit}"
    return f"{microseconds * 1000:g} ns"


def grid(axes, sizes, is_first, is_last):
    for power in axes.powers:
        at = axes.y(10.0**power)
        yield line(axes.left, at, axes.left + PANEL_WIDTH, at)
        if is_first:
            yield text(axes.left - 6, at + 4, time_text(10.0**power), "end")
    for size in sorted(sizes)[::2]:
        at = axes.x(size)
        yield line(at, axes.top, at, axes.top + PANEL_HEIGHT)
        if is_last:
            yield text(at, axes.top + PANEL_HEIGHT + 16, size_text(size), "middle")


def points_of(figures, program, collective, ranks):
    """(bytes, µs)."""
    return [(figure["bytes"], figure[program]["median_ns"] / 1000) for figure in figures
            if figure["collective"] == collective and figure["ranks"] == ranks and program in figure]


def row(figures, collective, number, numbers_of_ranks, is_last):
    here = [figure for figure in figures if figure["collective"] == collective]
    sizes = {figure["bytes"] for figure in here}
    times = [figure[program]["median_ns"] / 1000 for figure in here for program in SERIES if program in figure]
    top = TOP + number * (PANEL_HEIGHT + GAP_Y)
    for column, ranks in enumerate(numbers_of_ranks):
        axes = Axes(LEFT + column * (PANEL_WIDTH + GAP_X), top, sizes, times)
        yield from grid(axes, sizes, column == 0, is_last)
        yield text(axes.left + 4, top - 6, f"{collective}, {ranks} ranks", style='font-weight="bold"')
        for program, (colour, _) in SERIES.items():
            points = points_of(figures, program, collective, ranks)
            if points:
                yield from curve(points, axes.x, axes.y, colour, radius=2.5)


def plot(figures, collectives, numbers_of_ranks):
    for number, (colour, name) in enumerate(SERIES.values()):
        yield from key(LEFT + 110 * number, 72, name, colour, width=3, length=24)
    for number, collective in enumerate(collectives):
        yield from row(figures, collective, number, numbers_of_ranks, number + 1 == len(collectives))


def draw(report):
    figures = report["figures"]
    numbers_of_ranks = sorted({figure["ranks"] for figure in figures})
    collectives = [name for name in COLLECTIVES if any(figure["collective"] == name for figure in figures)]
    width = LEFT + len(numbers_of_ranks) * (PANEL_WIDTH + GAP_X) - GAP_X + RIGHT
    height = TOP + len(collectives) * (PANEL_HEIGHT + GAP_Y) - GAP_Y + BOTTOM
    subtitle = (f'{report["processor"]}, {report["cores"]} cores; medians of rounds in alternation; '
                "all_to_all: size per peer")
    return page(width, height, LEFT, "Collectives: time per operation by size", subtitle,
                plot(figures, collectives, numbers_of_ranks))


if __name__ == "__main__":
    sys.exit(main(__doc__, draw, sys.argv[1:]))
