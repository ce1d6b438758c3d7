#!/usr/bin/env python3
"""Draws the README's picture: messages, collectives and scattered data beside Open MPI and MPICH, as SVG.

    tests/peers/compare-messages --json messages.json
    tests/peers/compare-collectives --json collectives.json
    tests/peers/compare-datatypes --json datatypes.json
    tools/plot_overview.py messages.json collectives.json datatypes.json overview.svg

Needs nothing but Python."""

import math
import re
import statistics
import sys

from svg_plot import curve, key, line, main, page, rectangle, scale, size_text, stroke, text

WIDTH, MARGIN = 900, 20
OURS = "coracle"
SERIES = {  # colour, name
    OURS: ("#0b5cad", "Coracle"),
    "openmpi": ("#c2571a", "Open MPI"),
    "mpich": ("#8a8a8a", "MPICH"),
}
PEERS = [program for program in SERIES if program != OURS]
TOP = 128  # of both panels
CURVES_LEFT, CURVES_RIGHT = 66, 380
BARS_LEFT, BARS_RIGHT, NUMBERS_RIGHT = 572, 806, WIDTH - MARGIN
BAR_HEIGHT, ROW_HEIGHT, GROUP_HEIGHT = 10, 29, 26
RATIO_MOST = 50  # bars that are longer end there, with an arrow
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
BOLD, FAINT, SMALL = 'font-weight="bold"', 'fill="#555555"', 'fill="#555555" font-size="11"'


# --- messages: curves ---


def time_text(nanoseconds):
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= factor:
            return f"{nanoseconds / factor:g} {unit}"
    return f"{nanoseconds:g} ns"


def curves(figures, bottom):
    sizes = [figure["bytes"] for figure in figures]
    times = [figure[program]["median_ns"] for figure in figures for program in SERIES if program in figure]
    powers = range(math.floor(math.log10(min(times))), math.ceil(math.log10(max(times))) + 1)
    x = scale(min(sizes), max(sizes), CURVES_LEFT, CURVES_RIGHT, math.log2)
    y = scale(10.0 ** powers[0], 10.0 ** powers[-1], bottom, TOP, math.log10)
    for power in powers:
        yield line(CURVES_LEFT, y(10.0**power), CURVES_RIGHT, y(10.0**power))
        yield text(CURVES_LEFT - 6, y(10.0**power) + 4, time_text(10.0**power), "end")
    for size in (16**power for power in range(20)):
        if min(sizes) <= size <= max(sizes):
            yield line(x(size), TOP, x(size), bottom)
            yield text(x(size), bottom + 16, size_text(size), "middle")
    for program in reversed(SERIES):  # ours above the others
        points = [(figure["bytes"], figure[program]["median_ns"]) for figure in figures if program in figure]
        if points:
            yield from curve(points, x, y, SERIES[program][0], width=3.0 if program == OURS else 2.0)


# --- how many times as long: bars ---


class Row:
    """Of the bars: for each peer how many times as long as Coracle it takes, by all figures."""

    def __init__(self, name, figures, remark=""):
        self.name, self.remark = name, remark
        self.ratios = {peer: [figure["ratios"][peer] for figure in figures if peer in figure["ratios"]]
                       for peer in PEERS}

    def least(self):
        return min(min(ratios) for ratios in self.ratios.values() if ratios)


def groups_of(messages, collectives, datatypes):
    """[(title, rows)]: where each rank has a core, and where ranks share cores."""
    names = dict.fromkeys(figure["collective"] for figure in collectives["figures"])
    groups = []
    for shared in (False, True):
        figures = [figure for figure in collectives["figures"] if (figure["ranks"] > collectives["cores"]) == shared]
        here = {name: [figure for figure in figures if figure["collective"] == name] for name in names}
        rows = [Row(name, found) for name, found in here.items() if found]
        ranks = ", ".join(str(number) for number in sorted({figure["ranks"] for figure in figures}))
        title = f"{ranks} ranks on {collectives['cores']} cores" if shared else f"{ranks} ranks, a core each"
        if not shared:
            patterns = len({figure["pattern"] for figure in datatypes["figures"]})
            rows = [Row("messages", messages["figures"]), *rows,
                    Row("scattered data", datatypes["figures"], f"{patterns} patterns of DDTBench")]
        if rows:
            groups.append((title, rows))
    return groups


def words(items):
    *others, last = map(str, items)
    return f"{', '.join(others)} and {last}" if others else last


def ratio_text(ratio):
    return f"{ratio:,.0f} ×" if ratio >= 100 else f"{ratio:.1f} ×" if ratio >= 10 else f"{ratio:.2f} ×"


