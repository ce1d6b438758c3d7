#!/usr/bin/env python3
"""Compiles programs that must not compile, and looks at what is said of them: the first error is the sentence that
stands beside the program's number, and not much follows. Exit status 1 names each that does not. All are compiled at
once, since reading the headers is what takes time; those of which nothing right is said then, alone."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

LINES_MAX = 40
LIMIT_S = 300
PROGRAM = re.compile(r"^#if WRONG\((\d+)\)(?:\s+// (.*))?$", re.MULTILINE)
ERROR = re.compile(r"\b(fatal )?error: ")
# What g++ says before an error, of the way to it.
CONTEXT = re.compile(r":\s+(In (instantiation|substitution|function|static|member|lambda|constructor)|required (from|by)|recursively)|"
                     r"^In file included|^ +from ")
# clang's words for the same.
ALSO = {"use of deleted function": "call to deleted member function"}


def first_error(text):
    return next((line for line in text.splitlines() if ERROR.search(line)), "")


def options(arguments):
    return ["-std=c++20", "-w", "-pthread", "-fdiagnostics-color=never", *[f"-I{path}" for path in arguments.include]]


def precompile(arguments, text, folder):
    """The headers, which take nearly all the time, once; gives the name to include."""
    header = pathlib.Path(folder) / "headers.hpp"
    header.write_text("".join(f"{line}\n" for line in text.splitlines() if line.startswith("#include <")))
    subprocess.run([*arguments.compiler.split(), *options(arguments), "-x", "c++-header", header, "-o", f"{header}.gch"],
                   timeout=LIMIT_S, check=True)
    return header


def compile_with(arguments, header, definition):
    command = [*arguments.compiler.split(), *options(arguments), "-fsyntax-only", "-include", header,
               f"-DWRONG(number)={definition}", arguments.source]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def trouble_with(said, sentence):
    """What is amiss with what the compiler says of a wrong program."""
    if not said:
        return "compiles"
    error = first_error(said)
    if sentence not in error and ALSO.get(sentence, sentence) not in error:
        return f"the first error should say '{sentence}', but is:\n{error}"
    lines = len(said.splitlines())
    return "" if lines <= LINES_MAX else f"the compiler says {lines} lines:\n{said}"


def check_alone(arguments, header, number, sentence):
    done = compile_with(arguments, header, f"(number == {number})")
    if sentence is None:
        return "" if done.returncode == 0 else f"does not compile:\n{done.stderr}"
    return trouble_with(done.stderr if done.returncode != 0 else "", sentence)


def by_program(source, text, said):
    """What the compiler says of each number, where it was given all programs at once: an error is of the program whose
    lines are named in it first, or on the way to it."""
    begins = [(text.count("\n", 0, found.start()) + 1, int(found[1])) for found in PROGRAM.finditer(text)]
    place = re.compile(re.escape(source) + r":(\d+):")
    parts, context = [], []
    for line in said.splitlines():
        if ERROR.search(line):
            parts.append([*context, line])
            context = []
        elif CONTEXT.search(line):
            context.append(line)
        elif parts:
            parts[-1] += [*context, line]
            context = []
    found = {}
    for part in parts:
        at = place.search("\n".join(part))
        numbers = [number for begin, number in begins if at and begin <= int(at[1])]
        if numbers:
            found.setdefault(numbers[-1], []).extend(part)
    return {number: "\n".join(lines) for number, lines in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("source")
    arguments = parser.parse_args()
    text = pathlib.Path(arguments.source).read_text(encoding="utf-8")
    programs = [(int(found[1]), found[2]) for found in PROGRAM.finditer(text)]
    if len(programs) < 2:
        sys.exit("there are no wrong programs in this file")
    failures = alone = 0
    with tempfile.TemporaryDirectory() as folder:
        header = precompile(arguments, text, folder)
        said = by_program(arguments.source, text, compile_with(arguments, header, 1).stderr)
        for number, sentence in programs:
            # The compiler says once what is wrong with a type, for the first program that has it.
            trouble = trouble_with(said.get(number, ""), sentence or "")
            if trouble or sentence is None:
                alone += 1
                trouble = check_alone(arguments, header, number, sentence)
            print(f"{number}: {trouble or 'ok'}")
            failures += bool(trouble)
    print(f"{alone} of {len(programs)} compiled alone")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
