"""What the plots of docs/results are made of: marks, scales and the page around them, each as lines of SVG."""

import json
import pathlib
import sys
from xml.sax.saxutils import escape

GRID = 'stroke="#dddddd"'


def line(x1, y1, x2, y2, style=GRID):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def text(x, y, words, anchor="start", style=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {style}>{escape(words)}</text>'


def upright(x, y, words):
    """For an axis: read from below, centred on the point."""
    return text(x, y, words, "middle", f'transform="rotate(-90 {x:.0f} {y:.0f})"')


def rectangle(x, y, width, height, colour):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def stroke(colour, width=2.0, dashes="none"):
    return f'stroke="{colour}" stroke-width="{width:g}" stroke-dasharray="{dashes}"'


def scale(low, high, begin, end, function=float):
    """Takes `low` to the place `begin` and `high` to `end`, evenly in a `function` of the value (a logarithm)."""
    origin = function(low)
    span = (function(high) - origin) or 1
    return lambda value: begin + (function(value) - origin) / span * (end - begin)


def curve(points, x, y, colour, width=2.0, dashes="none", radius=3.0):
    """`points`: values, which the scales `x` and `y` take to their places. Dots of `radius`, unless that is 0."""
    places = [(x(across), y(up)) for across, up in points]
    path = " ".join(f"{across:.1f},{up:.1f}" for across, up in places)
    yield f'<polyline fill="none" {stroke(colour, width, dashes)} points="{path}"/>'
    for across, up in places if radius else []:
        yield f'<circle cx="{across:.1f}" cy="{up:.1f}" r="{radius:g}" fill="{colour}"/>'


def key(x, y, words, colour, width=2.0, dashes="none", length=26):
    """An entry of a legend, readable above curves too."""
    yield line(x, y - 4, x + length, y - 4, stroke(colour, width, dashes))
    yield text(x + length + 6, y, words, style='stroke="white" stroke-width="4" paint-order="stroke"')


def size_text(size):
    for unit, factor in (("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size // factor} {unit}"
    return f"{size} B"


def page(width, height, left, title, subtitle, body):
    """`left`: where the two lines at the top begin; the body comes below 60."""
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="12">')
    yield '<rect width="100%" height="100%" fill="white"/>'
    yield text(left, 26, title, style='font-size="18"')
    yield text(left, 46, subtitle, style='fill="#555555"')
    yield from body
    yield "</svg>"


def main(usage, draw, arguments, number_of_reports=1):
    """Of a script that plots reports: `arguments` are the reports' files and that of the picture."""
    if len(arguments) != number_of_reports + 1:
        print(usage, file=sys.stderr)
        return 2
    save(arguments[-1], draw(*map(load, arguments[:-1])))
    return 0


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(path, lines):
    pathlib.Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
