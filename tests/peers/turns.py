"""Two programs in turn, of which only what met the same machine is compared. The processors of a virtual machine may lie
below one last-level cache or below two, as its host places them, and are moved every few seconds: a cache line then takes
30 ns from one to the other, or 165, and what ranks share takes as much longer. So how long a line takes is measured before
and after each run (crossing.c). A pair of runs counts where all three figures agree, and pairs are kept apart by it."""

import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
AGREE = 1.5  # two figures of one state differ by less
APART = 2  # and those of two states by more


class Crossings:
    """Measures how long a line takes, in ns."""

    def __init__(self, measure=None):
        self._folder = None
        self.measure = measure or self._build()

    def _build(self):
        self._folder = tempfile.TemporaryDirectory()
        program = pathlib.Path(self._folder.name) / "crossing"
        subprocess.run(["cc", "-O2", "-pthread", "-o", program, HERE / "crossing.c"], check=True)
        return lambda: float(subprocess.run([program], capture_output=True, check=True, text=True).stdout)


def agree(figures):
    return max(figures) <= AGREE * min(figures)


class Pairs:
    """What pairs of runs have given, by state of the machine: the first figure that was measured in it names a state
    until the end, when it is the median of all."""

    def __init__(self):
        self.by_state = {}
        self.left_out = 0

    def add(self, figures, pair):
        """Takes the pair if the figures agree."""
        if not agree(figures):
            self.left_out += 1
            return
        for state in self.by_state.values():
            if max(state["crossings"][0], figures[0]) < APART * min(state["crossings"][0], figures[0]):
                break
        else:
            state = self.by_state.setdefault(figures[0], {"crossings": [], "pairs": []})
        state["crossings"] += figures
        state["pairs"].append(pair)

    def fewest(self):
        """How many pairs the state with the fewest has."""
        return min((len(state["pairs"]) for state in self.by_state.values()), default=0)

    def complain(self, what):
        """Says so on standard error where no pair counts."""
        if not self.by_state:
            print(f"{what}: no figures; {self.left_out} rounds met more than one state of the machine", file=sys.stderr)

    def states(self):
        """[(ns of a crossing, [(ours, theirs)])], the quickest first. Of a state that was met less than a third as often as
        another nothing is told: one that changes to and fro within a run goes unseen, and so few don't outvote it."""
        most = max((len(state["pairs"]) for state in self.by_state.values()), default=0)
        found = [(statistics.median(state["crossings"]), state["pairs"]) for state in self.by_state.values()
                 if 3 * len(state["pairs"]) >= most]
        return sorted(found, key=lambda each: each[0])


def take_turns(ours, theirs, rounds, crossings, limit=3):
    """Calls both in turn, the first one changing, until each state that was seen has `rounds` pairs, but no more than
    `limit` times as many. What they return must not be None; None ends it."""
    pairs = Pairs()
    figures = [crossings.measure()]
    for number in range(limit * rounds):
        both = {}
        seen = [figures[-1]]
        for which in (ours, theirs) if number % 2 == 0 else (theirs, ours):
            both[which] = which()
            if both[which] is None:
                return pairs
            seen.append(crossings.measure())
        figures = seen
        pairs.add(seen, (both[ours], both[theirs]))
        if pairs.fewest() >= rounds:
            break
    return pairs
