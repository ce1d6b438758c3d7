#!/usr/bin/env python3
"""Draws how the throughput of paged segments grows with the nodes, in virtual time, as SVG.

    coracle bench pages --place sim --network networks/fdr-infiniband.txt --json pages-sim.json
    tools/plot_pages.py pages-sim.json vgasnet.svg

Needs nothing but Python."""

import math
import sys

from svg_plot import curve, key, line, main, page, scale, text, upright

WIDTH, HEIGHT = 980, 900
COLUMNS, ROWS = 2, 2
LEFT, TOP, GAP = 80, 70, 70
CELL_WIDTH = (WIDTH - LEFT - 30 - GAP) / COLUMNS
CELL_HEIGHT = (HEIGHT - TOP - 130 - GAP) / ROWS
HOMES = [("one", "#0b5cad"), ("cyclic", "#c2571a")]
COOPERATION = [(True, 2.5, "none"), (False, 2, "7 4")]
PLACES = {"one": "homes on one node", "cyclic": "homes spread"}


def series_of(rows, part, data):
    """Yields (name, colour, width, dashes, points): (nodes, GB/s of all)."""
    for homes, colour in HOMES:
        chosen = [row for row in rows if (row["details"]["part"], row["details"].get("homes"),
                                          row["details"].get("data_per_cache")) == (part, homes, data)]
        for together, width, dashes in COOPERATION:
            points = [(row["details"]["nodes"], row["bytes"] / (row if together else row["limit"])["median"])
                      for row in chosen]
            name = f'{PLACES[homes]}, {"with" if together else "without"} cooperation'
            yield name, colour, width, dashes, sorted(points)


def cell(number, title, series):
    left = LEFT + number % COLUMNS * (CELL_WIDTH + GAP)
    top = TOP + number // COLUMNS * (CELL_HEIGHT + GAP)
    points = [point for *_, data in series for point in data]
    nodes = sorted({across for across, _ in points})
    powers = range(math.floor(math.log10(min(up for _, up in points))),
                   math.ceil(math.log10(max(up for _, up in points))) + 1)
    x = scale(nodes[0], nodes[-1], left, left + CELL_WIDTH, math.log2)
    y = scale(10.0 ** powers[0], 10.0 ** powers[-1], top + CELL_HEIGHT, top + 10, math.log10)
    yield text(left, top, title, style='font-size="14"')
    for count in nodes:
        yield line(x(count), top + 10, x(count), top + CELL_HEIGHT)
        yield text(x(count), top + CELL_HEIGHT + 18, str(count), "middle")
    for power in powers:
        yield line(left, y(10.0**power), left + CELL_WIDTH, y(10.0**power))
        yield text(left - 8, y(10.0**power) + 4, f"{10.0**power:g}", "end")
    yield text(left + CELL_WIDTH / 2, top + CELL_HEIGHT + 36, "nodes", "middle")
    yield upright(left - 48, top + CELL_HEIGHT / 2, "GB/s, all nodes")
    for _, colour, width, dashes, data in series:
        yield from curve(data, x, y, colour, width, dashes)


def body(rows):
    kinds = [(part, data) for part in ("sequential", "random")
             for data in sorted({row["details"]["data_per_cache"] for row in rows
                                 if row["details"]["part"] == part})]
    for number, (part, data) in enumerate(kinds):
        series = list(series_of(rows, part, data))
        yield from cell(number, f"{part} reads, {data:g} x a cache", series)
    for number, (name, colour, width, dashes, _) in enumerate(series):
        yield from key(LEFT + number % 2 * 400, HEIGHT - 40 + number // 2 * 20, name, colour, width, dashes)


def draw(report):
    rows = [row for table in report["benchmarks"]["pages"] for row in table["rows"] if "details" in row]
    subtitle = "All nodes read the same data once; virtual time, networks/fdr-infiniband.txt, SSD of 510 MB/s"
    return page(WIDTH, HEIGHT, LEFT, "Paged segments by number of nodes", subtitle, body(rows))


if __name__ == "__main__":
    sys.exit(main(__doc__, draw, sys.argv[1:]))
