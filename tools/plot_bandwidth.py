#!/usr/bin/env python3
"""Draws the bandwidth of transfers between nodes by size, beside plain sockets, as SVG.

    coracle bench put --nodes 2 --json put.json
    tools/plot_bandwidth.py put.json put.svg

Takes the tables of `put`, or of `get` where the file has only these. Needs nothing but Python."""

import math
import sys

from svg_plot import curve, key, line, main, page, scale, size_text, text

WIDTH, HEIGHT = 900, 560
LEFT, RIGHT, TOP, BOTTOM = 80, 30, 70, 60
STYLES = [  # by the order in which series are drawn: colour, width, dashes
    ("#0b5cad", 2.5, "none"),
    ("#c2571a", 2, "none"),
    ("#c2571a", 2, "7 4"),
    ("#6aa5dd", 2.5, "none"),
    ("#8a8a8a", 2, "none"),
]


def points(rows, value):
    """(bytes, GB/s) of each row; rows hold nanoseconds."""
    return [(row["bytes"], row["bytes"] / value(row)["median"]) for row in rows]


def series_of(tables):
    """Yields (name, points)."""
    by_title = {table["title"].split(";")[0]: table["rows"] for table in tables}
    verb = next(iter(by_title)).split()[0]
    many = by_title[f"{verb} by size, many under way"]
    blocking = [row for row in many if not row["name"].endswith("the same")]
    spinning = [row for row in many if row["name"].endswith("the same")]
    one = by_title[f"{verb} by size, each awaited before the next"]
    yield f"{verb}, many under way", points(blocking, lambda row: row)
    yield "sockets, a stream", points(blocking, lambda row: row["limit"])
    yield "sockets, a stream, spinning", points(spinning, lambda row: row["limit"])
    yield f"{verb}, each awaited", points(one, lambda row: row)
    yield "sockets, each answered by 8 B", points(one, lambda row: row["limit"])


class Axes:
    """Logarithmic both ways, with grid lines at powers of two and ten."""

    def __init__(self, all_points):
        self.sizes = [edge(size for size, _ in all_points) for edge in (min, max)]
        rates = [edge(math.log10(rate) for _, rate in all_points) for edge in (min, max)]
        self.powers = range(math.floor(rates[0]), math.ceil(rates[1]) + 1)
        self.x = scale(*self.sizes, LEFT, WIDTH - RIGHT, math.log2)
        self.y = scale(10.0 ** self.powers[0], 10.0 ** self.powers[-1], HEIGHT - BOTTOM, TOP, math.log10)

    def grid(self):
        first, last = (int(math.log2(size)) for size in self.sizes)
        for power in range(first, last + 1, 3):
            at = self.x(2**power)
            yield line(at, TOP, at, HEIGHT - BOTTOM)
            yield text(at, HEIGHT - BOTTOM + 20, size_text(2**power), "middle")
        for power in self.powers:
            at = self.y(10.0**power)
            yield line(LEFT, at, WIDTH - RIGHT, at)
            yield text(LEFT - 8, at + 4, rate_text(10.0**power), "end")


def rate_text(rate):
    return f"{rate:g} GB/s" if rate >= 1 else f"{rate * 1000:g} MB/s"


def plot(series):
    axes = Axes([point for _, data in series for point in data])
    yield from axes.grid()
    for (_, data), style in zip(series, STYLES):
        yield from curve(data, axes.x, axes.y, *style)
    for number, ((name, _), style) in enumerate(zip(series, STYLES)):
        yield from key(LEFT + 16, TOP + 20 + 20 * number, name, *style, length=36)


def draw(report):
    benchmarks = report["benchmarks"]
    tables = benchmarks["put"] if "put" in benchmarks else benchmarks["get"]
    where = tables[-1]["title"].split("; ")[1]
    subtitle = f'{report["processor"]}, {report["cores"]} cores; medians of one run'
    return page(WIDTH, HEIGHT, LEFT, f"Bandwidth by size, {where}", subtitle, plot(list(series_of(tables))))


if __name__ == "__main__":
    sys.exit(main(__doc__, draw, sys.argv[1:]))
