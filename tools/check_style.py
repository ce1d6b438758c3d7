#!/usr/bin/env python3
"""Fails on files, functions and lines longer than the style allows, and on local constants that hide another source's.
Takes the files to check; functions are found by universal-ctags, test cases (which ctags does not know) by their braces
in the first column."""

import collections
import json
import os
import re
import statistics
import subprocess
import sys

FILE_LINES_MAX = 700
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 120


def functions(paths):
    """Yields (path, first line, name, number of lines) of every function with a body."""
    command = ["ctags", "--languages=C,C++", "--map-C++=+.h", "--kinds-C=f", "--kinds-C++=f", "--fields=+ne",
               "--output-format=json", "-f", "-", *paths]
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        tag = json.loads(line)
        if "end" in tag:
            yield tag["path"], tag["line"], tag["name"], tag["end"] - tag["line"] + 1


def test_cases(path, lines):
    """Yields the same for doctest's cases: clang-format leaves their closing brace in the first column."""
    start = None
    for number, line in enumerate(lines, 1):
        if re.match(r"(TEST_CASE|SCENARIO)\w*\(", line):
            start = number
        elif start and line.startswith("}"):
            yield path, start, lines[start - 1].strip(), number - start + 1
            start = None


def hidden_constants(sources):
    """Complaints about constants in functions that are named as one of another source in the folder: a library's sources
    are compiled as one, and clang takes that for a mistake. Which of them meet, nobody sees before."""
    outer = collections.defaultdict(list)
    local = collections.defaultdict(list)
    for path, lines in sources:
        if not path.endswith(".cpp") or path.startswith("tests/"):
            continue
        for number, line in enumerate(lines, 1):
            if match := re.match(r"( *)const(?:expr)? [^()=;]*?\b(k[A-Z]\w*)\s*[={[]", line):
                (local if match[1] else outer)[os.path.dirname(path), match[2]].append((path, number))
    for (folder, name), places in local.items():
        for path, number in places:
            for other, line in outer[folder, name]:
                if other != path:
                    yield f"{path}:{number}: {name} hides the constant of {other}:{line}, compiled with it; rename one"


def main(paths):
    complaints = []
    sources = []
    lengths = []
    found = list(functions(paths))
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        sources.append((path, lines))
        lengths.append(len(lines))
        if len(lines) > FILE_LINES_MAX:
            complaints.append(f"{path}:{FILE_LINES_MAX + 1}: the file has {len(lines)} lines; {FILE_LINES_MAX} are allowed")
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS_MAX:
                complaints.append(f"{path}:{number}: {len(line)} columns; {COLUMNS_MAX} are allowed")
        found += test_cases(path, lines)
    for path, line, name, length in found:
        if length > FUNCTION_LINES_MAX:
            complaints.append(f"{path}:{line}: {name} has {length} lines; {FUNCTION_LINES_MAX} are allowed")
    complaints += hidden_constants(sources)
    print("\n".join(sorted(complaints)))
    sizes = sorted(length for *_, length in found) or [0]
    print(f"{len(paths)} files: median {statistics.median(lengths):.0f} lines, longest {max(lengths)}; "
          f"{len(found)} functions: median {statistics.median(sizes):.0f} lines, "
          f"95 % within {sizes[int(0.95 * (len(sizes) - 1))]}, longest {sizes[-1]}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
