#!/usr/bin/env python3
"""bytes_as_numbers.py INPUT OUTPUT: writes a file's bytes as C++ has them in an array, so that a program can hold it."""

import pathlib
import sys

PER_LINE = 32


def main():
    source, target = sys.argv[1:]
    data = pathlib.Path(source).read_bytes()
    lines = (",".join(map(str, data[at:at + PER_LINE])) + ",\n" for at in range(0, len(data), PER_LINE))
    pathlib.Path(target).write_text("".join(lines))


if __name__ == "__main__":
    main()
