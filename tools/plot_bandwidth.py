#!/usr/bin/env python3
"""Draws the bandwidth of transfers between nodes by size, beside plain sockets, as SVG.

    coracle bench put --nodes 2 --json put.json
    tools/plot_bandwidth.py put.json put.svg

Takes the tables of `put`, or of `get` where the file has only these. Needs nothing but Python."""

import json
import math
import sys
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 900, 560
LEFT, RIGHT, TOP, BOTTOM = 80, 30, 70, 60
STYLES = [  # by the order in which series are drawn: colour, dashes, width
    ("#0b5cad", "", 2.5),
    ("#c2571a", "", 2),
    ("#c2571a", "7 4", 2),
    ("#6aa5dd", "", 2.5),
    ("#8a8a8a", "", 2),
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
        self.x_low, self.x_high = (math.log2(edge(size for size, _ in all_points)) for edge in (min, max))
        self.y_low = math.floor(math.log10(min(rate for _, rate in all_points)))
        self.y_high = math.ceil(math.log10(max(rate for _, rate in all_points)))

    def x(self, size):
        return LEFT + (math.log2(size) - self.x_low) / (self.x_high - self.x_low) * (WIDTH - LEFT - RIGHT)

    def y(self, rate):
        return HEIGHT - BOTTOM - (math.log10(rate) - self.y_low) / (self.y_high - self.y_low) * (HEIGHT - TOP - BOTTOM)

    def grid(self):
        for power in range(int(self.x_low), int(self.x_high) + 1, 3):
            at = self.x(2**power)
            yield line(at, TOP, at, HEIGHT - BOTTOM)
            yield text(at, HEIGHT - BOTTOM + 20, size_text(2**power), "middle")
        for power in range(self.y_low, self.y_high + 1):
            at = self.y(10.0**power)
            yield line(LEFT, at, WIDTH - RIGHT, at)
            yield text(LEFT - 8, at + 4, rate_text(10.0**power), "end")


def size_text(size):
    for unit, factor in (("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size // factor} {unit}"
    return f"{size} B"


def rate_text(rate):
    return f"{rate:g} GB/s" if rate >= 1 else f"{rate * 1000:g} MB/s"


def line(x1, y1, x2, y2, style='stroke="#dddddd"'):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def text(x, y, words, anchor="start", style=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {style}>{escape(words)}</text>'


def curve(axes, number, name, data):
    colour, dashes, width = STYLES[number]
    stroke = f'stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dashes or "none"}"'
    path = " ".join(f"{axes.x(size):.1f},{axes.y(rate):.1f}" for size, rate in data)
    yield f'<polyline fill="none" {stroke} points="{path}"/>'
    for size, rate in data:
        yield f'<circle cx="{axes.x(size):.1f}" cy="{axes.y(rate):.1f}" r="3" fill="{colour}"/>'
    key = TOP + 20 + 20 * number
    yield line(LEFT + 16, key - 4, LEFT + 52, key - 4, stroke)
    yield text(LEFT + 60, key, name)


def draw(report):
    benchmarks = report["benchmarks"]
    tables = benchmarks["put"] if "put" in benchmarks else benchmarks["get"]
    series = list(series_of(tables))
    axes = Axes([point for _, data in series for point in data])
    title = tables[-1]["title"].split("; ")[1]
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">'
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    yield text(LEFT, 28, f"Bandwidth by size, {title}", style='font-size="18"')
    yield text(LEFT, 50, f'{report["processor"]}, {report["cores"]} cores; medians of one run', style='fill="#555555"')
    yield from axes.grid()
    for number, (name, data) in enumerate(series):
        yield from curve(axes, number, name, data)
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
