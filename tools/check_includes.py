#!/usr/bin/env python3
"""Fails on an include that runs against the order of the folders: runtime knows nothing above it; transports, collectives
and storage know only runtime, never each other. Prints file:line of each. Fails, too, on a cycle of units (a header and
its source) or of folders that is not part of one in tools/known_cycles.json, and on one there that is not so any more:
so that there are ever fewer."""

import json
import pathlib
import re
import sys

import include_cycles

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


def cycles_of(includes):
    """Of the product: {"units": cycles, "folders": cycles}."""
    product = {file: {target if target in includes else f"include/{target}" for target in targets}
               for file, targets in includes.items() if not file.startswith("tests/")}
    product = {file: {target for target in targets if target in product} for file, targets in product.items()}
    return {"units": include_cycles.strong_components(include_cycles.unit_edges(product)),
            "folders": include_cycles.strong_components(include_cycles.folder_edges(product))}


def complaints_of_cycles(found, known):
    """`found` and `known`: as cycles_of() gives them."""
    for kind, cycles in found.items():
        for cycle in cycles:
            if not any(set(cycle) <= set(one) for one in known[kind]):
                yield f"{kind} that include each other in a circle: {', '.join(cycle)}"
        yield from (f"{kind} that are no circle any more: take it out of tools/known_cycles.json, or write there what is "
                    f"left of it: {', '.join(one)}" for one in known[kind] if one not in cycles)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    found = 0
    includes = {}
    for folder in MAY_INCLUDE:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".cpp", ".hpp", ".c", ".h"}:
                continue
            name = str(path.relative_to(root))
            includes[name] = set()
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if match:
                    includes[name].add(match[1])
                wrong = match and complaint(folder, match[1])
                if wrong:
                    found += 1
                    print(f'{name}:{number}: includes "{match[1]}": {wrong}')
    cycles = cycles_of(includes)
    known = root / "tools" / "known_cycles.json"
    if sys.argv[1:] == ["--write-known"]:
        known.write_text(json.dumps(cycles, indent=1) + "\n")
    for text in complaints_of_cycles(cycles, json.loads(known.read_text())):
        found += 1
        print(text)
    print(f"{len(includes)} files, {found} forbidden includes and cycles; known cycles: {len(cycles['units'])} of units, "
          f"{len(cycles['folders'])} of folders")
    return 1 if found or not includes else 0


if __name__ == "__main__":
    sys.exit(main())
