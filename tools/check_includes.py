#!/usr/bin/env python3
"""Fails on an include that runs against the order of the folders: runtime knows nothing above it; transports, collectives
and storage know only runtime, never each other. Prints file:line of each."""

import pathlib
import re
import sys

LIBRARIES = {"runtime", "transports", "collectives", "storage"}
MAY_INCLUDE = {
    "runtime": {"runtime"},
    "transports": {"runtime", "transports"},
    "collectives": {"runtime", "collectives"},
    "storage": {"runtime", "storage"},
    "include": LIBRARIES | {"coracle"},
    "apps": LIBRARIES | {"coracle", "apps"},
    "tests": LIBRARIES | {"coracle", "apps", "tests"},
}
FOLDERS = LIBRARIES | {"coracle", "apps", "tests"}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')


def complaint(folder, target):
    """What is wrong with folder including target, or None."""
    parts = target.split("/")
    if ".." in parts or "." in parts:
        return "name it from the root of the tree"
    if len(parts) > 1 and parts[0] in FOLDERS and parts[0] not in MAY_INCLUDE[folder]:
        return f"{folder} may include only {', '.join(sorted(MAY_INCLUDE[folder]))}"
    return None


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    found = files = 0
    for folder in MAY_INCLUDE:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".cpp", ".hpp", ".c", ".h"}:
                continue
            files += 1
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                wrong = match and complaint(folder, match[1])
                if wrong:
                    found += 1
                    print(f'{path.relative_to(root)}:{number}: includes "{match[1]}": {wrong}')
    print(f"{files} files, {found} forbidden includes")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
