#!/usr/bin/env python3
"""Simulates the competitive and pipelined broadcast at its paper's scale and beyond, and draws the results.

    tools/cp_broadcast.py run build/apps/coracle docs/results/data/cp-broadcast.json [PART...]
    tools/cp_broadcast.py draw docs/results/data/cp-broadcast.json docs/results
    tools/cp_broadcast.py table docs/results/data/cp-broadcast.json

`run` takes `coracle bench upa --place sim` through all settings (or the PARTs named: bt rdaas ring large) and keeps the
figures in one file, which is the same for every run; `draw` makes SVGs of it; `table` checks it against what the paper
says. Needs nothing but Python."""

import json
import pathlib
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

METHODS = {"competitive": "#0b5cad", "pipelined": "#c2571a", "plain": "#8a8a8a"}
LABELS = {"competitive": "CP: competitive and pipelined", "pipelined": "P: pipelined, fixed leader", "plain": "plain, fixed leader"}
TREES = {"binomial": "BT", "recursive_doubling": "RDAAS", "ring": "RingAAS"}
PAPER_SIZES = ["12K", "32K", "52K", "72K", "92K"]
RING_SIZES = ["12K", "110K", "210K", "310K"]
# The same for all methods and sizes, so that nothing but what is compared differs.
PIECES = ["--chunk", "8K", "--fan-out", "2"]
TRACE = "networks/arrivals.txt"


def setting(part, nodes, mates, tree, sizes, iterations, arrival="uniform", delays="0,500us"):
    return {
        "part": part, "nodes": nodes, "mates": mates, "tree": tree, "sizes": sizes, "iterations": iterations,
        "arrival": arrival, "delays": delays,
    }


SETTINGS = [
    setting("bt", 16, 4, "binomial", PAPER_SIZES, 100),
    setting("bt", 16, 8, "binomial", PAPER_SIZES, 100),
    setting("rdaas", 16, 4, "recursive_doubling", PAPER_SIZES, 100),
    setting("rdaas", 16, 8, "recursive_doubling", PAPER_SIZES, 100),
    setting("ring", 10, 4, "ring", RING_SIZES, 100),
    setting("ring", 10, 8, "ring", RING_SIZES, 100),
    setting("large", 1024, 64, "binomial", ["16K"], 2),
    setting("large", 1024, 64, "binomial", ["16K"], 2, "exponential", "500us"),
    setting("large", 1024, 64, "binomial", ["16K"], 2, TRACE, "500us"),
]


