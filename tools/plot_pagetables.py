#!/usr/bin/env python3
"""Draws how page tables grow with the number of ranks, in one address space and in many, as SVG.

    coracle bench pagetables --json pagetables.json
    tools/plot_pagetables.py pagetables.json pagetables.svg

Needs nothing but Python."""

import sys

from svg_plot import curve, key, line, main, page, scale, text

WIDTH, HEIGHT = 900, 420
TOP, BOTTOM, LEFT, GAP = 90, 60, 70, 80
PANEL = (WIDTH - LEFT - GAP - 30) / 2
MIB = 2**20
COLOURS = {"pvas": "#0b5cad", "process": "#c2571a"}
NAMES = {"pvas": "pvas: one address space", "process": "process: shared memory"}


def panels_of(tables):
    """Yields (size of a block, {placement: [(ranks, MiB)]}, {placement: (per rank, per pair)})."""
    for found, growth in zip(tables[0::2], tables[1::2]):
        series, fits = {}, {}
        for row in found["rows"]:
            details = row["details"]
            if details["quantity"] == "page tables":
                series.setdefault(details["placement"], []).append((details["ranks"], details["value"] / MIB))
        for row in growth["rows"]:
            details = row["details"]
            if "growth" in details:
                fits.setdefault(details["placement"], []).append(details["value"] / MIB)
        yield found["title"].split("blocks of ")[1].split(":")[0], series, fits


def step_of(most):
    """Between lines of the grid: 1, 2 or 5 times a power of ten, so that there are four to eight."""
    step = 1e-3
    while True:
        for factor in (1, 2, 5):
            if most / (step * factor) <= 8:
                return step * factor
        step *= 10


def panel(left, block, series, fits):
    ranks = [number for points in series.values() for number, _ in points]
    most = max(value for points in series.values() for _, value in points)
    step = step_of(most)
    across = scale(0, max(ranks), left, left + PANEL)
    up = scale(0, most * 1.05, HEIGHT - BOTTOM, TOP)
    for number in sorted(set(ranks)):
        yield line(across(number), TOP, across(number), HEIGHT - BOTTOM)
        yield text(across(number), HEIGHT - BOTTOM + 20, str(number), "middle")
    for tick in range(int(most * 1.05 / step) + 1):
        yield line(left, up(tick * step), left + PANEL, up(tick * step))
        yield text(left - 6, up(tick * step) + 4, f"{tick * step:g}", "end")
    yield text(left, TOP - 12, f"blocks of {block}; MiB by ranks")
    for number, (placement, points) in enumerate(series.items()):
        linear, quadratic = fits[placement]
        fitted = [(n, linear * n + quadratic * n * n) for n in range(0, max(ranks) + 1, 4)]
        yield from curve(fitted, across, up, COLOURS[placement], 1.5, "5 4", 0)
        yield from curve(points, across, up, COLOURS[placement], 0, "none", 4)
        words = f"{NAMES[placement]}; {linear * 1024:.1f} KiB n {quadratic * MIB:+.0f} B n²"
        yield from key(left + 12, TOP + 20 + 20 * number, words, COLOURS[placement])


def plot(tables):
    for number, (block, series, fits) in enumerate(panels_of(tables)):
        yield from panel(LEFT + number * (PANEL + GAP), block, series, fits)


def draw(report):
    subtitle = f'{report["processor"]}, {report["kernel"]}; dots: measured, dashed: least squares'
    body = list(plot(report["benchmarks"]["pagetables"]))
    return page(WIDTH, HEIGHT, LEFT, "Page tables of a job in which all send to all", subtitle, body)


if __name__ == "__main__":
    sys.exit(main(__doc__, draw, sys.argv[1:]))
