#!/usr/bin/env python3
"""Fails where the table of `coracle run`'s options in the guide and what `coracle run --help` lists are not the same, and
where the guide is silent about a command that `coracle --help` lists. Arguments: the command, and the guide."""

import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")
SECTION = "## The coracle command"
ALWAYS = {"-h", "--help"}


def help_of(*command):
    return subprocess.run([*command, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout


def options_listed(text):
    """Those at the beginnings of lines: what stands behind them explains."""
    found = set()
    for line in text.splitlines():
        if names := re.match(r"\s+(-[\w-]+(?:,-[\w-]+)*)", line):
            found.update(names[1].split(","))
    return found - ALWAYS


def commands_listed(text):
    listed = re.split(r"(?i)\nsubcommands:\n", text)[-1]
    return set(re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE))


def section_of(guide):
    _, _, rest = guide.partition(f"\n{SECTION}\n")
    return re.split(r"\n## ", rest)[0]


def options_told(section):
    """In the first cell of each row of the first table."""
    found = set()
    for line in section[section.index("\n| option"):].strip().splitlines():
        if not line.startswith("|"):
            break
        found.update(OPTION.findall(line.replace("\\|", "").split("|")[1]))
    return found


def main():
    coracle, guide = sys.argv[1], pathlib.Path(sys.argv[2]).read_text()
    section = section_of(guide)
    listed, told = options_listed(help_of(coracle, "run")), options_told(section)
    commands = commands_listed(help_of(coracle))
    complaints = [f"{name}: `coracle run --help` lists it, the table does not" for name in sorted(listed - told)]
    complaints += [f"{name}: the table has it, `coracle run --help` does not" for name in sorted(told - listed)]
    complaints += [f"coracle {name}: the section is silent about it" for name in sorted(commands)
                   if f"`coracle {name}" not in section]
    print("\n".join(complaints))
    print(f"{len(listed)} options and {len(commands)} commands; {len(complaints)} complaints")
    sys.exit(1 if complaints or len(listed) < 10 or len(commands) < 3 else 0)


if __name__ == "__main__":
    main()
