#!/usr/bin/env python3
"""Compiles every piece of code in the documentation that is no whole program: what stands in a block ```cpp of the
Markdown files and folders given. (Whole programs, ```cpp complete, are run_programs.py's.)

A block is the body of a coroutine with `Rank& self` and `Team& team`, or, where it defines functions or types itself,
stands at namespace scope. What else it takes for given is declared in a comment before it, which readers don't see:

    <!-- given: std::vector<double> mine; Remote<double> place; -->

(includes in it stand on lines of their own).

A block that can't be compiled on its own begins with ```cpp excerpt; the reason stands in a comment before it, and this
script counts such blocks. Exit status 1 where one does not compile: the compiler names the file's line."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(?:^<!-- given:(?P<given>(?:(?!-->).)*)-->\n+)?^```(?P<words>cpp[^\n]*)\n(?P<code>.*?)^```$",
                   re.MULTILINE | re.DOTALL)
INCLUDE = re.compile(r"^#include .*\n", re.MULTILINE)
# The first line of a definition of a function or a type.
DEFINITION = re.compile(r"^(?:(?:struct|class|template)\b.*|"
                        r"(?!(?:if|for|while|switch|catch|co_await|co_return|return|else)\b)[\w:][\w:<>,&* ]* [\w:]+\([^;]*\)"
                        r"(?: const)?(?: noexcept)? \{)$", re.MULTILINE)
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-unused-function",
            "-Wno-unused-parameter"]
LIMIT_S = 300


def wrap(number, path, line, given, code):
    """A block in a namespace of its own; errors are told at its line in the documentation."""
    here = f'#line {line} "{path}"\n'
    if not DEFINITION.search(code):
        code = f"Task<> fragment(Rank& self, Team& team) {{\n{here}{code}\nco_return;\n}}\n"
    return f"namespace fragment{number} {{\n{here}{given.strip()}\n{here}{code}\n}}\n"


def source_of(path, named):
    """What the compiler gets, in a file of that name, and how many blocks of each kind there are."""
    text = path.read_text()
    includes, bodies, excerpts = ["#include <coracle/coracle.hpp>\n"], [], 0
    for number, block in enumerate(BLOCK.finditer(text)):
        words = block["words"].split()
        if words == ["cpp", "complete"]:
            continue
        if words == ["cpp", "excerpt"]:
            excerpts += 1
            continue
        line = text.count("\n", 0, block.start("code")) + 1
        if words != ["cpp"]:
            sys.exit(f"{path.name}:{line - 1}: ```{block['words']} is none of cpp, cpp complete, cpp excerpt")
        given = block["given"] or ""
        includes += INCLUDE.findall(given) + INCLUDE.findall(block["code"])
        # The lines stay, so that they are counted rightly.
        bodies.append(wrap(number, named, line, INCLUDE.sub("", given), INCLUDE.sub("\n", block["code"])))
    return "".join(includes) + "using namespace coracle;\nusing namespace std::chrono_literals;\n" + "".join(bodies), \
        len(bodies), excerpts


def markdown_of(path):
    return sorted(path.rglob("*.md")) if path.is_dir() else [path]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    failures = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in [file for given in arguments.files for file in markdown_of(given)]:
            file = pathlib.Path(folder) / path.name  # of the same name: compilers warn of other things in headers
            source, compiled, excerpts = source_of(path, file)
            total += compiled
            if not compiled:
                continue
            file.write_text(source)
            command = [*arguments.compiler.split(), "-std=c++20", "-fsyntax-only", "-pthread", *WARNINGS,
                       *[f"-I{include}" for include in arguments.include], "-x", "c++", file]
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
            failures += done.returncode != 0
            print(f"{path.name}: {compiled} compiled, {excerpts} excerpts" + (f"\n{done.stderr.replace(f'{folder}/', '')}" if done.returncode else ""))
    sys.exit(1 if failures or not total else 0)


if __name__ == "__main__":
    main()
