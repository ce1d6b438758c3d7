#!/usr/bin/env python3
"""Draws a trace of `coracle run --trace` as SVG: a band for each rank, with its spans, and arrows of messages and collectives.

    trace_picture.py t.json --output t.svg [--from MS] [--to MS] [--rows tasks,messages] [--width PIXELS]
"""

import argparse
import collections
import html
import json
import sys

ROW = 14
GAP = 10
LEFT = 120
TOP = 40
LEGEND = 26
COLOURS = {
    "span": "#7b68ee", "wait": "#e8a33d", "collective": "#4c9f70", "phase": "#a3d9b1", "message": "#3d7dca",
    "operation": "#8fb8de", "chunk": "#c2619a", "page": "#b5651d", "dma": "#777777", "rank": "#eeeeee", "sleep": "#cfcfcf",
}


class Picture:
    def __init__(self, trace, arguments):
        events = trace["traceEvents"]
        self.opacity = 1
        if arguments.merge:
            self.merge(events)
        groups = arguments.rows.split(",")
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
        self.names = {row: name for row, name in names.items() if name.split()[0] in groups}
        only = arguments.only.split(",") if arguments.only else COLOURS
        spans = [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) in self.names and e["cat"] in only]
        if not spans:
            sys.exit(f"there are no spans in the rows {arguments.rows}")
        self.begin = min(e["ts"] for e in spans) if arguments.begin is None else arguments.begin * 1000
        self.end = max(e["ts"] + e["dur"] for e in spans) if arguments.end is None else arguments.end * 1000
        self.spans = [e for e in spans if e["ts"] < self.end and e["ts"] + e["dur"] > self.begin]
        used = {(e["pid"], e["tid"]) for e in self.spans}
        self.names = {row: name for row, name in self.names.items() if row in used}
        self.arrows = self.pairs(events)
        self.width = arguments.width
        self.unit = trace["otherData"]["time"]
        self.written = collections.Counter()
        self.has_details = not arguments.plain
        self.place_rows()

    def merge(self, events):
        """All rows of a kind are one: `tasks 2` lies over `tasks`."""
        self.opacity = 0.45
        first = {}
        for e in events:
            if e["ph"] == "M" and e["name"] == "thread_name":
                first[e["pid"], e["tid"]] = e["args"]["name"].split()[0]
        rows = {}
        for row in sorted(first):
            rows.setdefault((row[0], first[row]), row[1])
        for e in events:
            if "tid" in e:
                e["tid"] = rows[e["pid"], first[e["pid"], e["tid"]]]
                if e["ph"] == "M" and e["name"] == "thread_name":
                    e["args"]["name"] = e["args"]["name"].split()[0]

    def pairs(self, events):
        ends = {e["id"]: e for e in events if e["ph"] == "f"}
        both = [(e, ends[e["id"]]) for e in events if e["ph"] == "s" and e["id"] in ends]
        return [(a, b) for a, b in both if self.shown(a) and self.shown(b)]

    def shown(self, event):
        return (event["pid"], event["tid"]) in self.names and self.begin <= event["ts"] <= self.end

    def place_rows(self):
        """Each row gets its height by how deep spans lie in each other."""
        if self.opacity < 1:
            levels = {"collective": 0, "phase": 0, "span": 0, "message": 0}
            return self.place_flat(levels)
        return self.place_nested()

    def place_flat(self, levels):
        self.depth = {index: levels.get(span["cat"], 1) for index, span in enumerate(self.spans)}
        deepest = collections.Counter()
        for index, span in enumerate(self.spans):
            row = span["pid"], span["tid"]
            deepest[row] = max(deepest[row], self.depth[index] + 1)
        self.stack(deepest)

    def place_nested(self):
        self.depth, deepest = {}, collections.Counter()
        around = collections.defaultdict(list)
        for index, span in sorted(enumerate(self.spans), key=lambda item: (item[1]["ts"], -item[1]["dur"])):
            row = span["pid"], span["tid"]
            while around[row] and around[row][-1] <= span["ts"]:
                around[row].pop()
            self.depth[index] = len(around[row])
            around[row].append(span["ts"] + span["dur"])
            deepest[row] = max(deepest[row], len(around[row]))
        self.stack(deepest)

    def stack(self, deepest):
        self.top, self.ranks, y, rank = {}, {}, TOP, None
        for row in sorted(self.names):
            if row[0] != rank:
                y += GAP if rank is not None else 0
                rank = row[0]
                self.ranks[rank] = y
            self.top[row] = y
            y += deepest[row] * ROW + 3
        self.height = y + LEGEND + 10

    def x(self, ts):
        return LEFT + (min(max(ts, self.begin), self.end) - self.begin) / (self.end - self.begin) * (self.width - LEFT - 10)

    def draw(self):
        yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
               'font-family="sans-serif" font-size="10">')
        yield '<rect width="100%" height="100%" fill="white"/>'
        yield ('<defs><marker id="tip" markerWidth="6" markerHeight="6" refX="5" refY="3" orient="auto">'
               '<path d="M0,0 L6,3 L0,6 z" fill="#b03030"/></marker></defs>')
        yield from self.draw_axis()
        for row, y in self.top.items():
            yield f'<text x="{LEFT - 6}" y="{y + ROW - 4}" text-anchor="end" fill="#555">{html.escape(self.names[row])}</text>'
        for rank, y in self.ranks.items():
            yield f'<text x="4" y="{y + ROW - 3}" font-weight="bold">rank {rank}</text>'
        for index, span in sorted(enumerate(self.spans), key=lambda item: (self.depth[item[0]], item[1]["ts"])):
            yield self.draw_span(span, self.depth[index])
        for begin, end in self.arrows:
            yield self.draw_arrow(begin, end)
        for index, span in sorted(enumerate(self.spans), key=lambda item: (item[1]["ts"], -item[1]["dur"])):
            yield from self.draw_name(span, self.depth[index])
        yield from self.draw_legend()
        yield "</svg>"

    def draw_axis(self):
        length = self.end - self.begin
        step = 10 ** len(str(int(length))) / 100
        while length / step > 12:
            step *= 2 if str(step)[0] != "2" else 2.5
        number = 0
        while number * step <= length:
            x = self.x(self.begin + number * step)
            yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{self.height - LEGEND}" stroke="#e4e4e4"/>'
            yield f'<text x="{x:.1f}" y="{TOP - 12}" text-anchor="middle" fill="#555">{number * step:g}</text>'
            number += 1
        yield (f'<text x="{LEFT}" y="12" fill="#555">microseconds of {self.unit} time, from {self.begin / 1000:.3f} ms '
               'after the first event</text>')

    def box(self, span, depth):
        x, end = self.x(span["ts"]), self.x(span["ts"] + span["dur"])
        return x, self.top[span["pid"], span["tid"]] + depth * ROW, max(end - x, 0.6)

    def draw_span(self, span, depth):
        x, y, width = self.box(span, depth)
        details = ", ".join(f"{name} {value}" for name, value in span["args"].items())
        title = f'<title>{html.escape(span["name"])}: {span["dur"]:g} us; {html.escape(details)}</title>'
        colour = COLOURS.get(span["cat"], "#999")
        return (f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 2}" fill="{colour}" '
                f'fill-opacity="{self.opacity}"' + (f'>{title}</rect>' if self.has_details else "/>"))

    def draw_name(self, span, depth):
        x, y, width = self.box(span, depth)
        room = int(width / 5.6)
        if room >= 4 and x >= self.written[y]:
            name = span["name"] if len(span["name"]) <= room else span["name"][: room - 1] + "…"
            self.written[y] = x + 6 * len(name)
            yield f'<text x="{x + 2:.1f}" y="{y + ROW - 4}" fill="#222">{html.escape(name)}</text>'

    def draw_arrow(self, begin, end):
        y = [self.top[e["pid"], e["tid"]] + ROW / 2 - 1 for e in (begin, end)]
        return (f'<line x1="{self.x(begin["ts"]):.1f}" y1="{y[0]}" x2="{self.x(end["ts"]):.1f}" y2="{y[1]}" stroke="#b03030" '
                'stroke-width="0.8" stroke-opacity="0.75" marker-end="url(#tip)"/>')

    def draw_legend(self):
        x = LEFT
        for category in sorted({span["cat"] for span in self.spans}):
            y = self.height - LEGEND + 6
            yield f'<rect x="{x}" y="{y}" width="12" height="10" fill="{COLOURS.get(category, "#999")}"/>'
            yield f'<text x="{x + 16}" y="{y + 9}">{category}</text>'
            x += 30 + 7 * len(category)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--output", required=True)
    parser.add_argument("--from", dest="begin", type=float, help="milliseconds after the first event")
    parser.add_argument("--to", dest="end", type=float)
    parser.add_argument("--rows", default="tasks,messages")
    parser.add_argument("--only", help="categories: collective,wait,message ...")
    parser.add_argument("--merge", action="store_true", help="one row for all tasks of a rank")
    parser.add_argument("--plain", action="store_true", help="without what one sees when the pointer rests on a span")
    parser.add_argument("--width", type=int, default=1200)
    arguments = parser.parse_args()
    with open(arguments.trace) as file:
        trace = json.load(file)
    with open(arguments.output, "w") as file:
        file.write("\n".join(Picture(trace, arguments).draw()) + "\n")


if __name__ == "__main__":
    main()