def simulate(command, what):
    """The benchmark's tables for one setting."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        arguments = [
            command, "bench", "upa", "--place", "sim", "--nodes", str(what["nodes"]),
            "-n", str(what["nodes"] * what["mates"]), "--trees", what["tree"], "--sizes", ",".join(what["sizes"]),
            "--delays", what["delays"], *PIECES, "--iterations", str(what["iterations"]), "--arrival", what["arrival"],
            "--json", file.name,
        ]
        if what["part"] == "large":
            arguments.append("--quick")  # no iterations before those that count
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
        return json.load(file)["benchmarks"]["upa"]


def rounded(details):
    """Nanoseconds without fractions: the file stays small and readable."""
    return {key: round(value) if key.endswith("_ns") else value for key, value in details.items()}


def run(command, target, parts):
    old = json.loads(target.read_text()) if parts and target.exists() else []
    results = [entry for entry in old if entry["setting"]["part"] not in parts]
    for what in SETTINGS:
        if parts and what["part"] not in parts:
            continue
        print(f"{what['tree']}, {what['nodes']} x {what['mates']}, {what['arrival']}", flush=True)
        tables = simulate(command, what)
        times = [rounded(row["details"]) for row in tables[0]["rows"]]
        leaders = [
            {"who": row["name"].split(",")[0], "share": [round(share, 5) for share in row["details"]["share"]],
             "mean_ns": round(row["median"]), "model_ns": round(row["limit"]["median"])}
            for row in tables[-1]["rows"]
        ]
        results.append({"setting": what, "times": times, "leaders": leaders})
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(results, indent=1) + "\n")


# --- drawing ---

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 34, 44


def line(x1, y1, x2, y2, style='stroke="#dddddd"'):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def text(x, y, words, anchor="start", style=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {style}>{escape(words)}</text>'


def step_for(highest):
    """A round distance of grid lines, of which about five fit."""
    step = 1
    while highest / step > 6:
        step *= 2.5 if str(step)[0] == "2" else 2
    return step


class Panel:
    """Linear axes from zero, in a place of their own."""

    def __init__(self, column, row, x_high, y_high, title):
        self.left, self.top = column * WIDTH + LEFT, 60 + row * HEIGHT + TOP
        self.x_high, self.y_high, self.title = x_high, y_high * 1.06, title
        self.width, self.height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(self, value):
        return self.left + value / self.x_high * self.width

    def y(self, value):
        return self.top + self.height - value / self.y_high * self.height

    def frame(self, x_step, x_words, y_words):
        yield text(self.left, self.top - 10, self.title, style='font-weight="bold"')
        step = step_for(self.y_high)
        for number in range(int(self.y_high / step) + 1):
            yield line(self.left, self.y(number * step), self.left + self.width, self.y(number * step))
            yield text(self.left - 6, self.y(number * step) + 4, f"{number * step:g}", "end")
        for number in range(int(self.x_high / x_step) + 1):
            yield line(self.x(number * x_step), self.top, self.x(number * x_step), self.top + self.height)
            yield text(self.x(number * x_step), self.top + self.height + 16, f"{number * x_step:g}", "middle")
        yield text(self.left + self.width / 2, self.top + self.height + 34, x_words, "middle")
        middle = self.top + self.height / 2
        yield text(self.left - 44, middle, y_words, "middle", f'transform="rotate(-90 {self.left - 44:.0f} {middle:.0f})"')

    def curve(self, points, colour, dashes="none", dots=True, width=2.0):
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        yield f'<polyline fill="none" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dashes}" points="{path}"/>'
        for x, y in points if dots else []:
            yield f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="3" fill="{colour}"/>'


def document(columns, rows, title, subtitle, body, bottom=0):
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns * WIDTH} {60 + rows * HEIGHT + bottom}" '
           'font-family="sans-serif" font-size="12">')
    yield '<rect width="100%" height="100%" fill="white"/>'
    yield text(16, 24, title, style='font-size="17"')
    yield text(16, 44, subtitle, style='fill="#555555"')
    yield from body
    yield "</svg>"


def points_of(entry, method, delay_ns, key):
    return [(row["bytes"] / 1024, row[key] / 1000) for row in entry["times"]
            if row["method"] == method and row["delay_ns"] == delay_ns and key in row]


def legend(panel, entries):
    for number, (words, colour, dashes) in enumerate(entries):
        y = panel.top + 14 + 16 * number
        yield line(panel.left + 8, y - 4, panel.left + 34, y - 4,
                   f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"')
        yield text(panel.left + 40, y, words)


def by_size(entries):
    """Rows: ranks per node; columns: K = 0 and K = 0.5 ms."""
    for row, entry in enumerate(entries):
        what = entry["setting"]
        for column, delay_ns in enumerate((0, 500_000)):
            curves = {method: points_of(entry, method, delay_ns, "slowest_ns") for method in METHODS}
            models = {method: points_of(entry, method, delay_ns, "model_ns") for method in METHODS} if delay_ns else {}
            everything = [point for data in (curves, models) for points in data.values() for point in points]
            x_high = max(x for x, _ in everything)
            y_high = max(y for _, y in everything) * (1.3 if row == 0 else 1)
            title = f"{what['nodes']} nodes x {what['mates']} ranks, " + ("K = 0" if column == 0 else "K = 0.5 ms")
            panel = Panel(column, row, x_high, y_high, title)
            yield from panel.frame(20 if x_high < 100 else 50, "size of the message (KiB)", "time (µs)")
            for method, colour in reversed(METHODS.items()):  # CP lies on P where they are equal
                if models:
                    yield from panel.curve(models[method], colour, "3 4", dots=False)
                yield from panel.curve(curves[method], colour, width=4.5 if method == "pipelined" else 2.0)
            if row == 0:
                names = [(LABELS[method], colour, "none") for method, colour in METHODS.items()]
                names += [("K = 0 plus the delays' cost in closed form", "#555555", "3 4")] if column else []
                yield from legend(panel, names)


def leaders(entries):
    """Histograms of when a fixed leader and the first rank of a node come."""
    for column, entry in enumerate(entries):
        what = entry["setting"]
        fixed, first = (group["share"] for group in entry["leaders"])
        bins = len(fixed)
        panel = Panel(column, 0, 500, 100 * max(first), f"{what['nodes']} nodes x {what['mates']} ranks, K = 0.5 ms")
        yield from panel.frame(100, "after the barrier (µs)", "share of arrivals (%)")
        width = panel.width / bins
        for shares, colour, offset in ((fixed, METHODS["pipelined"], 0.08), (first, METHODS["competitive"], 0.5)):
            for number, share in enumerate(shares):
                y = panel.y(100 * share)
                yield (f'<rect x="{panel.left + (number + offset) * width:.1f}" y="{y:.1f}" width="{width * 0.42:.1f}" '
                       f'height="{panel.top + panel.height - y:.1f}" fill="{colour}"/>')
        means = [group["mean_ns"] / 1000 for group in entry["leaders"]]
        for number, (words, colour) in enumerate(((f"fixed leader, mean {means[0]:.0f} µs", METHODS["pipelined"]),
                                                  (f"first to come, mean {means[1]:.0f} µs", METHODS["competitive"]))):
            y = panel.top + 16 + 18 * number
            yield f'<rect x="{panel.left + 150:.1f}" y="{y - 10:.1f}" width="12" height="12" fill="{colour}"/>'
            yield text(panel.left + 168, y, words)


def bars(entries):
    """One group per distribution: the three methods at K = 0.5 ms, mean over ranks and iterations."""
    highest = max(row["mean_ns"] for entry in entries for row in entry["times"]) / 1000
    panel = Panel(0, 0, len(entries), highest * 1.35, "")
    panel.width = 2 * WIDTH - LEFT - RIGHT
    step = step_for(panel.y_high)
    for number in range(int(panel.y_high / step) + 1):
        yield line(panel.left, panel.y(number * step), panel.left + panel.width, panel.y(number * step))
        yield text(panel.left - 6, panel.y(number * step) + 4, f"{number * step:g}", "end")
    for group, entry in enumerate(entries):
        arrival = entry["setting"]["arrival"]
        words = "recorded trace" if "/" in arrival else arrival
        yield text(panel.x(group + 0.5), panel.top + panel.height + 18, f"{words}, {'K = 0 and 0.5 ms' if group == 0 else 'K = 0.5 ms'}", "middle")
        rows = [row for delay_ns in (0, 500_000) for method in METHODS for row in entry["times"]
                if row["method"] == method and row["delay_ns"] == delay_ns]
        width = panel.width / len(entries) / (len(rows) + 2)
        for number, row in enumerate(rows):
            x = panel.x(group) + (number + (0.7 if row["delay_ns"] == 0 else 1.3)) * width
            y = panel.y(row["mean_ns"] / 1000)
            yield (f'<rect x="{x:.1f}" y="{y:.1f}" width="{width * 0.85:.1f}" '
                   f'height="{panel.top + panel.height - y:.1f}" fill="{METHODS[row["method"]]}"/>')
            yield text(x + width * 0.42, y - 5, f"{row['mean_ns'] / 1000:.0f}", "middle", 'font-size="10"')
    names = [(LABELS[method], colour, "none") for method, colour in METHODS.items()]
    yield from legend(panel, names)
    middle = panel.top + panel.height / 2
    yield text(panel.left - 48, middle, "time (µs)", "middle", f'transform="rotate(-90 {panel.left - 48:.0f} {middle:.0f})"')


SUBTITLE = "simulated DDR InfiniBand, 1.4 GB/s; mean over iterations of each rank, the slowest rank's"


def draw(source, folder):
    results = json.loads(source.read_text())
    for part, tree in (("bt", "binomial"), ("rdaas", "recursive_doubling"), ("ring", "ring")):
        entries = [entry for entry in results if entry["setting"]["part"] == part]
        if entries:
            title = f"Broadcast by {TREES[tree]} to ranks that come at different times"
            save(folder / f"cp-broadcast-{part}.svg", document(2, 2, title, SUBTITLE, by_size(entries)))
    entries = [entry for entry in results if entry["setting"]["part"] == "bt"]
    if entries:
        save(folder / "cp-broadcast-leaders.svg", document(2, 1, "When leaders come",
             "delays uniform in [0, K] after a barrier; over all nodes and iterations", leaders(entries)))
    entries = [entry for entry in results if entry["setting"]["part"] == "large"]
    if entries:
        save(folder / "cp-broadcast-large.svg", document(2, 1, "65,536 ranks on 1,024 nodes: 16 KiB by BT",
             "simulated DDR InfiniBand, 1.4 GB/s; mean over all ranks of the time in the broadcast", bars(entries)))


def save(path, lines):
    path.write_text("\n".join(lines) + "\n")
    print(path)


def table(source):
    """CP beside P: equal at K = 0, better at K = 0.5 ms, the more so the more ranks a node has."""
    good = True
    for entry in json.loads(source.read_text()):
        what = entry["setting"]
        rows = {(row["method"], row["delay_ns"], row["bytes"]): row for row in entry["times"]}
        print(f"\n{TREES[what['tree']]}, {what['nodes']} x {what['mates']}, {what['arrival']}")
        for size in sorted({key[2] for key in rows}):
            delays = [delay_ns for delay_ns in (0, 500_000) if ("plain", delay_ns, size) in rows]
            ratios = {delay_ns: rows["pipelined", delay_ns, size]["slowest_ns"]
                      / rows["competitive", delay_ns, size]["slowest_ns"] for delay_ns in delays}
            ok = abs(ratios.get(0, 1) - 1) <= 0.03 and ratios[500_000] > 1
            good &= ok
            times = " ".join(f"{rows[method, delay_ns, size]['slowest_ns'] / 1000:7.1f}" for delay_ns in delays
                             for method in ("competitive", "pipelined", "plain"))
            words = ", ".join(f"{ratio:.3f} at K = {delay_ns / 1e6:g} ms" for delay_ns, ratio in ratios.items())
            print(f"  {size / 1024:5.0f} KiB  {times}  P/CP: {words}{'' if ok else '  NOT MET'}")
        for group in entry["leaders"]:
            print(f"  {group['who']}: {group['mean_ns'] / 1000:.1f} us, closed form {group['model_ns'] / 1000:.1f} us")
    return 0 if good else 1


def main(arguments):
    if len(arguments) >= 3 and arguments[0] == "run":
        run(arguments[1], pathlib.Path(arguments[2]), set(arguments[3:]))
    elif len(arguments) == 3 and arguments[0] == "draw":
        draw(pathlib.Path(arguments[1]), pathlib.Path(arguments[2]))
    elif len(arguments) == 2 and arguments[0] == "table":
        return table(pathlib.Path(arguments[1]))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
