#!/usr/bin/env python3
"""Simulates the competitive and pipelined broadcast at its paper's scale and beyond, and draws the results.

    tools/cp_broadcast.py run build/apps/coracle docs/results/data/cp-broadcast.json [PART...]
    tools/cp_broadcast.py draw docs/results/data/cp-broadcast.json docs/results
    tools/cp_broadcast.py table docs/results/data/cp-broadcast.json

`run` takes `coracle bench arrival --place sim` through all settings (or the PARTs named: bt rdaas ring large) and keeps the
figures in one file, which is the same for every run; `draw` makes SVGs of it; `table` checks it against what the paper
says. Needs nothing but Python."""

import json
import pathlib
import subprocess
import sys
import tempfile

from svg_plot import curve, key, line, page, rectangle, save, scale, text, upright

METHODS = {"competitive": "#0b5cad", "pipelined": "#c2571a", "plain": "#8a8a8a"}
LABELS = {
    "competitive": "CP: competitive and pipelined",
    "pipelined": "P: pipelined, fixed leader",
    "plain": "plain, fixed leader",
}
TREES = {"binomial": "BT", "recursive_doubling": "RDAAS", "ring": "RingAAS"}
TREES_OF_PARTS = {"bt": "binomial", "rdaas": "recursive_doubling", "ring": "ring"}
PARTS = [*TREES_OF_PARTS, "large"]
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
    setting("bt", 16, 4, "binomial", PAPER_SIZES, 1000),
    setting("bt", 16, 8, "binomial", PAPER_SIZES, 1000),
    setting("rdaas", 16, 4, "recursive_doubling", PAPER_SIZES, 1000),
    setting("rdaas", 16, 8, "recursive_doubling", PAPER_SIZES, 1000),
    setting("ring", 10, 4, "ring", RING_SIZES, 1000),
    setting("ring", 10, 8, "ring", RING_SIZES, 1000),
    setting("large", 1024, 64, "binomial", ["16K"], 2),
    setting("large", 1024, 64, "binomial", ["16K"], 2, "exponential", "500us"),
    setting("large", 1024, 64, "binomial", ["16K"], 2, TRACE, "500us"),
]


