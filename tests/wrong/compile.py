#!/usr/bin/env python3
"""Compiles programs that must not compile, and looks at what is said of them: the first error is the sentence that
stands beside the program's number, and not much follows. Exit status 1 names each that does not."""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

LINES_MAX = 40
LIMIT_S = 300
# clang's words for the same.
ALSO = {"use of deleted function": "call to deleted member function"}


def first_error(text):
    for line in text.splitlines():
        if re.search(r"\b(fatal )?error: ", line):
            return line
    return ""


def options(arguments):
    return ["-std=c++20", "-w", "-pthread", "-fdiagnostics-color=never", *[f"-I{path}" for path in arguments.include]]


def precompile(arguments, text, folder):
    """The headers, which take nearly all the time, once; gives the name to include."""
    header = pathlib.Path(folder) / "headers.hpp"
    header.write_text("".join(f"{line}\n" for line in text.splitlines() if line.startswith("#include <")))
    subprocess.run([*arguments.compiler.split(), *options(arguments), "-x", "c++-header", header, "-o", f"{header}.gch"],
                   timeout=LIMIT_S, check=True)
    return header


def check(arguments, header, number, sentence):
    command = [*arguments.compiler.split(), *options(arguments), "-fsyntax-only", "-include", header, f"-DWRONG={number}",
               arguments.source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if sentence is None:
        return "" if done.returncode == 0 else f"does not compile:\n{done.stderr}"
    if done.returncode == 0:
        return "compiles"
    said = first_error(done.stderr)
    if sentence not in said and ALSO.get(sentence, sentence) not in said:
        return f"the first error should say '{sentence}', but is:\n{said}"
    lines = len(done.stderr.splitlines())
    return "" if lines <= LINES_MAX else f"the compiler says {lines} lines:\n{done.stderr}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("source")
    arguments = parser.parse_args()
    text = pathlib.Path(arguments.source).read_text(encoding="utf-8")
    found = re.findall(r"^#(?:el)?if WRONG == (\d+)(?:\s+// (.*))?$", text, re.MULTILINE)
    if len(found) < 2:
        sys.exit("there are no wrong programs in this file")
    failures = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        header = precompile(arguments, text, folder)
        results = [pool.submit(check, arguments, header, int(number), sentence or None) for number, sentence in found]
        for (number, _), result in zip(found, results):
            trouble = result.result()
            print(f"{number}: {trouble or 'ok'}")
            failures += bool(trouble)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
