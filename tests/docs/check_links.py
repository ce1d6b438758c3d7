#!/usr/bin/env python3
"""Fails on relative links in the documentation that lead nowhere: files that are not there, headings that do not exist.
Argument: the root of the tree. Prints file:line of each."""

import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^\s*```")
HEADING = re.compile(r"^#+\s+(.*)$")


def lines_outside_code(path):
    inside = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield number, line


def anchors(path):
    """The names by which headings are reached, as the usual viewers make them."""
    found = set()
    for _, line in lines_outside_code(path):
        if heading := HEADING.match(line):
            plain = re.sub(r"[^\w\- ]", "", heading[1].lower())
            found.add(plain.strip().replace(" ", "-"))
    return found


def complaint(path, target):
    """What is wrong with a link from path, or None."""
    name, _, anchor = target.partition("#")
    there = path.parent / name if name else path
    if not there.exists():
        return f"{target}: there is no such file"
    if anchor and (there.suffix != ".md" or anchor not in anchors(there)):
        return f"{target}: there is no such heading"
    return None


def main():
    root = pathlib.Path(sys.argv[1])
    files = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    found = links = 0
    for path in files:
        for number, line in lines_outside_code(path):
            for target in LINK.findall(line):
                if re.match(r"[a-z]+:", target):
                    continue
                links += 1
                if what := complaint(path, target):
                    found += 1
                    print(f"{path.relative_to(root)}:{number}: {what}")
    print(f"{links} links in {len(files)} files, {found} of them wrong")
    sys.exit(1 if found or not links else 0)


if __name__ == "__main__":
    main()
