#!/usr/bin/env python3
"""Runs clang-tidy over our sources (tests excepted: doctest's macros drown it) with the compile commands of the build
directory given: over those that are compiled together at once, since most of its time goes to what they include. Each
of these must also compile alone, so that none lives on what another includes; with all headers of the standard library
and of fmt, precompiled, since these are most of the time (std_includes.py looks at them). What passed once is not
checked again, in whatever clone, until the text that the compiler sees changes: the user's cache folder keeps a mark.
Not where the environment has CI, since nothing is kept there, and preprocessing each source takes a fifth of a second."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

import std_includes

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("include", "runtime", "transports", "collectives", "storage", "interfaces", "apps")
TIDY = os.environ.get("CLANG_TIDY", "clang-tidy-16")
# Its solver may take for ever, as it happens (clang 16: 20 minutes over a dozen that else takes 10 s): who takes longer than
# the limit is looked at without it.
SLOW_CHECK = "bugprone-unchecked-optional-access"
LIMIT_S = 60
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


def compiler(entry, source):
    """The words that compile `source` as the entry compiles its own, without outputs."""
    words = shlex.split(entry["command"])
    words = words[1:] if pathlib.Path(words[0]).name == "ccache" else words
    for option, count in (("-o", 2), ("-MF", 2), ("-MQ", 2), ("-MD", 1), ("-c", 2)):
        if option in words:
            at = words.index(option)
            del words[at:at + count]
    return [*words, str(source)]


class StandardHeaders:
    """All headers of the standard library and of fmt, precompiled as a source is compiled that is looked at alone."""

    def __init__(self, folder):
        folder.mkdir(exist_ok=True)
        self.source = folder / "all.hpp"
        self.source.write_text("".join(f"#include <{header}>\n" for header in std_includes.headers()))
        self.by_words = {}

    def words_for(self, entry, source):
        """The words that compile `source` alone, by these."""
        kept = [word for word in compiler(entry, source)[:-1] if not re.fullmatch(r"-O\w|-fPI[CE]", word)]
        # Where included files lie is of no concern to the standard library.
        key = tuple(word for word in kept if not word.startswith("-I"))
        if key not in self.by_words:
            target = self.source.with_name(f"{len(self.by_words)}.pch")
            words = [*key, "-fpch-instantiate-templates", "-x", "c++-header", str(self.source), "-o", str(target)]
            subprocess.run(words, cwd=entry["directory"], check=True)
            self.by_words[key] = target
        return [*kept, "-include-pch", str(self.by_words[key]), "-fsyntax-only", str(source)]


class Check:
    """A command that looks at a source as an entry of compile_commands.json compiles it."""

    def __init__(self, entry, source, command):
        self.entry = entry
        self.source = source
        self.command = command

    def fingerprint(self, config):
        """A hash over the preprocessed source, comments kept (NOLINT), the command and the configuration; the same in
        every clone."""
        preprocess = [*compiler(self.entry, self.source), "-E", "-C"]
        text = subprocess.run(preprocess, cwd=self.entry["directory"], capture_output=True, check=True).stdout
        seen = b"\0".join((config, " ".join(self.command).encode(), text))
        return hashlib.sha256(seen.replace(str(ROOT).encode() + b"/", b"")).hexdigest()

    def run(self, passed, config):
        """Returns (source, what was complained of or None, whether it was run). `passed`: the marks, or None."""
        marker = passed / self.fingerprint(config) if passed else None
        if marker and marker.exists():
            marker.touch()
            return self.source, None, False
        done = self.run_within_limit()
        if done.returncode == 0:
            if marker:
                marker.touch()
            return self.source, None, True
        return self.source, done.stdout + "\n".join(line for line in done.stderr.splitlines() if "error" in line), True

    def run_within_limit(self):
        how = {"cwd": self.entry["directory"], "capture_output": True, "text": True, "check": False}
        try:
            return subprocess.run(self.command, timeout=LIMIT_S, **how)
        except subprocess.TimeoutExpired:
            print(f"{self.source.name}: not done after {LIMIT_S} s; without {SLOW_CHECK}", flush=True)
        given = [word for word in self.command if word.startswith("--checks=")]
        checks = ",".join([*(given or ["--checks="]), f"-{SLOW_CHECK}"]).replace("=,", "=")
        others = [word for word in self.command[1:] if word not in given]
        return subprocess.run([self.command[0], checks, *others], **how)


def sources_together(entry, source):
    """The sources that a file of the build includes to compile them together; none if it is a source itself."""
    if not source.is_relative_to(pathlib.Path(entry["directory"])) or not source.name.endswith(".cpp"):
        return []
    names = re.findall(r"^#include ?<(.*\.cpp)>$", source.read_text(), re.MULTILINE)
    return [pathlib.Path(name).resolve() for name in names]


def is_ours(source):
    return source.is_relative_to(ROOT) and source.relative_to(ROOT).parts[0] in FOLDERS


def checks_of(build, standard_headers):
    """What is to be run: clang-tidy over each entry, and the compiler over each of several sources."""
    tidy = [TIDY, "-p", str(build), "--quiet", "--warnings-as-errors=*"]
    checks = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        together = sources_together(entry, source)
        if not all(map(is_ours, together)):
            continue  # of tests, which compile some of our sources once more
        if together:
            checks[source] = Check(entry, source, [*tidy, "--checks=-bugprone-suspicious-include", str(source)])
        elif is_ours(source):
            checks[source] = Check(entry, source, [*tidy, str(source)])
        for part in together[1:]:  # before the first there is nothing
            checks[part] = Check(entry, part, standard_headers.words_for(entry, part))
    return list(checks.values())


def main(build):
    passed = None if os.environ.get("CI") else marks_folder()
    config = configuration()
    checks = checks_of(build, StandardHeaders(build / "standard_headers"))
    wrong = ran = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, complaints, was_run in pool.map(lambda check: check.run(passed, config), checks):
            ran += was_run
            if complaints is not None:
                wrong += 1
                print(f"{source.relative_to(ROOT)}:\n{complaints}\n", flush=True)
    print(f"{len(checks)} files, {ran} checked anew, {wrong} with complaints")
    return 1 if wrong or not checks else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
