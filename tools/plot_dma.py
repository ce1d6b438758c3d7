#!/usr/bin/env python3
"""Draws what PEACH2's model says of one channel and of several, as SVG.

    coracle bench dma --json dma.json
    tools/plot_dma.py dma.json tca.svg

Needs nothing but Python."""

import math
import sys

from svg_plot import curve, key, line, main, page, scale, size_text, text, upright

WIDTH, HEIGHT = 980, 900
LEFT, TOP, GAP = 80, 70, 80
CELL_WIDTH = (WIDTH - LEFT - 30 - GAP) / 2
CELL_HEIGHT = (HEIGHT - TOP - 150 - GAP) / 2
COLOURS = ["#0b5cad", "#c2571a", "#2e8b57", "#7a4fa3"]


def rate(row, of):
    """GB/s."""
    return row["bytes"] / of["median"]


def other(row, name):
    return next(way for way in row["others"] if way["name"] == name)


def cell(number, title, series, across_text):
    """`series`: (name, colour, dashes, points): (size, GB/s)."""
    left = LEFT + number % 2 * (CELL_WIDTH + GAP)
    top = TOP + number // 2 * (CELL_HEIGHT + GAP + 60)
    points = [point for *_, data in series for point in data]
    sizes = sorted({across for across, _ in points})
    most = math.ceil(max(up for _, up in points) * 2) / 2
    x = scale(sizes[0], sizes[-1], left, left + CELL_WIDTH, math.log2)
    y = scale(0, most, top + CELL_HEIGHT, top + 10)
    yield text(left, top, title, style='font-size="14"')
    for size in sizes[::2]:
        yield line(x(size), top + 10, x(size), top + CELL_HEIGHT)
        yield text(x(size), top + CELL_HEIGHT + 18, across_text(size), "middle", 'font-size="10"')
    for half in range(int(most * 2) + 1):
        yield line(left, y(half / 2), left + CELL_WIDTH, y(half / 2))
        yield text(left - 8, y(half / 2) + 4, f"{half / 2:g}", "end")
    yield upright(left - 40, top + CELL_HEIGHT / 2, "GB/s")
    for index, (name, colour, dashes, data) in enumerate(series):
        yield from curve(sorted(data), x, y, colour, 2, dashes)
        yield from key(left + index % 2 * CELL_WIDTH / 2, top + CELL_HEIGHT + 42 + index // 2 * 18, name, colour, 2,
                       dashes)


def body(rows):
    def of(figure):
        return [row for row in rows if row["details"]["figure"] == figure]

    channels = [(f"channel {number}", COLOURS[number], "none",
                 [(row["details"]["bytes"], rate(row, row)) for row in of(1)
                  if row["details"]["channel"] == number]) for number in range(4)]
    yield from cell(0, "Each channel by itself (Fig. 1)", channels, size_text)

    def ways(figure, names):
        chosen = of(figure)
        yield ("as learned, of 4", COLOURS[0], "none",
               [(row["details"]["bytes"], rate(row, row)) for row in chosen])
        yield ("1 channel", COLOURS[1], "none", [(row["details"]["bytes"], rate(row, row["limit"])) for row in chosen])
        for index, name in enumerate(names):
            yield (name, COLOURS[2 + index], "6 4",
                   [(row["details"]["bytes"], rate(row, other(row, name))) for row in chosen])

    yield from cell(1, "One way of a ping-pong (Fig. 5)", list(ways(5, ["2 channels", "2 of 32 tags"])), size_text)
    faces = []
    for index, face in enumerate(["contiguous", "block-stride", "strided (packed)"]):
        chosen = [row for row in of(6) if row["details"]["face"] == face]
        faces.append((face, COLOURS[index], "none", [(row["details"]["n"], rate(row, row)) for row in chosen]))
        faces.append((f"{face}, 1 channel", COLOURS[index], "6 4",
                      [(row["details"]["n"], rate(row, row["limit"])) for row in chosen]))
    yield from cell(2, "Faces of an N x N x N array (Fig. 6)", faces, lambda size: f"N = {size}")
    yield from cell(3, "Transfers that follow at once", list(ways("in a row", ["2 of 32 tags"])), size_text)


def draw(report):
    rows = [row for table in report["benchmarks"]["dma"] for row in table["rows"]]
    return page(WIDTH, HEIGHT, LEFT, "DMA channels of PEACH2, by its model", "virtual time; see docs/results/tca.md",
                body(rows))


if __name__ == "__main__":
    sys.exit(main(__doc__, draw, sys.argv[1:]))
