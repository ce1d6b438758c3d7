#!/usr/bin/env python3
"""Only what met the same machine is compared (turns.py): with figures that are made up."""

import unittest

from turns import Crossings, Pairs, take_turns


def turns(figures, rounds, runs=None, limit=3):
    """Both programs return what the machine takes just now, the second twice as much; `runs`: so many end well."""
    told = []
    left = iter(figures)
    ended = [0]

    def measure():
        told.append(next(left))
        return told[-1]

    def run(factor):
        ended[0] += 1
        return None if runs is not None and ended[0] > runs else factor * told[-1]

    pairs = take_turns(lambda: run(1), lambda: run(2), rounds, Crossings(measure), limit)
    return pairs, len(told)


class Turns(unittest.TestCase):
    def test_one_state_ends_after_its_rounds(self):
        pairs, told = turns([30.0, 31, 29, 30, 33, 28, 35], 3)
        self.assertEqual(told, 7)
        [(crossing, both)] = pairs.states()
        self.assertEqual((crossing, len(both), pairs.left_out), (30, 3, 0))

    def test_pairs_that_met_two_states_are_left_out_and_states_are_kept_apart(self):
        figures = [30.0, 30, 30, 30, 165, 165, 170, 160, 165, 30, 30, 30, 30, 30, 30]
        pairs, _ = turns(figures, 2, limit=4)
        self.assertEqual(pairs.left_out, 2)
        self.assertEqual([(crossing, len(both)) for crossing, both in pairs.states()], [(30, 2), (165, 2)])
        for _, both in pairs.states():
            for ours, theirs in both:
                self.assertLess(theirs, 2.5 * ours)

    def test_what_a_state_gave_that_was_seldom_met_is_not_told(self):
        pairs = Pairs()
        for crossing in (30, 165, 31, 29, 30):
            pairs.add([crossing] * 3, (1, 2))
        self.assertEqual([(crossing, len(both)) for crossing, both in pairs.states()], [(30, 4)])
        pairs.add([160] * 3, (1, 2))
        self.assertEqual([len(both) for _, both in pairs.states()], [4, 2])

    def test_a_program_that_fails_ends_it(self):
        pairs, told = turns([30.0] * 20, 5, runs=3)
        self.assertEqual([len(both) for _, both in pairs.states()], [1])
        self.assertEqual(told, 4)

    def test_each_goes_first_every_second_time(self):
        order = []
        take_turns(lambda: order.append("ours") or 1, lambda: order.append("theirs") or 1, 2, Crossings(lambda: 30.0))
        self.assertEqual(order, ["ours", "theirs", "theirs", "ours"])


if __name__ == "__main__":
    unittest.main()
