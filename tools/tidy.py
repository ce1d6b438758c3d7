#!/usr/bin/env python3
"""Runs clang-tidy over our sources (tests excepted: doctest's macros drown it) with the compile commands of the build
directory given. What passed once is not checked again, in whatever clone, until the text that the compiler sees
changes: the user's cache folder keeps a mark of it."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("runtime", "transports", "collectives", "storage", "apps")
TIDY = os.environ.get("CLANG_TIDY", "clang-tidy-16")
KEPT_S = 60 * 24 * 3600  # marks that nobody asked after for so long are dropped


def marks_folder():
    """Made if need be; marks that have got old are removed."""
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    folder = pathlib.Path(home) / "coracle" / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    for mark in folder.iterdir():
        if mark.stat().st_mtime < time.time() - KEPT_S:
            mark.unlink(missing_ok=True)
    return folder


def configuration():
    """What the result depends on beside the source."""
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    return (ROOT / ".clang-tidy").read_bytes() + b"\0" + version


def fingerprint(entry, config):
    """A hash over the preprocessed source, comments kept (NOLINT), and the configuration."""
    words = shlex.split(entry["command"])
    words = words[1:] if pathlib.Path(words[0]).name == "ccache" else words
    for option, count in (("-o", 2), ("-MF", 2), ("-MQ", 2), ("-MD", 1), ("-c", 1)):
        if option in words:
            at = words.index(option)
            del words[at:at + count]
    text = subprocess.run([*words, "-E", "-C"], cwd=entry["directory"], capture_output=True, check=True).stdout
    return hashlib.sha256(config + b"\0" + " ".join(words).encode() + b"\0" + text).hexdigest()


def check(entry, build, passed, config):
    """Returns (source, what clang-tidy complained of or None, whether it was run)."""
    source = (pathlib.Path(entry["directory"]) / entry["file"]).resolve().relative_to(ROOT)
    marker = passed / fingerprint(entry, config)
    if marker.exists():
        marker.touch()
        return source, None, False
    done = subprocess.run([TIDY, "-p", str(build), "--quiet", "--warnings-as-errors=*", str(source)], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        marker.touch()
        return source, None, True
    return source, done.stdout + "\n".join(line for line in done.stderr.splitlines() if "error" in line), True


def main(build):
    passed = marks_folder()
    config = configuration()
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if source.is_relative_to(ROOT) and source.relative_to(ROOT).parts[0] in FOLDERS:
            entries[source] = entry
    wrong = ran = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, complaints, was_run in pool.map(lambda entry: check(entry, build, passed, config), entries.values()):
            ran += was_run
            if complaints is not None:
                wrong += 1
                print(f"{source}:\n{complaints}\n", flush=True)
    print(f"{len(entries)} sources, {ran} checked anew, {wrong} with complaints")
    return 1 if wrong or not entries else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
