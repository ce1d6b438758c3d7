#!/usr/bin/env python3
"""Fails on an include that is not of the rooms (folders) that its room may know, by the table in tools/rooms.json, and on
a cycle of units (a header and its source) or of rooms; and on names of the standard library whose header is not included
(std_includes.py). Prints file:line of each. With --write-rooms writes the table
anew, by what is included now: for when a new arrow is wanted; what goes against the folders' order (FOLDERS, docs/design.md)
stays wrong. A test may include everything."""

import json
import pathlib
import re
import sys

import include_cycles
import std_includes

PRODUCT = ("include", "runtime", "transports", "collectives", "storage", "interfaces", "apps")
# What each of these may know of the others. "include" itself, beside its folder coracle, holds headers that know nothing.
FOLDERS = {"runtime": ("include",), "transports": ("runtime",), "collectives": ("runtime",), "storage": ("runtime",)}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')


def room_of(file):
    return str(pathlib.PurePath(file).parent)


def texts_of(root):
    """{file: what it holds}, of all sources and headers of the tree."""
    texts = {}
    for folder in (*PRODUCT, "tests"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in {".cpp", ".hpp", ".c", ".h"}:
                texts[str(path.relative_to(root))] = path.read_text()
    return texts


def includes_of(texts):
    """{file: [(line number, included file)]}, of those of the tree; and complaints about names that are no paths."""
    includes, complaints = {}, []
    for file, text in texts.items():
        includes[file] = []
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match[1] if match[1] in texts else f"include/{match[1]}"
            if ".." in match[1].split("/") or "." in match[1].split("/"):
                complaints.append(f'{file}:{number}: includes "{match[1]}": name it from the root of the tree')
            elif target in texts:
                includes[file].append((number, target))
    return includes, complaints


def arrows_of(includes):
    """{room: sorted rooms that it includes}."""
    arrows = {}
    for file, targets in includes.items():
        room = room_of(file)
        arrows.setdefault(room, set()).update({room_of(target) for _, target in targets} - {room})
    return {room: sorted(targets) for room, targets in sorted(arrows.items())}


def complaints_of_arrows(includes, allowed):
    for file, targets in includes.items():
        room = room_of(file)
        if room not in allowed:
            yield f"{file}: the room {room} is not in tools/rooms.json"
            continue
        for number, target in targets:
            if room_of(target) not in {room, *allowed[room]}:
                known = ", ".join(allowed[room]) or "none"
                yield f'{file}:{number}: includes "{target}": {room} may know only these rooms: {known}'


def complaints_of_folders(includes):
    for file, targets in includes.items():
        folder = file.split("/")[0]
        for number, target in targets if folder in FOLDERS else ():
            known = target.split("/")[0] if not target.startswith("include/") else room_of(target)
            if known not in (folder, *FOLDERS[folder]):
                yield f'{file}:{number}: includes "{target}": {folder} may know only {", ".join(FOLDERS[folder])}'


def complaints_of_cycles(includes):
    files = {file: {target for _, target in targets} for file, targets in includes.items()}
    for kind, edges in (("units", include_cycles.unit_edges(files)), ("rooms", include_cycles.folder_edges(files))):
        for cycle in include_cycles.strong_components(edges):
            yield f"{kind} that include each other in a circle: {', '.join(cycle)}"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    texts = texts_of(root)
    includes, complaints = includes_of(texts)
    product = {file: targets for file, targets in includes.items() if not file.startswith("tests/")}
    table = root / "tools" / "rooms.json"
    if sys.argv[1:] == ["--write-rooms"]:
        table.write_text(json.dumps(arrows_of(product), indent=1) + "\n")
    allowed = json.loads(table.read_text())
    complaints += complaints_of_arrows(product, allowed)
    complaints += complaints_of_folders(product)
    complaints += complaints_of_cycles(product)
    complaints += std_includes.complaints(product, {file: texts[file] for file in product})
    unused = [room for room in allowed if not any(room_of(file) == room for file in product)]
    complaints += [f"tools/rooms.json: there is no room {room}" for room in unused]
    for text in complaints:
        print(text)
    print(f"{len(includes)} files in {len(allowed)} rooms; {len(complaints)} complaints")
    return 1 if complaints or not includes else 0


if __name__ == "__main__":
    sys.exit(main())
