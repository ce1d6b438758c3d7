#!/usr/bin/env python3
"""Which runs compare-datatypes compares, when the machine was in several states."""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import summarise_datatypes as summary

SCRIPT = pathlib.Path(summary.__file__)


def times_of(chosen, times):
    return {program: sorted(times[program][index] for index in indexes) for program, indexes in chosen.items()}


class Choice(unittest.TestCase):
    def choose(self, times):
        """The hand-overs of the runs that are compared, and why; the same whatever the programs are called."""
        runs, why = summary.runs_to_compare(times)
        for names in itertools.permutations(times):
            renamed, same_why = summary.runs_to_compare({name: times[name] for name in names})
            self.assertEqual((renamed, same_why), (runs, why))
        turned, _ = summary.runs_to_compare({program: list(reversed(own)) for program, own in times.items()})
        chosen = times_of(runs, times)
        self.assertEqual(times_of(turned, {program: list(reversed(own)) for program, own in times.items()}), chosen)
        return chosen, why

    def test_runs_of_30_and_45_ns_are_not_one_state(self):
        chosen, why = self.choose({"coracle": [30.2, 31, 45, 33, 46, 30.5, 44, 160],
                                   "openmpi": [44, 30.3, 31, 30.4, 160, 32, 33.4, 41],
                                   "mpich": [46, 39.5, 30.9, 31.2, 31, 30.5, 47, 170]})
        self.assertEqual(why, "one state")
        self.assertEqual(chosen, {"coracle": [30.2, 30.5, 31, 33], "openmpi": [30.3, 30.4, 31, 32, 33.4],
                                  "mpich": [30.5, 30.9, 31, 31.2]})

    def test_the_state_is_that_with_most_runs_of_the_program_with_fewest(self):
        chosen, why = self.choose({"coracle": [30] * 8 + [45] * 4, "openmpi": [30] * 3 + [45] * 4 + [160] * 5})
        self.assertEqual((chosen, why), ({"coracle": [45] * 4, "openmpi": [45] * 4}, "one state"))

    def test_a_state_that_varies_is_one(self):
        chosen, why = self.choose({"coracle": [39.4, 41, 47, 30], "openmpi": [43, 45, 46, 31]})
        self.assertEqual((chosen, why), ({"coracle": [39.4, 41, 47], "openmpi": [43, 45, 46]}, "one state"))

    def test_where_no_state_has_enough_as_many_of_each_are_compared(self):
        chosen, why = self.choose({"coracle": [30, 31, 45, 44, 160, 161, 31, 32],
                                   "openmpi": [30, 32, 45, 46, 150, 46, 44, 43]})
        self.assertEqual(why, "alike")
        self.assertEqual([len(own) for own in chosen.values()], [5, 5])
        for ours, theirs in zip(*chosen.values()):
            self.assertLessEqual(max(ours, theirs), summary.STATE_WIDTH * min(ours, theirs))

    def test_as_many_alike_are_found_as_there_are(self):
        chosen = summary.runs_of_alike({"coracle": [20, 24, 30, 90], "openmpi": [25, 29, 37], "mpich": [23, 30, 36]})
        self.assertEqual([len(indexes) for indexes in chosen.values()], [3, 3, 3])

    def test_where_too_few_are_alike_all_are_compared(self):
        times = {"coracle": [30, 30, 45, 45], "openmpi": [45, 45, 160, 160]}
        self.assertEqual(self.choose(times), ({program: sorted(own) for program, own in times.items()}, "all"))

    def test_many_rounds_need_more_than_three(self):
        _, why = self.choose({"coracle": [30] * 3 + [160] * 9, "openmpi": [30] * 12})
        self.assertEqual(why, "all")

    def test_without_hand_overs_all_are_compared(self):
        runs, why = summary.runs_to_compare({"coracle": [30, None, 31], "openmpi": [30, 31, 32]})
        self.assertEqual((runs, why), ({"coracle": [0, 1, 2], "openmpi": [0, 1, 2]}, "all"))

    def test_one_round_is_enough_if_it_is_alike(self):
        self.assertEqual(self.choose({"coracle": [30], "openmpi": [31]})[1], "one state")
        self.assertEqual(self.choose({"coracle": [30], "openmpi": [45]})[1], "all")


class Table(unittest.TestCase):
    def test_medians_are_those_of_the_runs_compared(self):
        side = {"bytes": 480, "low": 0, "high": 480, "fingerprint": 7}
        runs = {"coracle": [(10, 30), (11, 31), (12, 32), (50, 160)], "openmpi": [(24, 30), (90, 150), (22, 31), (23, 32)]}
        with tempfile.TemporaryDirectory() as folder:
            figures, result = pathlib.Path(folder) / "figures", pathlib.Path(folder) / "result.json"
            with figures.open("w", encoding="utf-8") as file:
                for program, own in runs.items():
                    for (median, hand_over), way in itertools.product(own, (summary.CHOSEN.get(program, "datatype"), "by-hand")):
                        factor = 3 if way == "by-hand" else 1
                        print(json.dumps({"program": program, "pattern": "NAS_LU_x", "size": "12", "bytes": 480, "send": side,
                                          "receive": side, "way": way, "median_ns": median * factor, "min_ns": median - 1,
                                          "hand_over_ns": hand_over}), file=file)
            subprocess.run([sys.executable, SCRIPT, "table", figures, result], check=True, capture_output=True)
            entry = json.loads(result.read_text(encoding="utf-8"))["figures"][0]
        self.assertEqual(entry["compared"], "one state")
        self.assertEqual(entry["hand_over_ns"], [30, 32])
        self.assertEqual((entry["coracle"]["median_ns"], entry["openmpi"]["median_ns"]), (11, 23))
        self.assertEqual(entry["coracle"]["by-hand"]["median_ns"], 33)
        self.assertEqual(entry["ratios"], {"openmpi": 23 / 11})


if __name__ == "__main__":
    unittest.main()
