#!/usr/bin/env python3
"""What the includes of the tree are complained of: cycles, and names whose header is missing."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

import check_includes  # noqa: E402
import std_includes  # noqa: E402


def missing(**texts):
    """Complaints about files of a made-up tree; `a__hpp` is runtime/a.hpp."""
    files = {f"runtime/{name.replace('__', '.')}": text for name, text in texts.items()}
    includes, wrong_names = check_includes.includes_of(files)
    return [*wrong_names, *std_includes.complaints(includes, files)]


class StandardHeaders(unittest.TestCase):
    def test_that_are_missing_are_named_once_with_the_line(self):
        self.assertEqual(missing(a__cpp="#include <string>\n\nstd::vector<std::string> a;\nstd::vector<int> b;\n"),
                         ["runtime/a.cpp:3: std::vector is of <vector>, which is not included"])
        self.assertEqual(missing(a__cpp="std::chrono::seconds a;"),
                         ["runtime/a.cpp:1: std::seconds is of <chrono>, which is not included"])
        self.assertEqual(missing(a__cpp='auto a = fmt::format("");'),
                         ["runtime/a.cpp:1: fmt::format is of <fmt/format.h>, which is not included"])

    def test_may_come_by_headers_of_the_tree(self):
        self.assertEqual(missing(a__cpp='#include "runtime/b.hpp"\nstd::vector<int> a;', b__hpp='#include "runtime/c.hpp"',
                                 c__hpp="#include <vector>"), [])

    def test_of_names_that_several_have_are_any_of_these(self):
        for header in ("cmath", "cstdlib"):
            self.assertEqual(missing(a__cpp=f"#include <{header}>\nint a = std::abs(1);"), [])
        self.assertEqual(len(missing(a__cpp="#include <vector>\nint a = std::abs(1);")), 1)

    def test_are_not_wanted_by_comments_and_texts(self):
        self.assertEqual(missing(a__cpp='// std::vector\n/* std::map\n */ const char* a = "std::set \\" std::deque";'), [])

    def test_may_come_by_headers_in_a_circle(self):
        self.assertEqual(missing(a__hpp='#include "runtime/b.hpp"\n#include <map>',
                                 b__hpp='#include "runtime/a.hpp"\nstd::map<int, int> b;'), [])


class Circles(unittest.TestCase):
    def test_of_units_and_of_rooms_are_complained_of(self):
        files = {"runtime/x/a.hpp": '#include "runtime/y/b.hpp"', "runtime/y/b.hpp": '#include "runtime/x/a.hpp"'}
        includes, _ = check_includes.includes_of(files)
        self.assertEqual(len(list(check_includes.complaints_of_cycles(includes))), 2)


if __name__ == "__main__":
    unittest.main()
