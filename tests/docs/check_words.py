#!/usr/bin/env python3
"""Fails where the guide's tables of other libraries' words name something of Coracle that no installed header has.
Arguments: the root of the tree, and the guide. Of the second column it looks at what is called, made by a template, or
has a type's or a constant's name, in `code`."""

import pathlib
import re
import subprocess
import sys

SECTION = "## Words of MPI and of UPC++"
CODE = re.compile(r"`([^`]+)`")
NAME = re.compile(r"\b([A-Za-z_]\w*)(?=[(<])|\b(k?[A-Z]\w+)")


def rows(guide):
    _, _, rest = guide.partition(f"\n{SECTION}\n")
    for line in re.split(r"\n## ", rest)[0].splitlines():
        cells = [cell.strip() for cell in line.split(" | ")]
        if line.startswith("|") and len(cells) == 2 and not line.startswith("|---"):
            yield cells


def names_in(cell):
    for code in CODE.findall(cell):
        if "/" not in code:
            yield from (called or noun for called, noun in NAME.findall(code))


def words_of_headers(root):
    headers = subprocess.run([root / "tools/package/list-headers"], capture_output=True, text=True, check=True).stdout
    text = "".join((root / header).read_text() for header in headers.split())
    return set(re.findall(r"\w+", text))


def main():
    root, guide = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text()
    known = words_of_headers(root)
    table = list(rows(guide))
    named = {(name, ours) for _, ours in table for name in names_in(ours)}
    wrong = sorted(f"{name}: no header has it ({ours})" for name, ours in named if name not in known)
    print("\n".join(wrong))
    print(f"{len(table)} rows, {len({name for name, _ in named})} names; {len(wrong)} complaints")
    sys.exit(1 if wrong or len(table) < 40 else 0)


if __name__ == "__main__":
    main()
