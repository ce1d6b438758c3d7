#!/usr/bin/env python3
"""Runs clang-tidy over our sources (tests excepted: doctest's macros drown it) with the compile commands of the build
directory given. What passed once is not checked again until the text that the compiler sees changes."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("runtime", "transports", "collectives", "storage", "apps")
TIDY = "clang-tidy-16"


def fingerprint(entry):
    """A hash over the preprocessed source, comments kept (NOLINT), and the configuration."""
    words = shlex.split(entry["command"])
    words = words[1:] if pathlib.Path(words[0]).name == "ccache" else words
    for option, count in (("-o", 2), ("-MF", 2), ("-MQ", 2), ("-MD", 1), ("-c", 1)):
        if option in words:
            at = words.index(option)
            del words[at:at + count]
    text = subprocess.run([*words, "-E", "-C"], cwd=entry["directory"], capture_output=True, check=True).stdout
    config = (ROOT / ".clang-tidy").read_bytes()
    return hashlib.sha256(config + b"\0" + " ".join(words).encode() + b"\0" + text).hexdigest()


def check(entry, build, passed):
    """Returns (source, what clang-tidy complained of or None, whether it was run)."""
    source = (pathlib.Path(entry["directory"]) / entry["file"]).resolve().relative_to(ROOT)
    marker = passed / fingerprint(entry)
    if marker.exists():
        return source, None, False
    done = subprocess.run([TIDY, "-p", str(build), "--quiet", "--warnings-as-errors=*", str(source)], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        marker.touch()
        return source, None, True
    return source, done.stdout + "\n".join(line for line in done.stderr.splitlines() if "error" in line), True


def main(build):
    passed = ROOT / "build" / "tidy"
    passed.mkdir(parents=True, exist_ok=True)
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if source.is_relative_to(ROOT) and source.relative_to(ROOT).parts[0] in FOLDERS:
            entries[source] = entry
    wrong = ran = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, complaints, was_run in pool.map(lambda entry: check(entry, build, passed), entries.values()):
            ran += was_run
            if complaints is not None:
                wrong += 1
                print(f"{source}:\n{complaints}\n", flush=True)
    print(f"{len(entries)} sources, {ran} checked anew, {wrong} with complaints")
    return 1 if wrong or not entries else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
