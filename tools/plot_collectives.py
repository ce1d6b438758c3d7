#!/usr/bin/env python3
"""Draws collectives beside those of Open MPI and MPICH, by size and number of ranks, as SVG.

    tests/peers/compare-collectives --json collectives.json
    tools/plot_collectives.py collectives.json collectives.svg

Needs nothing but Python."""

import json
import math
import sys
from xml.sax.saxutils import escape

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
        self.x_low, self.x_high = math.log2(min(sizes)), math.log2(max(sizes))
        self.y_low, self.y_high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))

    def x(self, size):
        return self.left + (math.log2(size) - self.x_low) / max(self.x_high - self.x_low, 1) * PANEL_WIDTH

    def y(self, time):
        share = (math.log10(time) - self.y_low) / max(self.y_high - self.y_low, 1)
        return self.top + PANEL_HEIGHT * (1 - share)


def size_text(size):
    for unit, factor in (("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size // factor} {unit}"
    return f"{size} B"


def time_text(microseconds):
    for unit, factor in (("s", 1e6), ("ms", 1e3), ("µs", 1)):
        if microseconds >= factor:
            return f"{microseconds / factor:g} {unit}"
    return f"{microseconds * 1000:g} ns"


def line(x1, y1, x2, y2, style='stroke="#dddddd"'):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def text(x, y, words, anchor="start", style=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {style}>{escape(words)}</text>'


def grid(axes, sizes, is_first, is_last):
    for power in range(axes.y_low, axes.y_high + 1):
        at = axes.y(10.0**power)
        yield line(axes.left, at, axes.left + PANEL_WIDTH, at)
        if is_first:
            yield text(axes.left - 6, at + 4, time_text(10.0**power), "end")
    for size in sorted(sizes)[::2]:
        at = axes.x(size)
        yield line(at, axes.top, at, axes.top + PANEL_HEIGHT)
        if is_last:
            yield text(at, axes.top + PANEL_HEIGHT + 16, size_text(size), "middle")


def curve(axes, colour, points):
    path = " ".join(f"{axes.x(size):.1f},{axes.y(time):.1f}" for size, time in points)
    yield f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>'
    for size, time in points:
        yield f'<circle cx="{axes.x(size):.1f}" cy="{axes.y(time):.1f}" r="2.5" fill="{colour}"/>'


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
                yield from curve(axes, colour, points)


def draw(report):
    figures = report["figures"]
    numbers_of_ranks = sorted({figure["ranks"] for figure in figures})
    collectives = [name for name in COLLECTIVES if any(figure["collective"] == name for figure in figures)]
    width = LEFT + len(numbers_of_ranks) * (PANEL_WIDTH + GAP_X) - GAP_X + RIGHT
    height = TOP + len(collectives) * (PANEL_HEIGHT + GAP_Y) - GAP_Y + BOTTOM
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
    yield f'<rect width="{width}" height="{height}" fill="white"/>'
    yield text(LEFT, 28, "Collectives: time per operation by size", style='font-size="18"')
    yield text(LEFT, 48, f'{report["processor"]}, {report["cores"]} cores; medians of rounds in alternation; '
               "all_to_all: size per peer", style='fill="#555555"')
    for number, (colour, name) in enumerate(SERIES.values()):
        at = LEFT + 110 * number
        yield line(at, 68, at + 24, 68, f'stroke="{colour}" stroke-width="3"')
        yield text(at + 30, 72, name)
    for number, collective in enumerate(collectives):
        yield from row(figures, collective, number, numbers_of_ranks, number + 1 == len(collectives))
    yield "</svg>"


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        report = json.load(file)
    with open(arguments[1], "w", encoding="utf-8") as file:
        file.write("\n".join(draw(report)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