def bar(ratios, colour, x, top):
    """From 1 to the geometric mean; the thin line goes from the least to the most."""
    mean = statistics.geometric_mean(ratios)
    middle = top + BAR_HEIGHT / 2
    begin, end = sorted((x(1), x(min(mean, RATIO_MOST))))
    least, most = (x(min(ratio, RATIO_MOST)) for ratio in (min(ratios), max(ratios)))
    yield rectangle(begin, top, end - begin, BAR_HEIGHT, colour)
    if len(ratios) > 1 and min(ratios) < RATIO_MOST:
        yield line(least, middle, most, middle, stroke("#222222", 1))
        yield line(least, middle - 3, least, middle + 3, stroke("#222222", 1))
        if max(ratios) <= RATIO_MOST:
            yield line(most, middle - 3, most, middle + 3, stroke("#222222", 1))
    if max(ratios) > RATIO_MOST:
        fill = colour if mean > RATIO_MOST else "#222222"
        edge = x(RATIO_MOST)
        yield f'<path d="M{edge:.1f} {top:.1f} l7 {BAR_HEIGHT / 2:g} l-7 {BAR_HEIGHT / 2:g} z" fill="{fill}"/>'
    yield text(NUMBERS_RIGHT, middle + 4, ratio_text(mean), "end", 'font-size="11"')


def row_of_bars(row, x, top):
    middle = top + BAR_HEIGHT + 1
    yield text(BARS_LEFT - 8, middle + (-2 if row.remark else 4), row.name, "end")
    if row.remark:
        yield text(BARS_LEFT - 8, middle + 11, row.remark, "end", SMALL)
    for number, peer in enumerate(PEERS):
        if row.ratios[peer]:
            yield from bar(row.ratios[peer], SERIES[peer][0], x, top + number * (BAR_HEIGHT + 2))


def bars(groups, bottom):
    least = min(0.8, *(row.least() * 0.9 for _, rows in groups for row in rows))
    x = scale(least, RATIO_MOST, BARS_LEFT, BARS_RIGHT, math.log10)
    for tick in TICKS:
        if tick >= least:
            yield line(x(tick), TOP, x(tick), bottom)
            if tick != 1:
                yield text(x(tick), bottom + 16, f"{tick:g}", "middle")
    top = TOP
    for title, rows in groups:
        yield text(BARS_LEFT - 8, top + 17, title, "end", BOLD)
        top += GROUP_HEIGHT
        for row in rows:
            yield from row_of_bars(row, x, top)
            top += ROW_HEIGHT
    colour, name = SERIES[OURS]
    yield line(x(1), TOP - 4, x(1), bottom, stroke(colour, 2.5))
    yield text(x(1), bottom + 16, "1", "middle", f'fill="{colour}" {BOLD}')
    yield text(BARS_LEFT - 8, bottom + 16, name, "end", f'fill="{colour}" {BOLD}')


# --- the whole ---


def machines(reports):
    """The processors, each with its number of cores, and what was measured on it where they are several."""
    found = {}
    for what, report in reports.items():
        name = re.sub(r"\((R|TM)\)| Processor| CPU", "", report["processor"])
        found.setdefault(f"{report['cores']} cores of {name}", []).append(what)
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{machine} ({words(what)})" for machine, what in found.items())


def caption(collectives):
    yield ("Ranks are processes that share one node. Medians of rounds in which the programs took turns; "
           "all scales are logarithmic.")
    yield ("Bars: geometric mean over all sizes (and numbers of ranks); thin lines: from least to most; "
           "arrows: beyond the scale.")
    remark = "MPICH spins where ranks share cores."
    missing = [peer for peer in PEERS for figure in collectives["figures"] if peer not in figure["ratios"]]
    if missing:
        names = words(sorted({SERIES[peer][1] for peer in missing}))
        remark += f" {len(missing)} figures of {names} are missing: no end within the time limit."
    yield remark


def draw(messages, collectives, datatypes):
    groups = groups_of(messages, collectives, datatypes)
    bottom = TOP + sum(GROUP_HEIGHT + ROW_HEIGHT * len(rows) for _, rows in groups)
    body = [mark for number, (colour, name) in enumerate(SERIES.values())
            for mark in key(MARGIN + 110 * number, 76, name, colour, width=4, length=24)]
    body.append(text(MARGIN, TOP - 20, "A message from rank to rank, by size: half a round trip", style=BOLD))
    body.append(text(NUMBERS_RIGHT, TOP - 20, "How many times as long as Coracle they take", "end", BOLD))
    body += curves(messages["figures"], bottom)
    body += bars(groups, bottom)
    for number, words_ in enumerate(caption(collectives)):
        body.append(text(MARGIN, bottom + 44 + 16 * number, words_, style=FAINT))
    reports = {"messages": messages, "collectives": collectives, "scattered data": datatypes}
    return page(WIDTH, bottom + 90, MARGIN, "Coracle beside Open MPI and MPICH: time to communicate within a node",
                f"Less is better. Measured on {machines(reports)}.", body)


if __name__ == "__main__":
    sys.exit(main(__doc__, draw, sys.argv[1:], number_of_reports=3))