def simulate(command, what):
    """The benchmark's tables for one setting."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        arguments = [
            command, "bench", "arrival", "--place", "sim", "--nodes", str(what["nodes"]),
            "-n", str(what["nodes"] * what["mates"]), "--trees", what["tree"], "--sizes", ",".join(what["sizes"]),
            "--delays", what["delays"], *PIECES, "--iterations", str(what["iterations"]), "--arrival", what["arrival"],
            "--json", file.name,
        ]
        if what["part"] == "large":
            arguments.append("--quick")  # no iterations before those that count
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
        return json.load(file)["benchmarks"]["arrival"]


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


def step_for(highest):
    """A round distance of grid lines, of which about five fit."""
    step = 1
    while highest / step > 6:
        step *= 2.5 if str(step)[0] == "2" else 2
    return step


class Panel:
    """Linear axes from zero, in a place of their own."""

    def __init__(self, column, row, x_high, y_high, title, columns=1):
        self.left, self.top = column * WIDTH + LEFT, 60 + row * HEIGHT + TOP
        self.width, self.height = columns * WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        self.x_high, self.y_high, self.title = x_high, y_high * 1.06, title
        self.x = scale(0, self.x_high, self.left, self.left + self.width)
        self.y = scale(0, self.y_high, self.top + self.height, self.top)

    def levels(self, words):
        """Grid lines of the axis upwards."""
        step = step_for(self.y_high)
        for number in range(int(self.y_high / step) + 1):
            at = self.y(number * step)
            yield line(self.left, at, self.left + self.width, at)
            yield text(self.left - 6, at + 4, f"{number * step:g}", "end")
        yield upright(self.left - 44, self.top + self.height / 2, words)

    def frame(self, x_step, x_words, y_words):
        yield text(self.left, self.top - 10, self.title, style='font-weight="bold"')
        yield from self.levels(y_words)
        bottom = self.top + self.height
        for number in range(int(self.x_high / x_step) + 1):
            at = self.x(number * x_step)
            yield line(at, self.top, at, bottom)
            yield text(at, bottom + 16, f"{number * x_step:g}", "middle")
        yield text(self.left + self.width / 2, bottom + 34, x_words, "middle")

    def curve(self, points, colour, **style):
        return curve(points, self.x, self.y, colour, **style)

    def bar(self, x, width, value, colour):
        top = self.y(value)
        return rectangle(x, top, width, self.top + self.height - top, colour)

    def legend(self, entries):
        for number, (words, colour, dashes) in enumerate(entries):
            yield from key(self.left + 8, self.top + 14 + 16 * number, words, colour, dashes=dashes)


def document(columns, rows, title, subtitle, body):
    return page(columns * WIDTH, 60 + rows * HEIGHT, 16, title, subtitle, body)


def points_of(entry, method, delay_ns, key):
    return [(row["bytes"] / 1024, row[key] / 1000) for row in entry["times"]
            if row["method"] == method and row["delay_ns"] == delay_ns and key in row]


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
            for method, colour in reversed(METHODS.items()):
                on_top = method == "pipelined" and not delay_ns  # CP lies on P where they are equal
                if models:
                    yield from panel.curve(models[method], colour, dashes="3 4", radius=0)
                yield from panel.curve(curves[method], colour, width=4.5 if on_top else 2.0)
            if row == 0:
                names = [(LABELS[method], colour, "none") for method, colour in METHODS.items()]
                names += [("K = 0 plus the delays' cost in closed form", "#555555", "3 4")] if column else []
                yield from panel.legend(names)


def leaders(entries):
    """Histograms of when a fixed leader and the first rank of a node come."""
    for column, entry in enumerate(entries):
        what = entry["setting"]
        fixed, first = (group["share"] for group in entry["leaders"])
        panel = Panel(column, 0, 500, 100 * max(first), f"{what['nodes']} nodes x {what['mates']} ranks, K = 0.5 ms")
        yield from panel.frame(100, "after the barrier (µs)", "share of arrivals (%)")
        width = panel.width / len(fixed)
        for shares, method, offset in ((fixed, "pipelined", 0.08), (first, "competitive", 0.5)):
            for number, share in enumerate(shares):
                yield panel.bar(panel.left + (number + offset) * width, width * 0.42, 100 * share, METHODS[method])
        means = [group["mean_ns"] / 1000 for group in entry["leaders"]]
        for number, (words, method) in enumerate(((f"fixed leader, mean {means[0]:.0f} µs", "pipelined"),
                                                  (f"first to come, mean {means[1]:.0f} µs", "competitive"))):
            y = panel.top + 16 + 18 * number
            yield rectangle(panel.left + 150, y - 10, 12, 12, METHODS[method])
            yield text(panel.left + 168, y, words)


def bars(entries):
    """One group per distribution of delays: the three methods, mean over ranks and iterations."""
    groups = []
    for entry in entries:
        for delay_ns in sorted({row["delay_ns"] for row in entry["times"]}):
            rows = {row["method"]: row for row in entry["times"] if row["delay_ns"] == delay_ns}
            arrival = entry["setting"]["arrival"] if delay_ns else "no"
            groups.append((arrival, delay_ns, [rows[method] for method in METHODS]))
    highest = max(row["mean_ns"] for _, _, rows in groups for row in rows) / 1000
    panel = Panel(0, 0, len(groups), highest * 1.35, "", columns=2)
    yield from panel.levels("time (µs)")
    width = panel.width / len(groups) / 4
    for number, (arrival, delay_ns, rows) in enumerate(groups):
        words = f"{'recorded' if '/' in arrival else arrival} delays, K = {delay_ns / 1e6:g}{' ms' if delay_ns else ''}"
        yield text(panel.x(number + 0.5), panel.top + panel.height + 18, words, "middle")
        for place, row in enumerate(rows):
            x = panel.x(number) + (place + 0.5) * width
            time = row["mean_ns"] / 1000
            yield panel.bar(x, width * 0.9, time, METHODS[row["method"]])
            yield text(x + width * 0.45, panel.y(time) - 5, f"{time:.0f}", "middle", 'font-size="10"')
    yield from panel.legend([(LABELS[method], colour, "none") for method, colour in METHODS.items()])


SUBTITLE = "simulated DDR InfiniBand, 1.4 GB/s; mean over iterations of each rank, the slowest rank's"


def draw(source, folder):
    results = json.loads(source.read_text())
    parts = {part: [entry for entry in results if entry["setting"]["part"] == part] for part in PARTS}
    plots = {}
    for part, tree in TREES_OF_PARTS.items():
        title = f"Broadcast by {TREES[tree]} to ranks that come at different times"
        plots[part] = parts[part], document(2, 2, title, SUBTITLE, by_size(parts[part]))
    plots["leaders"] = parts["bt"], document(
        2, 1, "When leaders come", "delays uniform in [0, K] after a barrier; over all nodes and iterations",
        leaders(parts["bt"]))
    plots["large"] = parts["large"], document(
        2, 1, "65,536 ranks on 1,024 nodes: 16 KiB by BT",
        "simulated DDR InfiniBand, 1.4 GB/s; mean over all ranks of the time in the broadcast", bars(parts["large"]))
    for name, (entries, lines) in plots.items():
        if entries:
            save(folder / f"cp-broadcast-{name}.svg", lines)


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
