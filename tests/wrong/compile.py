#!/usr/bin/env python3
"""Compiles programs that must not compile, and looks at what is said of them: the first error is the sentence that
stands beside the program's number, and not much follows. Exit status 1 names each that does not."""

import argparse
import concurrent.futures
import re
import subprocess
import sys

LINES_MAX = 40
LIMIT_S = 300
# clang's words for the same.
ALSO = {"use of deleted function": "call to deleted member function"}


def first_error(text):
    for line in text.splitlines():
        if re.search(r"\b(fatal )?error: ", line):
            return line
    return ""


def check(arguments, number, sentence):
    command = [*arguments.compiler.split(), "-std=c++20", "-fsyntax-only", "-w", "-pthread", "-fdiagnostics-color=never",
               *[f"-I{path}" for path in arguments.include], f"-DWRONG={number}", arguments.source]
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
    with open(arguments.source, encoding="utf-8") as file:
        found = re.findall(r"^#(?:el)?if WRONG == (\d+)(?:\s+// (.*))?$", file.read(), re.MULTILINE)
    if len(found) < 2:
        sys.exit("there are no wrong programs in this file")
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = [pool.submit(check, arguments, int(number), sentence or None) for number, sentence in found]
        for (number, _), result in zip(found, results):
            trouble = result.result()
            print(f"{number}: {trouble or 'ok'}")
            failures += bool(trouble)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
