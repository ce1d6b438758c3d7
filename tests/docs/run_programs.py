#!/usr/bin/env python3
"""Compiles and runs the programs of the documentation. In the Markdown files given, a block that begins with
```cpp complete is a whole program; a block ```text output after it is what the program prints, its lines in any order.
`-n 4` and other options of `coracle run` may follow on that line. A program without such a block must end well and say
something. Exit status 1 names each that does not."""

import argparse
import concurrent.futures
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DEFAULT_OPTIONS = ["-n", "2"]
LIMIT_S = 120


class Program:
    def __init__(self, place, source):
        self.place = place
        self.source = source
        self.options = DEFAULT_OPTIONS
        self.output = None


def programs_of(path):
    found = []
    previous = None
    text = path.read_text()
    for block in BLOCK.finditer(text):
        words = block[1].split()
        if words[:2] == ["cpp", "complete"]:
            line = text.count("\n", 0, block.start()) + 1
            found.append(Program(f"{path.name}:{line}", block[2]))
            previous = found[-1]
        elif words[:2] == ["text", "output"] and previous is not None:
            previous.options = words[2:] or DEFAULT_OPTIONS
            previous.output = block[2].splitlines()
        else:
            previous = None
    return found


def run(command, **keywords):
    """Standard output; raises RuntimeError with all that is known when the command fails or complains."""
    text = shlex.join(map(str, command))
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, **keywords)
    if done.returncode != 0:
        raise RuntimeError(f"{text}\nended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    if done.stderr:
        raise RuntimeError(f"{text}\ncomplained:\n{done.stderr}")
    return done.stdout


# Unoptimised: quick to compile.
OPTIONS = ["-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-pthread"]
HEADER = "coracle/coracle.hpp"


def precompile(arguments, folder):
    """The header that all programs begin with, under its name, where g++ finds it first (others don't look for it)."""
    source = folder / "headers.hpp"
    source.write_text(f"#include <{HEADER}>\n")
    (folder / HEADER).parent.mkdir()
    run([*arguments.compiler.split(), *OPTIONS, f"-I{arguments.root}", f"-I{arguments.root / 'include'}", "-x", "c++-header",
         source, "-o", f"{folder / HEADER}.gch"])


def check(program, number, arguments, folder):
    source = folder / f"program{number}.cpp"
    binary = folder / f"program{number}"
    source.write_text(program.source)
    includes = [f"-I{path}" for path in (folder, arguments.root, arguments.root / "include")]
    run([*arguments.compiler.split(), *OPTIONS, *includes, source, "-o", binary, *arguments.libraries.split()])
    printed = run([arguments.coracle, "run", "--timeout", "60s", *program.options, binary], cwd=folder).splitlines()
    if program.output is None and not printed:
        raise RuntimeError("it printed nothing")
    if program.output is not None and sorted(printed) != sorted(program.output):
        raise RuntimeError("it printed\n  " + "\n  ".join(printed) + "\nwhere the text has\n  " +
                           "\n  ".join(program.output))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--coracle", required=True)
    parser.add_argument("--libraries", required=True, help="as for the linker, the highest folder first")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    programs = [program for path in arguments.files for program in programs_of(path)]
    if not programs:
        sys.exit("there is no block ```cpp complete in these files")
    failures = 0
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(name)
        precompile(arguments, folder)
        results = [pool.submit(check, program, number, arguments, folder) for number, program in enumerate(programs)]
        for program, result in zip(programs, results):
            try:
                result.result()
                print(f"{program.place}: ok")
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                failures += 1
                print(f"{program.place}: {error}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
